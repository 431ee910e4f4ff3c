#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance report of a release: what ran on its commit, and what did not.

  conformance_report.py FOLDER [--records FILE] [--hostile FILE] [--repository FOLDER]

Writes FOLDER/berth-conformance-VERSION.md and .json, from the lines that tools/ran.py kept. Only runs of this commit
without other changes count; of a suite with the same arguments the last one. A suite that has no such run is listed as one
that did not run. Nothing else is said.
"""

import argparse
import datetime
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Each suite that ./dev records, the command, and what it compares with what.
SUITES = {
    "release": ("./dev test", "the tests of the sources, with real services where they can be had"),
    "conformance": ("./dev conformance", "decisions, compared with the real kube-scheduler's"),
    "explain-check": ("./dev explain-check", "explanations, tried on the real kube-scheduler"),
    "e2e": ("./dev e2e", "berth on the real control plane"),
    "clients": ("./dev clients", "real clients of Kubernetes against `berth cluster`"),
    "sim": ("./dev sim", "the whole program under simulated faults (chaos)"),
    "hostile": ("./dev hostile", "attacks of a tenant, faults and clocks on the real control plane"),
    "asan": ("./dev check", "a share of the tests with AddressSanitizer"),
    "tsan": ("./dev check", "a share of the tests with ThreadSanitizer"),
}
VERSION = re.compile(r"berth-chart-(.+)\.tgz")


class Refused(Exception):
    """One line on what is wrong."""


def lines_of(path):
    """The objects of a file with one a line; none where there is no file."""
    if not Path(path).exists():
        return []
    found = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        try:
            found.append(json.loads(line))
        except ValueError as error:
            raise Refused(f"{path}:{number}: not a line of JSON") from error
    return found


def runs_of(records, commit):
    """The last run of each suite with the same arguments, on this commit as it was committed."""
    found = {}
    for record in records:
        if record["commit"] == commit and record["clean"]:
            found.pop((record["suite"], record["arguments"]), None)
            found[record["suite"], record["arguments"]] = record
    order = list(SUITES)
    return sorted(found.values(), key=lambda run: (order.index(run["suite"]) if run["suite"] in order else len(order), run["arguments"]))


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def attacks_of(results, runs):
    """Lines of the hostile table that were measured during one of these runs."""
    spans = [(instant(run["began"]), instant(run["began"]) + datetime.timedelta(seconds=run["seconds"] + 1))
             for run in runs if run["suite"] == "hostile"]
    return [result for result in results if any(begin <= instant(result["date"]) <= end for begin, end in spans)]


def outcome(run):
    return "passed" if run["status"] == 0 else f"FAILED ({run['status']})"


def cases(run):
    counts = run["counts"]
    if not counts:
        return "not counted"
    skipped = counts.get("skipped", len(run["skipped"]))
    return f"{counts.get('passed', 0)} passed, {counts.get('failed', 0)} failed" + (f", {skipped} skipped" if skipped else "")


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def markdown(report):
    lines = [f"# What ran on berth {report['version']}", "", f"Commit {report['commit']}. Only runs of this commit, without other "
             "changes, are listed; the counts are those that each suite printed.", ""]
    if report["runs"]:
        lines += ["| command | began (UTC) | seconds | outcome | cases | Kubernetes |", "|---|---|---|---|---|---|"]
        for run in report["runs"]:
            command = SUITES.get(run["suite"], (run["suite"], ""))[0]
            lines.append("| " + " | ".join(cell(each) for each in (
                f"`{(command + ' ' + run['arguments']).strip()}`", run["began"], run["seconds"], outcome(run), cases(run),
                run["kubernetes"] or "")) + " |")
        for run in report["runs"]:
            for what in ("failed", "skipped"):
                if run[what]:
                    lines += ["", f"{what.capitalize()} in `{run['suite']}` of {run['began']}: {', '.join(run[what])}"]
    else:
        lines.append("Nothing was recorded for this commit.")
    if report["attacks"]:
        lines += ["", "## Attacks", "", "| attack | strength | scheduler | never bound | faults |", "|---|---|---|---|---|"]
        for each in report["attacks"]:
            faults = each.get("not_tried") and f"not tried: {each['not_tried']}" or "; ".join(each.get("faults") or []) or "none"
            lines.append("| " + " | ".join(cell(each_cell) for each_cell in (
                each["attack"], f"{each['strength']} {each['unit']}", each["scheduler"], each["never_bound"], faults)) + " |")
    if report["did_not_run"]:
        lines += ["", "## Did not run", ""]
        lines += [f"- `{SUITES[suite][0]}` ({suite}): {SUITES[suite][1]}" for suite in report["did_not_run"]]
    return "\n".join(lines) + "\n"


def make(folder, records, results, commit):
    version = next((found[1] for file in sorted(folder.iterdir()) if (found := VERSION.fullmatch(file.name))), None)
    if version is None:
        raise Refused(f"{folder}: no chart is here, by which the version is known")
    runs = runs_of(records, commit)
    ran = {run["suite"] for run in runs}
    report = {"version": version, "commit": commit, "runs": runs, "attacks": attacks_of(results, runs),
              "did_not_run": [suite for suite in SUITES if suite not in ran]}
    for old in folder.glob("berth-conformance-*"):
        old.unlink()
    (folder / f"berth-conformance-{version}.json").write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
    (folder / f"berth-conformance-{version}.md").write_text(markdown(report))
    return report


def main():
    parser = argparse.ArgumentParser(description="The conformance report of a release")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", default=ROOT / "build/ran.jsonl", type=Path)
    parser.add_argument("--hostile", default=ROOT / "build/hostile/results.jsonl", type=Path)
    parser.add_argument("--repository", default=ROOT)
    options = parser.parse_args()
    commit = subprocess.run(["git", "-C", str(options.repository), "rev-parse", "HEAD"], capture_output=True, text=True,
                            check=False).stdout.strip()
    try:
        report = make(options.folder, lines_of(options.records), lines_of(options.hostile), commit)
    except (Refused, OSError, KeyError) as refusal:
        print(f"conformance_report: {refusal}", file=sys.stderr)
        return 1
    print(f"conformance report: {len(report['runs'])} runs of this commit, {len(report['did_not_run'])} suites did not run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
