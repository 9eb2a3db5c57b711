#!/usr/bin/env python3
"""Checks the links of a built site, without a network.

    links.py FOLDER [--prefix /PATH/]

Every link, picture, script and style of a page, and every file that a style names, must lead to a file in FOLDER,
and every anchor to an element of its page. Links must be relative; only those that begin with the prefix may be
absolute. Of links to other places only the syntax is checked. Prints each fault, and exits with 1 if there are any.
Needs Python 3.11 or later, and nothing else.
"""

import argparse
import html.parser
import posixpath
import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes that hold an address, by element.
ADDRESSES = {
    "a": ["href"],
    "area": ["href"],
    "audio": ["src"],
    "base": [],
    "iframe": ["src"],
    "img": ["src", "srcset"],
    "link": ["href"],
    "script": ["src"],
    "source": ["src", "srcset"],
    "use": ["href", "xlink:href"],
    "video": ["src", "poster"],
}
STYLE_ADDRESS = re.compile(r"url\(\s*(['\"]?)([^'\")]*)\1\s*\)")


class Page(html.parser.HTMLParser):
    """The addresses of a page, and the anchors in it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.base: str | None = None
        self.anchors: set[str] = set()
        self.repeated: set[str] = set()
        self.addresses: list[tuple[int, str]] = []
        self.styles: list[str] = []
        self.is_style = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.is_style = tag == "style"
        if tag == "base":
            self.base = values.get("href") or ""
        identity = values.get("id")
        if identity is not None:
            if identity in self.anchors:
                self.repeated.add(identity)
            self.anchors.add(identity)
        if tag == "a" and values.get("name"):
            self.anchors.add(values["name"])
        for name in ADDRESSES.get(tag, []):
            value = values.get(name)
            if value is None:
                continue
            # A set of pictures has a size behind each address.
            parts = [part.split()[0] for part in value.split(",") if part.split()] if name == "srcset" else [value]
            self.addresses += [(self.getpos()[0], part) for part in parts]

    def handle_data(self, data: str) -> None:
        if self.is_style:
            self.styles += [match[2] for match in STYLE_ADDRESS.finditer(data)]

    def handle_endtag(self, tag: str) -> None:
        self.is_style = False


def external_fault(address: str) -> str | None:
    """What is wrong with an address of another place, as far as its syntax tells."""
    if re.search(r"[\s<>\"{}|\\^`]", address):
        return "has characters that an address may not have"
    try:
        parts = urlsplit(address)
        parts.port
    except ValueError as error:
        return str(error)
    if parts.scheme in ("http", "https"):
        return None if re.fullmatch(r"[\w.-]+|\[[0-9a-f:]+\]", parts.hostname or "") else "names no host"
    if parts.scheme == "mailto":
        return None if "@" in parts.path else "names no one"
    return None if parts.scheme in ("data", "blob") else f"has the scheme {parts.scheme!r}"


class Checker:
    """The pages of a folder, and the faults of their links."""

    def __init__(self, folder: Path, prefix: str) -> None:
        self.folder = folder
        self.prefix = prefix
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        self.files = {path.relative_to(folder).as_posix() for path in paths}
        self.pages = {
            name: Page((folder / name).read_text(encoding="utf-8")) for name in self.files if name.endswith(".html")
        }
        self.checked = 0

    def fault(self, name: str, folder: str, address: str) -> str | None:
        """What is wrong with an address in a file, relative to a folder."""
        self.checked += 1
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", address) or address.startswith("//"):
            return external_fault(address if not address.startswith("//") else f"https:{address}")
        path, _, anchor = address.partition("#")
        path = unquote(path.partition("?")[0])
        if path:
            if path.startswith("/"):
                if not path.startswith(self.prefix):
                    return f"is absolute, and not below {self.prefix}"
                folder, path = "", path.removeprefix(self.prefix)
            target = posixpath.normpath(posixpath.join(folder, path))
            if target.startswith(".."):
                return "leads out of the site"
            if target == "." or path.endswith("/"):
                target = posixpath.normpath(posixpath.join(target, "index.html"))
        else:
            target = name
        if target not in self.files:
            return "leads to no file"
        if anchor and target in self.pages and unquote(anchor) not in self.pages[target].anchors:
            return "leads to no element"
        return None

    def faults(self) -> list[str]:
        found = []
        for name, page in sorted(self.pages.items()):
            base = page.base
            folder = posixpath.dirname(name) if base is None else base.removeprefix(self.prefix)
            addresses = page.addresses + [(0, address) for address in page.styles]
            for line, address in addresses:
                fault = self.fault(name, folder, address.strip())
                if fault:
                    found.append(f"{name}:{line}: {address} {fault}")
            found += [f"{name}: two elements have the id {identity}" for identity in sorted(page.repeated)]
        for name in sorted(name for name in self.files if name.endswith(".css")):
            text = re.sub(r"/\*.*?\*/", "", (self.folder / name).read_text(encoding="utf-8"), flags=re.S)
            for match in STYLE_ADDRESS.finditer(text):
                fault = self.fault(name, posixpath.dirname(name), match[2])
                if fault:
                    found.append(f"{name}: {match[2]} {fault}")
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--prefix", default="/meshreel/")
    arguments = parser.parse_args()
    checker = Checker(arguments.folder, arguments.prefix)
    if not checker.pages:
        sys.exit(f"{arguments.folder}: no pages")
    found = checker.faults()
    print(*found, sep="\n", file=sys.stderr)
    print(f"{len(checker.pages)} pages, {checker.checked} links, {len(found)} faults")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
