#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the repository's documents name what is there.

    tools/check_docs.py [ROOT]

In every *.md file:
  * a relative link leads to a file, and its #anchor to a heading;
  * a path of ours in backticks (`core/queue/entry.h`, `docs/adr/`, `tools/check_*.py`) leads to a file or folder;
  * a name in backticks (`kQueueMax`, `Scheduler::ScheduleOne`, `Take()`, `PodInfo`, `row_count`) is a word of the sources,
  * where one block of commands is marked, each is: the line before ```sh or ```console is <!-- run by TEST --> or
    <!-- not run: WHY -->, and TEST is a file that names the page. After TEST there may be a colon and how it is run.
Every switch of src/berth/framework/release.h has its name in docs/reference/versions.md.
Not checked: CHANGELOG.md, which tells of the past, and records (docs/adr) whose status line says that they are superseded,
but for their links. Code blocks are left out. A segment in capitals (`tests/golden/FAMILY/`) or in <> stands for any name.
Prints one line per broken rule (file:line: what is wrong) and exits 1 when there is one.
Needs nothing but Python's standard library.
"""

import fnmatch
import os
import re
import sys
from pathlib import Path
from typing import Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent))
from check_repo import GROUPS, Finding, list_files, read_text  # noqa: E402

# Beginnings of paths that are built, downloaded or installed, and not in the repository.
ABSENT = ("build/", "out/")
# Names that look like ours and are not, each with whose it is.
FOREIGN_NAMES = {
    "MaxReverse": "example of a plugin in docs/plugins/extension-points.md",
    "LowestFirst": "example of a plugin in docs/plugins/extension-points.md",
}
FOREIGN_NAMESPACES = {"std", "absl", "boost", "simdjson", "asio", "testing"}
NAME_FILES = (".h", ".cc", ".py", ".cmake", ".txt", ".go", ".lua", ".yaml", ".in", ".json.in")
DATA_FOLDERS = ("tests/golden/", "fuzz/corpus/", "bench/scale/", "docs/")
PAST = ("CHANGELOG.md",)
# A switch between versions, which one of them has.
SWITCH = re.compile(r"  bool (\w+) = (?:Since|Before)\(")

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^[ \t]*\[[^\]\n]+\]:[ \t]+(\S+)", re.M)
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FENCE = re.compile(r"^\s*(```|~~~)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$")
PATH = re.compile(r"[\w.*<>{},+-]+(?:/[\w.*<>{},+-]+)*/?")
BARE_FILE = re.compile(r"[\w*-]+\.(?:h|cc)")
CONSTANT = re.compile(r"k[A-Z]\w*[a-z]\w*")
QUALIFIED = re.compile(r"(?:\w+::)+~?\w+(?:\(\))?")
CALL = re.compile(r"[A-Z]\w*[a-z]\w*\(\)")
# A type or a Kubernetes kind; two parts at least for names in lower case, which may be anything.
NAME = re.compile(r"[A-Z][a-z]\w*|[a-z]+(?:_[a-z0-9]+)+_?")
WORD = re.compile(r"[A-Za-z_]\w+")
COMMANDS = re.compile(r"^```(?:sh|bash|console)\s*$")
MARK = re.compile(r"^<!-- (?:run by (?P<test>[\w./-]+)(?:: .+)?|not run: .+) -->$")
SUPERSEDED = re.compile(r"^\W*Status\W.*superseded", re.I)


def prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines outside of code blocks, with their numbers."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        if mark := FENCE.match(line):
            fence = None if fence == mark.group(1) else fence or mark.group(1)
        elif fence is None:
            yield number, line


def anchors_of(text: str) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    found: set[str] = set()
    counts: dict[str, int] = {}
    for _, line in prose_lines(text):
        for name in re.findall(r'<a\s+(?:name|id)="([^"]+)"', line):
            found.add(name)
        if heading := HEADING.match(line):
            title = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).replace("`", "")
            slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            count = counts.get(slug, 0)
            counts[slug] = count + 1
            found.add(slug if count == 0 else f"{slug}-{count}")
    return found


class Sources:
    """Files, folders and words that a document may name."""

    def __init__(self, root: Path, files: list[str]) -> None:
        self.files = set(files)
        self.folders = {str(parent) for path in files for parent in Path(path).parents if str(parent) != "."}
        self.basenames = {os.path.basename(path) for path in files}
        self.first_parts = {path.split("/")[0] for path in files if "/" in path}
        for path in self.folders:
            parts = path.split("/")
            if parts[:2] == ["src", "berth"] and len(parts) > 2:
                self.first_parts.add(parts[2])
                if parts[2] in GROUPS and len(parts) > 3:
                    self.first_parts.add(parts[3])
        self.first_parts.discard("build")
        self.words: set[str] = set()
        self.words_of_files: dict[str, set[str]] = {}
        for path in files:
            name = os.path.basename(path)
            if path.startswith(DATA_FOLDERS) or not (name.endswith(NAME_FILES) or "." not in name):
                continue
            words = set(WORD.findall(read_text(root / path) or ""))
            self.words |= words
            if path.endswith((".h", ".cc")):
                self.words_of_files[path] = words

    def has_path(self, path: str, folder: str) -> bool:
        path = path.rstrip("/")
        bases = ["", "src/", "src/berth/", "src/berth/plugins/", folder + "/" if folder else ""]
        for pattern in [p for base in bases for p in braces(base + path)]:
            pattern = os.path.normpath(re.sub(r"<[^<>]*>", "*", pattern))
            if pattern in self.files or pattern in self.folders:
                return True
            if "*" in pattern and any(fnmatch.fnmatchcase(p, pattern) for p in self.files | self.folders):
                return True
        return False

    def has_member(self, names: list[str]) -> bool:
        """Some C++ file has all of the name's parts."""
        return any(words.issuperset(names) for words in self.words_of_files.values())


