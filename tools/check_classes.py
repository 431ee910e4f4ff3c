#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that classes stay small and whole, and that each source has its header.

    tools/check_classes.py [--near] [ROOT]

In the C++ of src/ and apps/, tests aside:
  * a class has at most DATA_MEMBERS_MAX data members and PRIVATE_METHODS_MAX private or protected methods, constructors
    aside; nested classes count apart, and plain structs count as well;
  * a class that is written in a source has at most BODY_LINES_MAX lines between its braces;
  * one source defines all methods of a class that are not written in its header;
  * x.cc has its header x.h, and functions that x.cc gives to other sources are declared in x.h.
Prints one line per broken rule and exits 1 when there is one. --near also prints both numbers for every class that has
20 or more of either.
Needs nothing but Python's standard library.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent))
from check_repo import Finding, is_test, list_files, read_text  # noqa: E402
from cpp_outline import Class, Outline, outline_of  # noqa: E402

DATA_MEMBERS_MAX = 25
PRIVATE_METHODS_MAX = 25
BODY_LINES_MAX = 300
NEAR = 20
# Sources that are whole programs.
PROGRAM = re.compile(r"(?:^|/)main\.cc$")
# Folders and files, as beginnings of paths, that break a rule for now. Each goes with the commit that splits or renames it.
EXCEPTIONS: tuple[str, ...] = ()


def check_sizes(classes: list[Class]) -> Iterator[Finding]:
    for described in classes:
        for count, limit, what in ((len(described.data_members), DATA_MEMBERS_MAX, "data members"),
                                   (len(described.private_methods), PRIVATE_METHODS_MAX, "private methods")):
            if count > limit:
                yield Finding(described.path, described.line, f"{described.name} has {count} {what}, and {limit} is the most: "
                              "split it into objects with headers and invariants of their own")


def check_bodies(classes: list[Class]) -> Iterator[Finding]:
    """A class that only its source knows stays short enough to be read as a whole."""
    for described in classes:
        if described.path.endswith(".cc") and described.body_lines > BODY_LINES_MAX:
            yield Finding(described.path, described.line, f"{described.name} has {described.body_lines} lines in a source, and "
                          f"{BODY_LINES_MAX} is the most: split it into objects with names and headers of their own")


def resolved(qualifier: str, namespace: str, path: str, classes: dict[str, set[str]]) -> str | None:
    """The class that a qualifier names where it stands: the innermost namespace that knows one wins."""
    outer = namespace.split("::") if namespace else []
    for count in range(len(outer), -1, -1):
        name = "::".join(outer[:count] + [qualifier])
        if name in classes and any(p == path or p.endswith(".h") for p in classes[name]):
            return name
    return None


def check_whole(outlines: dict[str, Outline]) -> Iterator[Finding]:
    """A class's methods stand in one source."""
    classes: dict[str, set[str]] = defaultdict(set)
    for path, outline in outlines.items():
        for described in outline.classes:
            classes[described.name].add(path)
    sources: dict[str, dict[str, int]] = defaultdict(dict)
    for path, outline in outlines.items():
        if not path.endswith(".cc"):
            continue
        for function in outline.functions:
            if function.is_definition and function.qualifier:
                name = resolved(function.qualifier, function.namespace, path, classes)
                # Classes of unnamed namespaces may have the same name in two sources.
                if name is not None and not (function.is_local or path in classes[name]):
                    sources[name].setdefault(path, function.line)
    for name, paths in sorted(sources.items()):
        if len(paths) > 1:
            first, *others = sorted(paths)
            yield Finding(first, paths[first], f"{name} is one class in {len(paths)} sources (also {', '.join(others)}): "
                          "split the class, or join the sources")


def check_headers(files: list[str], outlines: dict[str, Outline]) -> Iterator[Finding]:
    """Each source has its own header, and declares there what it gives to others."""
    known = set(files)
    declared: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for path, outline in outlines.items():
        if path.endswith(".h"):
            for function in outline.functions:
                declared[function.namespace, function.qualifier, function.name].add(path)
    for path, outline in sorted(outlines.items()):
        if not path.endswith(".cc") or PROGRAM.search(path):
            continue
        header = path[:-3] + ".h"
        if header not in known:
            name = header.rsplit("/", 1)[-1]
            yield Finding(path, 1, f"no {name} stands beside this source: say in a header of its own what it gives to others")
            continue
        for function in outline.functions:
            if not function.is_definition or function.is_local:
                continue
            headers = declared.get((function.namespace, function.qualifier, function.name), set())
            if headers and header not in headers:
                yield Finding(path, function.line, f"{function.name} is declared in {sorted(headers)[0]}: declare it in {header}, "
                              "which stands beside its source")


def outlines_of(root: Path, files: list[str]) -> dict[str, Outline]:
    found = {}
    for path in files:
        if path.endswith((".h", ".cc")) and path.startswith(("src/", "apps/")) and not is_test(path):
            if (text := read_text(root / path)) is not None:
                found[path] = outline_of(path, text)
    return found


def check(root: Path) -> tuple[list[Finding], list[Class]]:
    """Broken rules, and the classes that come near."""
    files = list_files(root)
    outlines = outlines_of(root, files)
    classes = [described for outline in outlines.values() for described in outline.classes]
    findings = [*check_sizes(classes), *check_bodies(classes), *check_whole(outlines), *check_headers(files, outlines)]
    findings = [finding for finding in findings if not finding.path.startswith(EXCEPTIONS)]
    near = [c for c in classes if max(len(c.data_members), len(c.private_methods)) >= NEAR]
    return sorted(findings), sorted(near, key=lambda c: -max(len(c.data_members), len(c.private_methods)))


def main(arguments: list[str]) -> int:
    is_near = "--near" in arguments
    roots = [a for a in arguments if a != "--near"]
    if len(roots) > 1 or any(a.startswith("-") for a in roots):
        print("usage: tools/check_classes.py [--near] [ROOT]", file=sys.stderr)
        return 2
    root = Path(roots[0]) if roots else Path(__file__).resolve().parent.parent
    findings, near = check(root)
    if is_near:
        print("data members  private methods")
        for described in near:
            print(f"{len(described.data_members):12}  {len(described.private_methods):15}  {described.name} "
                  f"({described.path}:{described.line})")
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} broken rules", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
