"""Tests of `tools/site/stage.py`: links of the repository become links of the site, and dead ones are refused."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "site"))

from stage import ROOT, DeadLink, Site  # noqa: E402

FILES = {
    "Cargo.toml": '[workspace.package]\nrepository = "https://example.org/own"\n',
    "README.md": "![a](docs/images/a.png) [b](docs/B.md#part) [c](crates/c)",
    "docs/SUMMARY.md": "[Front](../README.md)\n\n# Part\n\n- [B](B.md)\n- [C]()\n  - [D](sub/D.md)\n",
    "docs/B.md": "",
    "docs/book.toml": "",
    "docs/sub/D.md": "",
    "docs/images/a.png": "",
    "crates/c/src/lib.rs": "",
}


class Stage(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name, "repository")
        for name, text in FILES.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.site = Site(self.root)

    def check(self, page: str, text: str, expected: str) -> None:
        self.assertEqual(self.site.page(page, text), expected)

    def test_pages(self) -> None:
        self.assertEqual(self.site.pages, ["README.md", "docs/B.md", "docs/sub/D.md"])
        self.check("README.md", "[b](docs/B.md#part)", "[b](B.md#part)")
        self.check("docs/B.md", "[d](sub/D.md), [front](../README.md#x)", "[d](sub/D.md), [front](index.md#x)")
        self.check("docs/sub/D.md", "[b](../B.md) [here](#x)", "[b](../B.md) [here](#x)")
        self.check("docs/sub/D.md", "[front](../../README.md)", "[front](../index.md)")

    def test_repository(self) -> None:
        web = "https://example.org/own"
        self.check("docs/B.md", "[c](../crates/c/src/lib.rs#L1)", f"[c]({web}/blob/main/crates/c/src/lib.rs#L1)")
        self.check("docs/B.md", "[c](../crates/c)", f"[c]({web}/tree/main/crates/c)")
        # Documents of packages name other pages by their address on the web.
        self.check("README.md", f"[d]({web}/blob/main/docs/sub/D.md)", "[d](sub/D.md)")
        self.check("README.md", f"[issues]({web}/issues)", f"[issues]({web}/issues)")

    def test_names(self) -> None:
        web = "https://example.org/own"
        self.check("docs/sub/D.md", "see `docs/B.md`.", "see [`docs/B.md`](../B.md).")
        self.check("docs/B.md", "`crates/c/`, `crates/d`", f"[`crates/c/`]({web}/tree/main/crates/c), `crates/d`")
        # Not in headings, in labels of links, or inside longer code.
        for text in ["# The `crates/c`\n", "`meshreel crates/c`", "``crates/c ` ``", "`a.b`"]:
            self.check("docs/B.md", text, text)
        self.check("docs/B.md", "[`crates/c`](#x)", "[`crates/c`](#x)")

    def test_code(self) -> None:
        for text in ["```\n[a](gone.md) `docs/B.md`\n```\n", "~~~~\n```\n[a](gone.md)\n~~~~\n", "`[a](gone.md)`"]:
            self.check("docs/B.md", text, text)
        self.check("docs/B.md", "```\n[a](gone.md)\n```\n[d](sub/D.md)\n", "```\n[a](gone.md)\n```\n[d](sub/D.md)\n")

    def test_dead(self) -> None:
        for text in ["[a](gone.md)", "![a](images/gone.png)", "[a](../../outside)", "[a](https://example.org/own/blob/main/gone)"]:
            with self.assertRaises(DeadLink):
                self.site.page("docs/B.md", text)
        (self.root / "docs/SUMMARY.md").write_text("- [E](E.md)", encoding="utf-8")
        with self.assertRaises(DeadLink):
            Site(self.root)

    def test_files(self) -> None:
        out = Path(self.folder.name, "out")
        (out / "src").mkdir(parents=True)
        (out / "src/gone.md").write_text("", encoding="utf-8")
        self.site.stage(out)
        found = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
        pages = {"src/README.md", "src/B.md", "src/sub/D.md", "src/SUMMARY.md"}
        self.assertEqual(found, pages | {"src/images/a.png", "book.toml"})
        text = (out / "src/README.md").read_text(encoding="utf-8")
        self.assertEqual(text, "![a](images/a.png) [b](B.md#part) [c](https://example.org/own/tree/main/crates/c)")
        contents = (out / "src/SUMMARY.md").read_text(encoding="utf-8")
        self.assertIn("[Front](README.md)", contents)
        self.assertIn("[C]()", contents)

    def test_all_documents(self) -> None:
        """Every document that a reader may look for is a page."""
        pages = set(Site(ROOT).pages)
        documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
        names = {path.relative_to(ROOT).as_posix() for path in documents}
        self.assertEqual(names - pages, {"docs/SUMMARY.md", "CODE_OF_CONDUCT.md"})


if __name__ == "__main__":
    unittest.main()
