#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The repository's own checks: rules of ARCHITECTURE.md that a compiler does not see.

    tools/check_repo.py [ROOT]

Prints one line per broken rule (file:line: what is wrong and why it matters) and exits 1 when there is one.
Needs nothing but Python's standard library.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

# Folders of src/berth that only hold others: a first look tells what berth is made of.
GROUPS = ("core", "devcluster", "languages", "proof", "shell")
# Which folders a folder may include, itself aside, by its own name. A new folder is added here, with its place.
CORE = ["base", "codec", "api", "framework"]
MAY_INCLUDE = {
    "base": [],
    "codec": ["base"],
    "api": ["base", "codec"],
    "cel": ["base", "api"],
    "framework": ["base", "codec", "api"],
    "script": ["base", "codec"],
    "config": CORE + ["cel"],
    "instruments": CORE,
    "cache": CORE + ["config"],
    "queue": CORE + ["config", "instruments"],
    "plugins": CORE + ["cel", "config", "instruments", "script"],
    "runtime": CORE + ["config", "cache", "instruments", "queue"],
    "scheduler": CORE + ["config", "cache", "instruments", "queue", "runtime"],
    # The runner of golden cases is a shell of its own around the core.
    "conformance": CORE + ["config", "cache", "queue", "plugins", "runtime", "scheduler", "cli", "whatif"],
    "net": ["base"],
    "client": ["base", "codec", "api", "net"],
    # What Kubernetes says of an object; no network, no threads.
    "objects": ["base", "codec", "api"],
    "apiserver": ["base", "codec", "api", "net", "objects"],
    "kubelet": ["base", "codec", "api", "net", "client"],
    "controllers": ["base", "codec", "api", "net", "client"],
    "cli": ["base"],
    "data_file": ["base", "apiserver"],
    "embedded_cluster": ["base", "codec", "net", "client", "apiserver", "kubelet", "controllers", "data_file"],
    "metrics": ["base", "framework"],
    "plugin_files": ["base", "framework", "plugins", "client"],
    "serving": ["base", "codec", "api", "net", "client"],
    "tracing": ["base", "codec", "framework", "instruments", "net", "client"],
    "outside": CORE + ["config", "scheduler", "net", "client", "tracing"],
    "recording": CORE + ["config", "scheduler"],
    # Dumps show the cache and the queue.
    "runner": CORE + ["config", "cache", "instruments", "queue", "plugins", "runtime", "scheduler", "net", "client",
                      "outside", "plugin_files", "recording", "tracing"],
    "prices": ["base", "codec", "api", "plugins", "client"],
    # Questions about a cluster: the core on a state that the client reads.
    "whatif": CORE + ["config", "cache", "instruments", "queue", "plugins", "runtime", "scheduler", "net", "client",
                      "objects", "controllers"],
    # Another scheduler's decisions beside the core's.
    "shadow": CORE + ["config", "cache", "plugins", "runtime", "scheduler", "whatif"],
    # Which pods should move, and where to, proved on the core that whatif has.
    "rebalance": CORE + ["config", "plugins", "runtime", "scheduler", "net", "whatif"],
    # Which nodes to buy, proved on the core that whatif has.
    "buy": CORE + ["config", "plugins", "runtime", "scheduler", "kubelet", "whatif"],
    # Room that is promised to ProvisioningRequests.
    "provisioning": CORE + ["plugins", "scheduler", "net", "client", "runner", "whatif"],
    # What they answer, as text, JSON and HTML.
    "answers": ["base", "codec", "api", "framework", "plugins", "prices", "whatif", "shadow", "rebalance", "buy", "cli"],
    # Questions that are asked again and again, over HTTP.
    "ask": CORE + ["config", "plugins", "scheduler", "net", "client", "serving", "whatif", "rebalance", "buy", "answers", "cli"],
    # berth's page: what it reads, who may, and its files.
    "page": CORE + ["plugins", "queue", "runtime", "scheduler", "net", "client", "serving", "whatif", "rebalance", "answers", "ask"],
    # Objections, compared with what the real descheduler evicts.
    "deschedule_check": ["base", "codec", "api", "rebalance", "whatif"],
    # A recorded run, repeated; and the same history under another configuration.
    "replay": CORE + ["config", "cache", "plugins", "runtime", "scheduler", "recording", "whatif"],
    # Explanations of golden cases, compared with the answers of the real kube-scheduler.
    "explain_check": CORE + ["config", "plugins", "runtime", "scheduler", "conformance", "whatif"],
    "wake_ups": CORE + ["config", "queue", "plugins", "runtime", "scheduler", "whatif"],
    # What authors of plugins try their work with, on the command line and, through testing, in C++.
    "authoring": CORE + ["config", "plugins", "runtime", "scheduler", "cli", "plugin_files", "whatif"],
    "demo": CORE + ["config", "plugins", "scheduler", "net", "client", "cli", "runner", "embedded_cluster"],
    "app": None,  # the composition root: everything
    "testing": None,  # used by tests only
    "program_sim": None,
}
# What authors of plugins include: for the plugin, and for its tests.
AUTHOR_HEADERS = ["src/berth/plugin.h", "src/berth/testing/small_cluster.h"]
# What plugins that come with berth may use beside that, and authors never see (docs/adr/0013-two-contracts.md).
FAST_PATH = {"berth/framework/" + name + ".h" for name in ("fast_path", "node_table", "nominated_rows", "status_table")}
VOID_POINTER = re.compile(r"\bvoid\s*(?:const\s*)?\*|_ptr<\s*void\s*>")
# A definition of what base/text.h has.
CONSTANT = re.compile(r"(?:static )?constexpr [^={(]*?\b(k[A-Z]\w*)(?:\[\w*\])?\s*[={]")
TEXT_HELPER = re.compile(r"^(?:(?:inline|static|constexpr) )*(?:bool|char|std::[\w:<>]+) "
                         r"(Quoted|Trim|Trimmed|Joined|Split|Lower|LowerCase|IsDigit|IsLetter|IsAlphanumeric|IsAlnum)\(.*[{]")
