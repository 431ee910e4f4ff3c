#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What changed between two versions of Kubernetes in the parts of its sources that berth follows.

    tools/kube_diff.py A B                a line for each followed path (tools/kubernetes_paths.txt)
    tools/kube_diff.py A B --files        ... and for each changed file
    tools/kube_diff.py A B --full [PATH]  the whole difference, of the followed paths that begin with PATH

A and B are versions such as 1.36.3 or 1.38.0-beta.0, or 1.37 for its newest patch. Tests, mocks and generated code are left out. The
sources are Go modules: `go` fetches them into its own cache. docs/new-kubernetes-version.md says what to do with them.
"""

import argparse
import difflib
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

PATHS = Path(__file__).resolve().parent / "kubernetes_paths.txt"
MODULE = re.compile(r"k8s\.io/[a-z0-9-]+")
VERSION = re.compile(r"v?1\.(\d{1,3})(?:\.(\d{1,3}(?:-(?:alpha|beta|rc)\.\d{1,3})?))?")
# Files whose changes decide nothing.
LEFT_OUT = re.compile(r"_test\.go$|/[a-z]*testing/|/testdata/|/test/|zz_generated|\.pb\.go$|/mock|(^|/)generated\.(pb\.go|proto)$|/OWNERS$")
SOURCE = (".go", ".proto", ".yaml", ".json")


class Wrong(Exception):
    """Something that the user can put right; its text is one line."""


@dataclass(frozen=True)
class Followed:
    module: str
    path: str
    why: str

    def __str__(self) -> str:
        return self.module if self.path == "." else f"{self.module}/{self.path}"


@dataclass(frozen=True)
class Version:
    minor: int
    patch: str | None  # as in 2 or 0-beta.0; None: the newest

    def of(self, module: str) -> str:
        """The module's own version: those beside k8s.io/kubernetes count from v0."""
        text = f"v{1 if module == 'k8s.io/kubernetes' else 0}.{self.minor}"
        return text if self.patch is None else f"{text}.{self.patch}"


def parse_version(text: str) -> Version:
    match = VERSION.fullmatch(text)
    if not match:
        raise Wrong(f"{text}: should be a version such as 1.37.2 or 1.37")
    return Version(int(match[1]), match[2])


def parse_paths(text: str, name: str) -> list[Followed]:
    followed = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split(None, 2)
        if not words or line.startswith("#"):
            continue
        where = f"{name}:{number}"
        if len(words) < 3:
            raise Wrong(f"{where}: a line is a module, a path and what berth takes from there")
        module, path, why = words
        if not MODULE.fullmatch(module):
            raise Wrong(f"{where}: {module} should be a module such as k8s.io/kubernetes")
        if path.startswith("/") or path.endswith("/") or ".." in path.split("/"):
            raise Wrong(f"{where}: {path} should be a path inside {module}, without / at its ends")
        if any(each.module == module and each.path == path for each in followed):
            raise Wrong(f"{where}: {module} {path} is there twice")
        followed.append(Followed(module, path, why))
    if not followed:
        raise Wrong(f"{name}: names no path")
    return followed


def fetch(module: str, version: str) -> Path:
    """The folder with the module's sources."""
    try:
        done = subprocess.run(["go", "mod", "download", "-json", f"{module}@{version}"], cwd="/", text=True,
                              capture_output=True, check=False)
    except FileNotFoundError:
        raise Wrong("go is not on the PATH: it fetches the sources (Go 1.26 or newer)") from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {}
    # A module for a newer Go is fetched and unpacked all the same; only its folder is not named.
    if "Dir" not in answer and "requires go" in answer.get("Error", "") and "Zip" in answer:
        unpacked = Path(answer["Zip"].split("/cache/download/")[0], f"{answer['Path']}@{answer['Version']}")
        if unpacked.is_dir():
            return unpacked
    if "Dir" not in answer:
        why = (answer.get("Error") or done.stderr or "no answer").strip().splitlines()[-1]
        raise Wrong(f"{module} {version}: {why}")
    return Path(answer["Dir"])