def braces(text: str) -> list[str]:
    """a/{b,c} as a/b and a/c."""
    found = re.search(r"\{([^{}]*)\}", text)
    if not found:
        return [text]
    return [t for part in found.group(1).split(",") for t in braces(text[:found.start()] + part.strip() + text[found.end():])]


def is_placeholder(path: str) -> bool:
    parts = re.split(r"[/.]", path.rstrip("/"))
    return any(re.fullmatch(r"[A-Z][A-Z_]+|x|x_\w+|[NM]", part) for part in parts) or "..." in path


def check_span(span: str, folder: str, sources: Sources) -> str | None:
    """What is wrong with a text in backticks; None when nothing is, or when it names nothing of ours."""
    span = span.strip()
    if span in FOREIGN_NAMES:
        return None
    if "/" in span and PATH.fullmatch(span):
        first = span.split("/")[0]
        is_ours = first in sources.first_parts or first in GROUPS
        looks_like_file = bool(re.search(r"\.\w{1,5}$|/$|\*", span)) or span.count("/") > 1 or first in GROUPS
        if is_ours and looks_like_file and not span.startswith(ABSENT) and not is_placeholder(span):
            if not sources.has_path(span, folder):
                return f"`{span}` is no file or folder here"
        return None
    if BARE_FILE.fullmatch(span):
        if is_placeholder(span) or fnmatch.filter(sources.basenames, span):
            return None
        return f"`{span}`: no file has this name"
    if QUALIFIED.fullmatch(span):
        names = span.removesuffix("()").replace("~", "").split("::")
        if names[0] in FOREIGN_NAMESPACES or sources.has_member([n for n in names if len(n) > 1]):
            return None
        return f"`{span}` is nowhere in the sources"
    if CONSTANT.fullmatch(span) or CALL.fullmatch(span) or NAME.fullmatch(span):
        return None if span.removesuffix("()") in sources.words else f"`{span}` is nowhere in the sources"
    return None


def check_link(target: str, path: str, root: Path, sources: Sources, texts: dict[str, str]) -> str | None:
    if re.match(r"[a-z][a-z0-9+.-]*:|//", target, re.I):
        return None
    where, _, anchor = target.partition("#")
    goal = os.path.normpath(os.path.join(os.path.dirname(path), where)) if where else path
    if goal not in sources.files and goal not in sources.folders and goal != ".":
        return f"the link to {target} leads to nothing"
    if anchor and goal.endswith(".md"):
        if goal not in texts:
            texts[goal] = read_text(root / goal) or ""
        if anchor not in anchors_of(texts[goal]):
            return f"the link to {target}: {goal} has no heading of that name"
    return None


def check_marks(path: str, text: str, root: Path, sources: Sources) -> Iterator[Finding]:
    """Whether each block of commands says which test runs it, in a page where one does."""
    lines = text.split("\n")
    if not any(MARK.match(line) for line in lines):
        return
    for number, line in enumerate(lines, 1):
        if not COMMANDS.match(line):
            continue
        mark = MARK.match(lines[number - 2]) if number > 1 else None
        if not mark:
            yield Finding(path, number, "commands without <!-- run by TEST --> or <!-- not run: WHY --> in the line before")
        elif test := mark.group("test"):
            if test not in sources.files:
                yield Finding(path, number - 1, f"{test}: no such test")
            elif os.path.basename(path) not in (read_text(root / test) or ""):
                yield Finding(path, number - 1, f"{test} does not name {os.path.basename(path)}, so it does not run this")


def check_switches(root: Path, files: list[str]) -> Iterator[Finding]:
    """Whether the page of versions names each switch between them."""
    path, page = "src/berth/framework/release.h", "docs/reference/versions.md"
    if path not in files or page not in files:
        return
    said = read_text(root / page) or ""
    for number, line in enumerate((read_text(root / path) or "").split("\n"), 1):
        if (switch := SWITCH.match(line)) and f"`{switch.group(1)}`" not in said:
            yield Finding(path, number, f"{switch.group(1)}: {page} does not say what it does")


def check(root: Path) -> list[Finding]:
    files = list_files(root)
    sources = Sources(root, files)
    texts = {path: read_text(root / path) or "" for path in files if path.endswith(".md")}
    findings = list(check_switches(root, files))
    for path, text in sorted(texts.items()):
        is_past = os.path.basename(path) in PAST or any(SUPERSEDED.match(line) for line in text.split("\n")[:8])
        prose = [""] * (text.count("\n") + 1)
        for number, line in prose_lines(text):
            prose[number - 1] = SPAN.sub(lambda span: "`" * len(span.group(0)), line)
            if not is_past:
                for span in SPAN.findall(line):
                    if problem := check_span(span, os.path.dirname(path), sources):
                        findings.append(Finding(path, number, problem))
        findings += check_marks(path, text, root, sources)
        whole = "\n".join(prose)  # a link may go over two lines
        for link in [*LINK.finditer(whole), *REFERENCE.finditer(whole)]:
            if problem := check_link(link.group(1), path, root, sources, texts):
                findings.append(Finding(path, whole.count("\n", 0, link.start(1)) + 1, problem))
    return sorted(findings)


def main(arguments: list[str]) -> int:
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        print("usage: tools/check_docs.py [ROOT]", file=sys.stderr)
        return 2
    findings = check(Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent)
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} broken rules", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
