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
    ("the standard library's bounds checks (_GLIBCXX_ASSERTIONS)", r"__glibcxx_assert_fail"),
)
WANTED_ON_X86 = (
    ("the mark for the shadow stack (-fcf-protection, -z shstk)", r"x86 feature:.*\bSHSTK\b"),
)
# With _FORTIFY_SOURCE each call of these becomes one of __NAME_chk: one that is left has been compiled without. Other
# functions stay as they are where the compiler does not know the buffer's size, and say nothing.
FORTIFIED = ("printf", "fprintf", "vprintf", "vfprintf")


def missing(text: str) -> list[str]:
    wanted = WANTED + (WANTED_ON_X86 if "X86-64" in text else ())
    found = [what for what, pattern in wanted if not re.search(pattern, text)]
    plain = [name for name in FORTIFIED if re.search(rf" UND {name}(?:@|\s|$)", text, re.MULTILINE)]
    if plain:
        found.append("_FORTIFY_SOURCE in all that it is made of: it calls " + ", ".join(plain))
    elif not any(re.search(rf" UND __{name}_chk\b", text) for name in FORTIFIED):
        found.append("checked string functions (_FORTIFY_SOURCE)")
    return found


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    text = subprocess.run(["readelf", "--wide", "--file-header", "--dynamic", "--program-headers", "--notes", "--dyn-syms", sys.argv[1]],
                          capture_output=True, text=True, check=True).stdout
    for what in (found := missing(text)):
        print(f"{sys.argv[1]}: without {what}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