def files_of(root: Path, path: str) -> dict[str, Path]:
    """The files that count, by their paths in the module."""
    top = root / path
    found = [top] if top.is_file() else sorted(each for each in top.rglob("*") if each.is_file())
    names = {each.relative_to(root).as_posix(): each for each in found}
    return {name: each for name, each in names.items() if name.endswith(SOURCE) and not LEFT_OUT.search("/" + name)}


def lines_of(path: Path | None) -> list[str]:
    return [] if path is None else path.read_text(encoding="utf-8", errors="replace").splitlines()


@dataclass
class FileChange:
    name: str
    diff: list[str]  # unified
    is_new: bool
    is_gone: bool

    @property
    def added(self) -> int:
        return sum(line.startswith("+") for line in self.diff[2:])

    @property
    def removed(self) -> int:
        return sum(line.startswith("-") for line in self.diff[2:])


def changes(before: Path, after: Path, path: str) -> list[FileChange]:
    """Of one followed path; an empty list when nothing changed."""
    old, new = files_of(before, path), files_of(after, path)
    if not old and not new:
        raise Wrong(f"{path}: neither version has it; correct tools/kubernetes_paths.txt")
    found = []
    for name in sorted(old.keys() | new.keys()):
        a, b = lines_of(old.get(name)), lines_of(new.get(name))
        if a == b and (name in old) == (name in new):
            continue
        diff = list(difflib.unified_diff(a, b, f"a/{name}", f"b/{name}", lineterm=""))
        found.append(FileChange(name, diff, name not in old, name not in new))
    return found


def summary(followed: Followed, found: list[FileChange]) -> str:
    if not found:
        return f"{'unchanged':>15}  {followed}"
    new, gone = sum(c.is_new for c in found), sum(c.is_gone for c in found)
    text = f"{'+%d' % sum(c.added for c in found):>7} {'-%d' % sum(c.removed for c in found):>7}  {followed}: {len(found)} file{'s' if len(found) > 1 else ''}"
    if new:
        text += f", {new} new"
    if gone:
        text += f", {gone} gone"
    return text


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev kube-diff", description="What changed between two versions of Kubernetes in "
                                     "the parts of its sources that berth follows (tools/kubernetes_paths.txt).")
    parser.add_argument("before", metavar="A", help="a version such as 1.36.3, or 1.36 for its newest patch")
    parser.add_argument("after", metavar="B")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--files", action="store_true", help="a line for each changed file, too")
    shown.add_argument("--full", metavar="PATH", nargs="?", const="", help="the whole difference, of the paths that begin so")
    options = parser.parse_args(arguments)
    before, after = parse_version(options.before), parse_version(options.after)
    followed = parse_paths(PATHS.read_text(encoding="utf-8"), PATHS.name)
    if options.full:
        followed = [each for each in followed if f"{each}/".startswith(options.full) or each.path.startswith(options.full)
                    or options.full.startswith(each.path + "/")]
        if not followed:
            raise Wrong(f"--full {options.full}: no followed path begins so; {PATHS.name} has them")
    modules = sorted({each.module for each in followed})
    with ThreadPoolExecutor(4) as pool:
        asked = {(module, version): pool.submit(fetch, module, version.of(module))
                 for module in modules for version in (before, after)}
        roots = {key: each.result() for key, each in asked.items()}
    for each in followed:
        found = changes(roots[each.module, before], roots[each.module, after], each.path)
        if options.full is None:
            print(summary(each, found))
        for change in found:
            if options.files:
                mark = "new" if change.is_new else "gone" if change.is_gone else ""
                print(f"{'+%d' % change.added:>7} {'-%d' % change.removed:>7}    {change.name} {mark}".rstrip())
            elif options.full is not None and (change.name.startswith(options.full) or not options.full.startswith(each.path + "/")):
                print("\n".join(change.diff))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Wrong as error:
        print(f"./dev kube-diff: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # as into `head`
        sys.stderr.close()
