#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the page in web/ and writes its files as a C++ source (src/berth/page/page_files.h).

    embed_page.py --web FOLDER --out FILE [--must]

Needs Node and web/node_modules (`npm ci --prefix web`). Where one of them is missing, or the build fails, the source has
no files, and berth says at /ui/ that it was built without the page; with --must that is an error. A web/dist that is there
already is taken as it is where Node is missing.
"""

import argparse
import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml", ".json": "application/json", ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8",
         ".wasm": "application/wasm"}
# Compilers read long lines slowly.
BYTES_A_LINE = 4096

TEMPLATE = """// SPDX-License-Identifier: Apache-2.0
// Made by cmake/embed_page.py from web/dist.
#include "berth/page/page_files.h"

namespace berth::page {{

std::span<const PageFile> PageFiles() {{
{body}}}

std::string_view NoPageText() {{
  return "This berth was built without its page: {why}\\n"
         "`berth explain --pending`, `berth explain pod` and `berth simulate` answer on a terminal.\\n"
         "With Node, `npm ci --prefix web` and a new build give it the page.\\n";
}}

}}  // namespace berth::page
"""


def literal(data: bytes) -> str:
    """The bytes as string literals, one after the other."""
    lines = []
    for begin in range(0, len(data), BYTES_A_LINE):
        text = ""
        for byte in data[begin:begin + BYTES_A_LINE]:
            char = chr(byte)
            # `?` could begin a trigraph; a digit behind an octal escape of three digits is no part of it.
            if char in '"\\?':
                text += "\\" + char
            elif 0x20 <= byte < 0x7f:
                text += char
            else:
                text += f"\\{byte:03o}"
        lines.append(f'"{text}"')
    return "\n       ".join(lines) or '""'


def build(web: Path) -> str:
    """Builds web/dist; returns why it is not there, or an empty string."""
    node = shutil.which("node")
    if not (web / "build.mjs").is_file():
        return "web/build.mjs is missing"
    if node is None or not (web / "node_modules").is_dir():
        if (web / "dist" / "index.html").is_file():
            return ""
        return "Node was missing" if node is None else "web/node_modules was missing (npm ci --prefix web)"
    # Several build folders share it.
    with open(web / "node_modules" / ".berth-lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run = subprocess.run([node, "build.mjs"], cwd=web, capture_output=True, text=True)
    if run.returncode != 0:
        print(run.stdout + run.stderr, file=sys.stderr)
        return "web/build.mjs failed"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--web", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--must", action="store_true")
    options = parser.parse_args()
    why = build(options.web)
    if why and options.must:
        print(f"embed_page.py: {why}", file=sys.stderr)
        return 1
    dist = options.web / "dist"
    files = [] if why else sorted(path for path in dist.rglob("*") if path.is_file() and path.suffix in TYPES)
    body = "  return {};\n"
    if files:
        body = "  using namespace std::string_view_literals;\n  static constexpr PageFile kFiles[] = {\n"
        for path in files:
            name = path.relative_to(dist).as_posix()
            body += f'      {{"{name}", "{TYPES[path.suffix]}",\n       {literal(path.read_bytes())}sv}},\n'
        body += "  };\n  return kFiles;\n"
    text = TEMPLATE.format(body=body, why=(why or "web/dist was empty").replace("\\", "/").replace('"', "'"))
    # Written anew even if it is the same: the build's rule is about the file's time.
    options.out.write_text(text, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