# Only tests may include these.
TESTS_ONLY = {"testing", "program_sim"}

# How many sources may be compiled again when one of these headers changes: it was two to six times as many while headers
# of the core included what they only return.
REACHED_MAX = {
    "src/berth/core/queue/scheduling_queue.h": 130,
    "src/berth/core/runtime/evaluator.h": 75,
    "src/berth/core/scheduler/core_state.h": 40,
    "src/berth/core/scheduler/scheduler.h": 95,
    "src/berth/framework/fast_path.h": 215,
}

# Sources that read a clock or a random device where the rule says that nobody may, each with its reason.
CLOCK_EXCEPTIONS = {
    "src/berth/base/time.cc": "SystemClock: the one place that reads the system's clock",
    "apps/bench/meter.cc": "a benchmark measures real time",
    "src/berth/demo/policy_demo.cc": "somebody looks on, and waits so long at most",
    "src/berth/shell/outside/outside_poller.cc": "how old a file is, by the system's clock",
    "src/berth/shell/plugin_files/plugin_loader.cc": "a child process gets so much real time",
    "src/berth/shell/runner/scheduler_shell.cc": "whoever ends the process waits so long at most",
}
CLOCK_FREE_FOLDERS = ("src/berth/app/", "src/berth/shell/net/")
CLOCK = re.compile(
    r"\b(?:system_clock|steady_clock|high_resolution_clock|utc_clock|file_clock)::now\b"
    r"|\babsl::Now\b|\b(?:gettimeofday|clock_gettime|timespec_get)\s*\("
    r"|\b(?:std::|::)time\s*\(|(?<![\w.:>])time\s*\(\s*(?:nullptr|NULL|0|&)"
)
CHANCE = re.compile(
    r"\brandom_device\b|(?<![\w.>])(?:s?rand|srandom|rand_r|[dlm]rand48|arc4random\w*|getrandom|getentropy)\s*\("
    r"|/dev/u?random|\bRAND_(?:priv_)?bytes\b"
)
SLEEP = re.compile(r"\b(?:sleep_for|sleep_until|usleep|nanosleep|absl::SleepFor)\b|(?<![\w.>])sleep\s*\(")

