"""Tests of `links.py`: each kind of fault is found, and a sound site has none."""

import tempfile
import unittest
from pathlib import Path

from links import Checker


def faults(files: dict[str, str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return Checker(Path(folder), "/meshreel/").faults()


class Links(unittest.TestCase):
    def check(self, body: str, expected: str | None, **others: str) -> None:
        """A page with one link, beside a page, a folder and a style, has exactly this fault or none."""
        files = {
            "a/page.html": body,
            "b.html": '<h1 id="top">b</h1><a name="old"></a>',
            "index.html": "",
            "a/index.html": "",
            "a/x.png": "",
        } | others
        found = faults(files)
        self.assertEqual(len(found), 0 if expected is None else 1, found)
        if expected is not None:
            self.assertIn(expected, found[0])

    def test_sound(self) -> None:
        for address in ["../b.html", "../b.html#top", "../b.html#old", "page.html", "./", "..", "../", "x.png", "#"]:
            self.check(f'<a href="{address}">', None)
        for address in ["/meshreel/b.html#top", "https://example.org/a?b=c#d", "mailto:a@example.org", "?query", "%78.png"]:
            self.check(f'<a href="{address}">', None)
        self.check('<p id="own"><a href="#own">', None)
        self.check('<img src="x.png" srcset="x.png 1x, ../a/x.png 2x">', None)

    def test_missing(self) -> None:
        for element in ['<a href="c.html">', '<img src="y.png">', '<script src="z.js"></script>', '<link href="s.css">']:
            self.check(element, "leads to no file")
        self.check('<iframe src="player/">', "leads to no file")
        self.check('<img srcset="x.png 1x, y.png 2x">', "leads to no file")
        self.check('<a href="b">', "leads to no file", **{"b/c.txt": ""})

    def test_anchors(self) -> None:
        self.check('<a href="../b.html#bottom">', "leads to no element")
        self.check('<a href="#own">', "leads to no element")
        self.check('<p id="own"><p id="own">', "two elements")

    def test_places(self) -> None:
        self.check('<a href="/b.html">', "is absolute")
        self.check('<a href="../../b.html">', "leads out")

    def test_other_sites(self) -> None:
        for address in ["https://", "https://exa mple.org", "https://example.org:port/", "mailto:nobody"]:
            self.check(f'<a href="{address}">', address)
        self.check('<a href="javascript:alert(1)">', "has the scheme")

    def test_base(self) -> None:
        self.check('<base href="/meshreel/"><a href="b.html">', None)
        self.check('<base href="/meshreel/"><a href="page.html">', "leads to no file")

    def test_styles(self) -> None:
        self.check('<style>p { background: url("y.png") }</style>', "leads to no file")
        self.check("", None, **{"c/s.css": "p { background: url(../a/x.png) } /* url(gone.png) */"})
        self.check("", "leads to no file", **{"c/s.css": "p { background: url('x.png') }"})


if __name__ == "__main__":
    unittest.main()
