#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which test program tries what one is working on.

    tools/find_test.py NAME

NAME is a test program (queue_test), a source of one (backoff_test.cc) or the source or header that it tries (backoff.cc,
src/berth/core/queue/backoff.h, backoff). Prints the program's name; what is meant by chance or not at all is an error
with the names that would be right.
"""

import re
import sys
from pathlib import Path

PROGRAM = re.compile(r"berth_test\(\s*(\w+)\s+(.*?)\)", re.S)


def programs(root: Path) -> dict[str, list[Path]]:
    """The test programs and their sources."""
    found = {}
    for listing in sorted(root.glob("src/berth/**/CMakeLists.txt")) + sorted(root.glob("apps/**/CMakeLists.txt")):
        for name, body in PROGRAM.findall(listing.read_text()):
            found[name] = [listing.parent / source for source in re.findall(r"[\w./-]+\.cc\b", body)]
    return found


def find(root: Path, name: str) -> list[str]:
    """The programs that are meant by `name`: one where that is clear."""
    known = programs(root)
    if name in known:
        return [name]
    stem = re.sub(r"(_test)?\.(cc|h)$", "", Path(name).name)
    # Several folders may have a source of that name: a path tells which.
    homes = {path.parent for path in root.glob(f"src/berth/**/{stem}*.*") if path.stem in (stem, stem + "_test")}
    if "/" in name:
        homes &= {(root / name).parent}
    here = [(program, source) for program, sources in known.items() for source in sources if source.parent in homes]
    own = [program for program, source in here if source.name == stem + "_test.cc"]
    # One without a test of its own: what its folder has.
    return list(dict.fromkeys(own or [program for program, _ in here]))


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: tools/find_test.py NAME: a test program, or a source", file=sys.stderr)
        return 2
    found = find(Path(__file__).resolve().parent.parent, arguments[0])
    if len(found) == 1:
        print(found[0])
        return 0
    why = f"no test of its own: one of {', '.join(found)}" if found else "no test program and no source"
    print(f"{arguments[0]}: {why}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