# Split, so that this file does not break its own rule.
MACHINE_PATH = re.compile(r"(?<![\w.$}*-])/(?:wo" r"rk|ro" r"ot)/|\.\./sha" r"red\b")
# Files in which such a path is meant: the file, a part of the line, the reason.
MACHINE_PATH_EXCEPTIONS: list[tuple[str, str, str]] = []

TEXT_BYTES_MAX = 4 << 20  # larger files are data, and not read
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
TEST_SOURCE = re.compile(r"(?:^|/)(?:[^/]*_(?:test|fuzz|bench|testing)|test_[^/]*)\.(?:cc|h)$")


class Finding(NamedTuple):
    path: str
    line: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.sentence}"


def list_files(root: Path) -> list[str]:
    """Files of the repository, tracked and new, by path; without git all but hidden folders and build/."""
    try:
        listing = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"],
            check=True, capture_output=True)
        names = [name.decode("utf-8", "replace") for name in listing.stdout.split(b"\0") if name]
        # A folder inside some other repository is listed without its own rules about what to ignore.
        if names:
            return sorted(name for name in names if (root / name).is_file())
    except (OSError, subprocess.CalledProcessError):
        pass
    names = []
    for folder, folders, files in os.walk(root):
        here = Path(folder).relative_to(root)
        folders[:] = [f for f in folders if f != ".git" and not (here == Path(".") and f == "build")]
        names += [str(here / f) for f in files]
    return sorted(names)


def read_text(path: Path) -> str | None:
    """The file's text; None for a binary or very large one."""
    if path.stat().st_size > TEXT_BYTES_MAX:
        return None
    data = path.read_bytes()
    return None if b"\0" in data else data.decode("utf-8", "replace")


