#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that ships is hardened as docs/adr/0010-hardening.md says.

    tools/check_hardening.py PROGRAM

Reads it with readelf, prints one line per protection that is missing and exits 1 when there is one.
"""

import re
import subprocess
import sys

# What is looked for, and what readelf prints where it is there.
WANTED = (
    ("a position-independent executable (-pie)", r"FLAGS_1.*\bPIE\b"),
    ("RELRO (-z relro)", r"\bGNU_RELRO\b"),
    ("all symbols bound at the start (-z now)", r"\(BIND_NOW\)|\(FLAGS\).*\bBIND_NOW\b|FLAGS_1.*\bNOW\b"),
    ("a stack that is not executable", r"GNU_STACK\s+(?:0x[0-9a-f]+\s+){5}RW\s"),
    ("the stack protector (-fstack-protector-strong)", r"\b__stack_chk_fail\b"),
    ("checked string functions (_FORTIFY_SOURCE)", r"\b__(?:mem|str|sn?printf|vsn?printf|read|fread|fprintf|fdelt)\w*_chk\b"),
    ("the standard library's bounds checks (_GLIBCXX_ASSERTIONS)", r"__glibcxx_assert_fail"),
)


def missing(text: str) -> list[str]:
    return [what for what, pattern in WANTED if not re.search(pattern, text)]


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    text = subprocess.run(["readelf", "--wide", "--dynamic", "--program-headers", "--dyn-syms", sys.argv[1]],
                          capture_output=True, text=True, check=True).stdout
    for what in (found := missing(text)):
        print(f"{sys.argv[1]}: without {what}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
