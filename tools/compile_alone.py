#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sources and headers compile alone: each includes what it uses, though builds compile sources in groups.

    tools/compile_alone.py BUILD_FOLDER [--share K/N] [FILE...]

Checks (-fsyntax-only) every source and header of src/berth, those of share K of N (by a hash of their names), or the
files given, with the flags that BUILD_FOLDER compiles berth with. Prints what the compiler says and exits 1 when one
fails.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def flags(build: Path) -> list[str]:
    """The compiler and its flags, with all folders of other libraries' headers."""
    commands = [shlex.split(entry["command"]) for entry in json.loads((build / "compile_commands.json").read_text())]
    commands = [words for words in commands if any(word.endswith("/src") for word in words)]
    first = commands[0]
    start = 1 if os.path.basename(first[0]) == "ccache" else 0
    end = first.index("-o")
    own = [word for word in first[start:end] if not word.startswith(("-O", "-D_FORTIFY"))]
    others = {}
    for words in commands:
        for place, word in enumerate(words):
            if word == "-isystem":
                others[words[place + 1]] = None
            elif re.match(r"-D(?:BOOST|FMT|SPDLOG|SIMDJSON|BERTH)", word):
                own += [] if word in own else [word]
    return own + [word for folder in others for word in ("-isystem", folder)]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--share", default="0/1")
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()
    share, shares = map(int, arguments.share.split("/"))
    files = arguments.files or [
        path for path in sorted((ROOT / "src/berth").rglob("*"))
        if path.suffix in (".cc", ".h") and "templates" not in path.parts
        and zlib.crc32(str(path.relative_to(ROOT)).encode()) % shares == share]
    command = flags(arguments.build)

    def check(path: Path) -> tuple[Path, subprocess.CompletedProcess]:
        if path.suffix == ".cc":
            return path, subprocess.run([*command, "-fsyntax-only", str(path)], capture_output=True, text=True, check=False)
        # As the only thing that a source includes.
        return path, subprocess.run([*command, "-fsyntax-only", "-x", "c++", "-"], input=f'#include "{path.resolve()}"\n',
                                    capture_output=True, text=True, check=False)

    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, done in pool.map(check, files):
            if done.returncode != 0:
                failed += 1
                print(f"{path}: does not compile alone\n{done.stderr}")
    print(f"{len(files)} files compiled alone, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