def without_comments(text: str) -> str:
    """C++ text with comments blanked out, line for line."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^()\s\\]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)

    def blank(match: re.Match) -> str:
        found = match.group(0)
        return re.sub(r"[^\n]", " ", found) if found.startswith("/") else found

    return pattern.sub(blank, text)


def is_test(path: str) -> bool:
    return path.startswith("tests/") or path.startswith("src/berth/testing/") or TEST_SOURCE.search(path) is not None


def without_group(path: str) -> list[str]:
    """The parts of a path that begins with berth/ or src/berth/, without the group of its folder."""
    parts = path.split("/")
    group = 2 if parts[0] == "src" else 1
    if len(parts) > group + 2 and parts[group] in GROUPS:
        del parts[group]
    return parts


def check_includes(path: str, lines: list[str]) -> Iterator[Finding]:
    """Directions between the folders of src/berth."""
    parts = without_group(path)
    if parts[:2] != ["src", "berth"] or len(parts) < 4:
        return
    folder = parts[2]
    if folder not in MAY_INCLUDE:
        yield Finding(path, 1, f"src/berth/{folder} has no place in the order of folders: say in tools/check_repo.py what it "
                      "may include, and in ARCHITECTURE.md what it is for")
        return
    allowed = MAY_INCLUDE[folder]
    is_plugin = folder == "plugins" and len(parts) >= 5
    is_contract = path.endswith(".h") and not is_test(path) and (
        folder == "framework" or (is_plugin and parts[4] == parts[3] + ".h"))
    for number, line in enumerate(lines, 1):
        include = INCLUDE.match(line)
        if not include:
            continue
        kind, target = include.groups()
        if kind == '"' and not target.startswith("berth/"):
            # Forms like "absl/..." are a third party's; a bare name would hang on the search path.
            if "/" not in target:
                yield Finding(path, number, f'"{target}" depends on who includes it: write the path from src/, "berth/..."')
            elif is_contract:
                yield contract_finding(path, number, target)
            continue
        if not target.startswith("berth/"):
            if is_contract and ("/" in target or "." in target):
                yield contract_finding(path, number, target)
            continue
        if folder == "testing" and target.startswith("berth/app/"):
            yield Finding(path, number, f"testing must not include app ({target}): authors link it with tests of their plugins, "
                          "which need no subcommands")
        if is_test(path):
            continue
        target_parts = without_group(target)
        other = target_parts[1] if len(target_parts) > 2 else ""
        if other in TESTS_ONLY and folder not in TESTS_ONLY:
            yield Finding(path, number, f"{target} is for tests: code that ships must not need it")
        elif allowed is not None and other != folder and other not in allowed:
            order = ", ".join(allowed) if allowed else "no other folder"
            yield Finding(path, number, f"{folder} must not include {other} ({target}): it stands above {order} and nothing "
                          "else, so that the core never depends on its shell and each folder can be read by itself")
        elif is_plugin and other == "plugins" and target_parts[2] not in (parts[3], "helper", "names.h"):
            yield Finding(path, number, f"plugins never include each other ({target}): what they share belongs into "
                          "plugins/helper")
        elif is_contract and other not in ("base", "api", "framework") and target_parts[:2] != ["berth", "plugins"]:
            yield contract_finding(path, number, target)


def check_author_headers(root: Path) -> Iterator[Finding]:
    """What is installed for authors of plugins: AUTHOR_HEADERS and what they include, however far away."""
    waiting, seen = list(AUTHOR_HEADERS), set()
    while waiting:
        path = waiting.pop()
        if path in seen or not (root / path).is_file():
            continue
        seen.add(path)
        for number, line in enumerate(without_comments(read_text(root / path) or "").split("\n"), 1):
            include = INCLUDE.match(line)
            if not include:
                if VOID_POINTER.search(line):
                    yield Finding(path, number, "a void* in what authors of plugins see: give it a type")
                continue
            kind, target = include.groups()
            if target in FAST_PATH:
                yield Finding(path, number, f"{target} is of the fast path, and an author's header leads here: what changes with "
                              "each experiment must not change the ABI of plugins (docs/adr/0013-two-contracts.md)")
            elif kind == '"' and target.startswith("berth/"):
                waiting.append("src/" + target)
            elif kind == '"' or "/" in target or "." in target:
                yield Finding(path, number, f"{target} is not of the standard library, and an author's header leads here: "
                              "a plugin is built with the installed headers and a compiler, nothing else")


def contract_finding(path: str, number: int, target: str) -> Finding:
    return Finding(path, number, f"a contract of the framework or of a plugin includes only the standard library and "
                   f"berth/base, api and framework, so that a plugin can be built against it alone: not {target}")


def check_clocks(path: str, lines: list[str]) -> Iterator[Finding]:
    """Time and chance are passed in."""
    if not path.startswith(("src/", "apps/")) or path.startswith(CLOCK_FREE_FOLDERS) or path in CLOCK_EXCEPTIONS:
        return
    for number, line in enumerate(lines, 1):
        # Tests of real sockets need real deadlines; nothing needs real chance.
        if not is_test(path) and (found := CLOCK.search(line)):
            yield Finding(path, number, f"{found.group(0).strip()} reads the system's clock: take a Time or a Clock& instead, so "
                          "that a run can be replayed (exceptions: CLOCK_EXCEPTIONS in tools/check_repo.py)")
        if found := CHANCE.search(line):
            yield Finding(path, number, f"{found.group(0).strip()} draws from outside: take a seed or a Random& instead, so that "
                          "a run can be replayed (exceptions: CLOCK_EXCEPTIONS in tools/check_repo.py)")


def check_sleeps(path: str, lines: list[str]) -> Iterator[Finding]:
    if not path.endswith("_test.cc"):
        return
    for number, line in enumerate(lines, 1):
        if found := SLEEP.search(line):
            yield Finding(path, number, f"{found.group(0).strip()} in a test: it is slow on a fast machine and fails on a slow "
                          "one; wait for the condition, or move a fake clock")


def check_vocabulary(path: str, lines: list[str]) -> Iterator[Finding]:
    """What base/text.h has is not written again. Languages have functions of their own."""
    if not path.startswith("src/berth/") or path.startswith(("src/berth/base/text.", "src/berth/languages/")):
        return
    for number, line in enumerate(lines, 1):
        if found := TEXT_HELPER.match(line):
            yield Finding(path, number, f"{found.group(1)} is in base/text.h: a second one makes messages look different")


def check_constants(path: str, lines: list[str]) -> Iterator[Finding]:
    """A source uses its constants. g++ says nothing of it; clang, with which `./dev one` builds, refuses the source."""
    if not path.endswith(".cc"):
        return
    text = "\n".join(lines)
    for number, line in enumerate(lines, 1):
        found = CONSTANT.match(line)
        if found and len(re.findall(rf"\b{found.group(1)}\b", text)) == 1:
            yield Finding(path, number, f"nobody uses {found.group(1)}: delete it, or it does not compile with clang")


def check_machine_paths(path: str, lines: list[str]) -> Iterator[Finding]:
    for number, line in enumerate(lines, 1):
        found = MACHINE_PATH.search(line)
        if found and not any(path == p and part in line for p, part, _ in MACHINE_PATH_EXCEPTIONS):
            yield Finding(path, number, f"{found.group(0)} is a path of one machine: what is committed must work in any clone")


def check_reach(includes: dict[str, set[str]]) -> Iterator[Finding]:
    """`includes`: the headers of berth that each source and header includes itself."""
    included_by: dict[str, set[str]] = {}
    for path, targets in includes.items():
        for target in targets:
            included_by.setdefault(f"src/{target}", set()).add(path)
    for header, reached_max in REACHED_MAX.items():
        reached, ahead = {header}, [header]
        while ahead:
            new = included_by.get(ahead.pop(), set()) - reached
            reached |= new
            ahead += new
        count = sum(path.endswith(".cc") for path in reached)
        if count > reached_max:
            headers = {path: len(included_by.get(path, ())) for path in included_by.get(header, ()) if path.endswith(".h")}
            most = max(headers, key=headers.get, default="no header")
            yield Finding(header, 1, f"{count} sources include it, {reached_max} may (REACHED_MAX in tools/check_repo.py): a "
                          f"header that only returns or takes what it declares can name it instead ({most}?)")


def check_listed(files: list[str], texts: dict[str, str]) -> Iterator[Finding]:
    """Every C++ source is built by some CMakeLists.txt."""
    listed = set()
    for path, text in texts.items():
        if not path.endswith(("CMakeLists.txt", ".cmake")):
            continue
        folder = os.path.dirname(path)
        for token in re.findall(r'[^\s()"]+\.cc\b', re.sub(r"#[^\n]*", "", text)):
            if "${CMAKE_SOURCE_DIR}/" in token:
                listed.add(os.path.normpath(token.split("${CMAKE_SOURCE_DIR}/", 1)[1]))
            else:
                listed.add(os.path.normpath(os.path.join(folder, token)))
    for path in files:
        if path.endswith(".cc") and path not in listed:
            yield Finding(path, 1, "no CMakeLists.txt lists this source: it is not built, and what it says is not checked")


def check(root: Path) -> list[Finding]:
    files = list_files(root)
    findings: list[Finding] = []
    cmake_texts = {}
    includes: dict[str, set[str]] = {}
    for path in files:
        if (text := read_text(root / path)) is None:
            continue
        findings += check_machine_paths(path, text.split("\n"))
        if path.endswith(("CMakeLists.txt", ".cmake")):
            cmake_texts[path] = text
        if path.endswith((".h", ".cc")):
            lines = without_comments(text).split("\n")
            includes[path] = {found[2] for line in lines if (found := INCLUDE.match(line)) and found[2].startswith("berth/")}
            findings += check_includes(path, lines)
            findings += check_clocks(path, lines)
            findings += check_sleeps(path, lines)
            findings += check_vocabulary(path, lines)
            findings += check_constants(path, lines)
    findings += check_reach(includes)
    findings += check_listed(files, cmake_texts)
    findings += check_author_headers(root)
    return sorted(findings)


def main(arguments: list[str]) -> int:
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        print("usage: tools/check_repo.py [ROOT]", file=sys.stderr)
        return 2
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    if not (root / "CMakeLists.txt").is_file():
        print(f"{root}: no CMakeLists.txt here: name the repository's root folder", file=sys.stderr)
        return 2
    findings = check(root)
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} broken rules", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
