#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source says under which licence it is: a line SPDX-License-Identifier, the first or behind #!.

    tools/check_spdx.py [ROOT] [--fix]

Prints one line per source without it and exits 1 when there is one; with --fix, writes the line instead.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

LICENCE = "Apache-2.0"
MARK = "SPDX-License-Identifier:"
# How a comment starts, by the end of the file's name or by its whole path.
COMMENTS = {".cc": "//", ".h": "//", ".cc.in": "//", ".go": "//", ".py": "#", ".sh": "#", ".cmake": "#", ".cmake.in": "#",
            ".ts": "//", ".tsx": "//", ".mjs": "//", ".css": "/*", "CMakeLists.txt": "#", "dev": "#", ".ci/run": "#"}
# What `berth plugin new` writes belongs to the author of the plugin.
LEFT_OUT = re.compile(r"/templates/|^tests/golden/|^fuzz/corpus/")


def comment(path: str) -> str | None:
    if LEFT_OUT.search(path):
        return None
    if path in COMMENTS:
        return COMMENTS[path]
    return next((start for end, start in COMMENTS.items() if end[0] in ".C" and path.endswith(end)), None)


def marked(text: str) -> bool:
    return any(line.removesuffix("*/").rstrip().endswith(f"{MARK} {LICENCE}") for line in text.split("\n", 3)[:3])


def fixed(text: str, start: str) -> str:
    """The text with the line, behind the line that names an interpreter."""
    line = f"{start} {MARK} {LICENCE}{' */' if start == '/*' else ''}\n"
    if text.startswith("#!"):
        first, _, rest = text.partition("\n")
        return f"{first}\n{line}{rest}"
    # Go takes a comment that touches `package` for the package's documentation.
    return line + ("\n" if start == "//" and text.startswith("package ") else "") + text


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--fix", action="store_true")
    arguments = parser.parse_args()
    listed = subprocess.run(["git", "-C", str(arguments.root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True, check=True).stdout
    missing = 0
    for path in filter(None, listed.split("\0")):
        file = arguments.root / path
        start = comment(path)
        if start is None or not file.is_file() or file.is_symlink():
            continue
        text = file.read_text(encoding="utf-8")
        if marked(text):
            continue
        if arguments.fix:
            file.write_text(fixed(text, start), encoding="utf-8")
            continue
        missing += 1
        print(f"{path}:1: no line `{start} {MARK} {LICENCE}`: ./tools/check_spdx.py --fix writes it")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
