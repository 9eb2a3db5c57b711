#!/usr/bin/env python3
"""Lays out the documents for mdBook, so that one set of links works in the repository and on the site.

    stage.py FOLDER

FOLDER gets `book.toml` and `src/`: the pages that the table of contents in `docs/` lists, and the pictures
that they show. Pages of `docs/` move to the top. A link to another page stays relative; a link to any other file
of the repository leads into the repository on the web, and so does the name of a file in backticks. A link
to something that does not exist is an error. Needs Python 3.11 or later, and nothing else.
"""

import posixpath
import re
import shutil
import sys
import tomllib
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
CONTENTS = "docs/SUMMARY.md"
#: Where names of files in backticks are looked up.
FOLDERS = ("bench/", "bindings/", "crates/", "docs/", "fuzz/", "integrations/", "testdata/", "tests/", "tools/", ".github/")
#: Folders that builds make.
BUILT = {"target", "node_modules", "dist", "__pycache__"}

FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]*)\)")
KEPT = re.compile("\0(\\d+)\0")


class DeadLink(Exception):
    """A link whose target does not exist."""


def repository(root: Path) -> str:
    manifest = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))
    return manifest["workspace"]["package"]["repository"].removesuffix("/")


def staged(path: str) -> str:
    """Where a file of the repository lies on the site."""
    return path.removeprefix("docs/")


class Site:
    """The pages of the book, and where links from them lead."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.web = repository(root)
        text = (root / CONTENTS).read_text(encoding="utf-8")
        found = (self.inside("docs", target) for _, _, target in LINK.findall(text) if target)
        self.pages = list(dict.fromkeys(found))
        #: Files that pages show or link to, other than pages, and that move with them.
        self.files: set[str] = set()
        for page in self.pages:
            if not (root / page).is_file():
                raise DeadLink(f"{CONTENTS}: no file {page}")

    @staticmethod
    def inside(folder: str, target: str) -> str:
        """The path from the root of the repository of what a relative link leads to."""
        return posixpath.normpath(posixpath.join(folder, target))

    def between(self, page: str, target: str) -> str:
        """A link from one page to another page or file of the site."""
        # mdBook makes an index of every README.
        target = re.sub(r"(^|/)README\.md$", r"\1index.md", staged(target))
        return posixpath.relpath(target, posixpath.dirname(staged(page)) or ".")

    def target(self, page: str, link: str, is_picture: bool = False) -> str:
        """The link of a page of the repository, as it is on the site."""
        if link.startswith("#"):
            return link
        path, mark, anchor = link.partition("#")
        own = re.match(rf"{re.escape(self.web)}/(?:blob|tree)/main/(.+)", path)
        if own:
            path = own[1]
        elif re.match(r"[a-z][a-z0-9+.-]*:", link):
            return link
        else:
            path = self.inside(posixpath.dirname(page), path)
        if path in self.pages:
            return self.between(page, path) + mark + anchor
        if path.startswith("..") or not (self.root / path).exists():
            raise DeadLink(f"{page}: no file {path}, to which the link {link} leads")
        if is_picture or path.startswith("docs/images/"):
            self.files.add(path)
            return self.between(page, path)
        return f"{self.web}/{'tree' if (self.root / path).is_dir() else 'blob'}/main/{path}{mark}{anchor}"

    def named(self, page: str, code: str) -> str | None:
        """Where the name of a file in backticks leads, if it is one of the repository."""
        plain = code.rstrip("/")
        if not re.fullmatch(r"[\w./-]+", plain) or not f"{plain}/".startswith(FOLDERS):
            return None
        if ".." in plain or BUILT & set(PurePosixPath(plain).parts) or not (self.root / plain).exists():
            return None
        return self.target(page, posixpath.relpath(plain, posixpath.dirname(page) or "."))

    def prose(self, page: str, text: str) -> str:
        """Text outside fences, with the links of the site."""
        codes: list[str] = []

        def keep(match: re.Match) -> str:
            codes.append(match[0])
            return f"\0{len(codes) - 1}\0"

        def restore(match: re.Match) -> str:
            return codes[int(match[1])]

        def link(match: re.Match) -> str:
            picture, label, target = match.groups()
            # Pictures can be the labels of links.
            label = LINK.sub(link, KEPT.sub(restore, label))
            codes.append(f"{picture}[{label}]({self.target(page, target, bool(picture))})")
            return f"\0{len(codes) - 1}\0"

        def name(match: re.Match) -> str:
            code = codes[int(match[1])]
            inside = CODE.fullmatch(code)
            target = inside and self.named(page, inside[2])
            return f"[{code}]({target})" if target else code

        text = LINK.sub(link, CODE.sub(keep, text))
        lines = (KEPT.sub(restore if line.startswith("#") else name, line) for line in text.splitlines(True))
        return "".join(lines)

    def page(self, page: str, text: str) -> str:
        """A page of the repository, as it is on the site."""
        parts: list[str] = []
        prose: list[str] = []
        fence = ""
        for line in text.splitlines(True):
            found = FENCE.match(line)
            if not fence and not found:
                prose.append(line)
                continue
            parts += [self.prose(page, "".join(prose)), line]
            prose = []
            if not fence:
                fence = found[1]
            elif found and found[1].startswith(fence):
                fence = ""
        return "".join(parts) + self.prose(page, "".join(prose))

    def contents(self) -> str:
        """The table of contents, whose links are those of the staged files."""
        text = (self.root / CONTENTS).read_text(encoding="utf-8")
        return LINK.sub(lambda m: f"[{m[2]}]({staged(self.inside('docs', m[3]))})" if m[3] else m[0], text)

    def stage(self, folder: Path) -> None:
        source = folder / "src"
        # Staged anew: no page stays that the table of contents no longer lists.
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir(parents=True)
        shutil.copy(self.root / "docs/book.toml", folder / "book.toml")
        (source / posixpath.basename(CONTENTS)).write_text(self.contents(), encoding="utf-8")
        for page in self.pages:
            path = source / staged(page)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.page(page, (self.root / page).read_text(encoding="utf-8")), encoding="utf-8")
        for name in self.files:
            path = source / staged(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.root / name, path)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("stage.py FOLDER")
    try:
        site = Site(ROOT)
        site.stage(Path(sys.argv[1]))
    except DeadLink as error:
        sys.exit(f"stage.py: {error}")
    print(f"{len(site.pages)} pages, {len(site.files)} other files")


if __name__ == "__main__":
    main()
