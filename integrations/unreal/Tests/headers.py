#!/usr/bin/env python3
"""Writes what the engine's tools would write: X.generated.h for each header of the plugin that has reflected types, and
headers that forward to our stand-ins.

    headers.py OUT HEADER...
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent


def generated(header: pathlib.Path) -> str:
    """The macros that GENERATED_BODY() becomes: for classes their own and their parent's type."""
    mark = re.sub(r"\W", "_", header.stem)
    lines = header.read_text(encoding="utf-8").split("\n")
    out = ["#pragma once", "#undef STANDIN_FILE", f"#define STANDIN_FILE {mark}_"]
    declared = None
    for number, line in enumerate(lines, 1):
        found = re.match(r"(class|struct)\s+(?:\w+_API\s+)?(\w+)(?:\s*:\s*public\s+(\w+))?", line)
        if found and not line.rstrip().endswith(";"):
            declared = found.groups()
        if "GENERATED_BODY()" not in line:
            continue
        if declared is None:
            sys.exit(f"{header}:{number}: no type is declared before GENERATED_BODY()")
        kind, name, parent = declared
        body = ""
        if kind == "class":
            if parent is None:
                sys.exit(f"{header}:{number}: {name} has no parent")
            body = (f"public: using Super = {parent}; using ThisClass = {name}; "
                    f"static UClass *StaticClass() {{ static UClass Class(\"{name}\"); return &Class; }} private:")
        out.append(f"#define STANDIN_BODY_{mark}_{number} {body}")
    text = "\n".join(lines)
    last = [x for x in re.findall(r'#include "([^"]+)"', text)]
    if last and last[-1] != header.stem + ".generated.h":
        sys.exit(f"{header}: {header.stem}.generated.h must be the last header that is included")
    return "\n".join(out) + "\n"


def main() -> None:
    out = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:]:
        header = pathlib.Path(name)
        if ".generated.h" in header.read_text(encoding="utf-8"):
            (out / (header.stem + ".generated.h")).write_text(generated(header), encoding="utf-8")
    for line in (HERE / "StandIns/Forwards.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        engine, ours = line.split()
        target = out / engine
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f'#pragma once\n#include "{ours}"\n', encoding="utf-8")


main()
