#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a suite of tests and keeps what it said of its outcome, for the conformance report of a release.

  ran.py SUITE [--as WORDS] -- COMMAND...

Passes the output on, ends with the command's status, and adds a line of JSON to build/ran.jsonl: the suite, the arguments
(`--as`), the commit, whether anything was changed since it, when it began, how long it took, the status, and the counts
that the suite printed itself. A suite that printed none has none: nothing is made up.
tools/release/conformance_report.py reads the lines.
"""

import datetime
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "build/ran.jsonl"
NAMES_MAX = 2000  # of tests that failed or were skipped, in one line
# What each kind of suite prints at its end.
CTEST = re.compile(r"^\d+% tests passed, (\d+) tests failed out of (\d+)")
CTEST_SKIPPED = re.compile(r"^\s*\d+ - (\S+) \((?:Skipped|Disabled|Not Run)")
CTEST_FAILED = re.compile(r"^\s*\d+ - (\S+) \((?:Failed|Timeout|SEGFAULT|Subprocess aborted|Not Run)")
GO = re.compile(r"^--- (PASS|FAIL|SKIP): (\S+)")
COUNTED = re.compile(r"^(?:total +)?(\d+) passed, (\d+) failed(?:, (\d+) (?:skipped|without an answer))?$")
SEEDS = re.compile(r"^(\d+) seeds, (\d+) failed:")
VERSION = re.compile(r"^e2e: passed on v?(\d+\.\d+\.\d+)")


class Outcome:
    """Counts by what became of a test, read line by line. The last total counts."""

    def __init__(self):
        self.counts, self.failed, self.skipped, self.kubernetes, self.last = {}, [], [], None, ""

    def read(self, line):
        line = re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip("\n")
        self.last = line or self.last
        if found := GO.match(line):
            key = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}[found[1]]
            self.counts[key] = self.counts.get(key, 0) + 1
            if key != "passed":
                getattr(self, key).append(found[2])
        elif found := SEEDS.match(line):
            self.counts = {"passed": int(found[1]) - int(found[2]), "failed": int(found[2])}
        elif found := CTEST.match(line):
            self.counts = {"passed": int(found[2]) - int(found[1]), "failed": int(found[1])}
        elif found := COUNTED.match(line):
            self.counts = {"passed": int(found[1]), "failed": int(found[2])} | ({"skipped": int(found[3])} if found[3] else {})
        elif found := VERSION.match(line):
            self.kubernetes = found[1]
        elif found := CTEST_SKIPPED.match(line):
            self.skipped.append(found[1])
        elif found := CTEST_FAILED.match(line):
            self.failed.append(found[1])


def state_of(repository):
    """The commit, and whether what git follows is as it was committed."""
    def git(*arguments):
        return subprocess.run(["git", "-C", str(repository), "--no-optional-locks", *arguments], capture_output=True, text=True, check=False).stdout

    return git("rev-parse", "HEAD").strip(), not git("status", "--porcelain", "--untracked-files=no")


def run(suite, words, command, records=RECORDS, repository=ROOT):
    commit, clean = state_of(repository)
    began = time.time()
    outcome = Outcome()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as child:
        # An interrupt goes to the whole group, and the child says how it ends; what asks for an end is passed on.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: child.terminate())
        for line in child.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            outcome.read(line)
    status = child.returncode
    commit_after, clean_after = state_of(repository)
    when = datetime.datetime.fromtimestamp(began, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    record = {"suite": suite, "arguments": words, "commit": commit, "clean": clean and clean_after and commit == commit_after,
              "began": when, "seconds": round(time.time() - began), "status": status, "counts": outcome.counts,
              "failed": outcome.failed[:NAMES_MAX], "skipped": outcome.skipped[:NAMES_MAX], "kubernetes": outcome.kubernetes,
              "last_line": outcome.last}
    Path(records).parent.mkdir(parents=True, exist_ok=True)
    # One write of a line, so that suites that run beside each other do not mix theirs.
    with open(records, "a", encoding="utf-8") as file:
        file.write(json.dumps(record, sort_keys=True) + "\n")
    return status if status >= 0 else 128 - status


def main(arguments):
    if "--" not in arguments or arguments.index("--") == len(arguments) - 1 or not arguments[0].isidentifier():
        print("usage: ran.py SUITE [--as WORDS] -- COMMAND...", file=sys.stderr)
        return 2
    split = arguments.index("--")
    words = arguments[2] if arguments[1:2] == ["--as"] else ""
    try:
        return run(arguments[0].replace("_", "-"), words, arguments[split + 1:],
                   Path(os.environ.get("BERTH_RAN", RECORDS)))
    except OSError as error:
        print(f"ran: {arguments[split + 1]}: {error.strerror}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
