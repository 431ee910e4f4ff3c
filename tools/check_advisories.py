#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each advisory is in OSV's form (https://ossf.github.io/osv-schema/), and says what a reader needs.

    tools/check_advisories.py [ROOT]

Reads docs/advisories/*.json, and the example of the README.md there. Prints one line per fault and exits 1 when there is one.
Needs nothing but Python's standard library.
"""

import json
import re
import sys
from pathlib import Path

ID = re.compile(r"BERTH-\d{4}-\d{4}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
CVSS = re.compile(r"CVSS:3\.[01]/(?:[A-Z]{1,2}:[A-Z]/?){8,}")
KEYS = {"schema_version", "id", "modified", "published", "withdrawn", "aliases", "related", "summary", "details", "severity",
        "affected", "references", "credits", "database_specific"}
EVENTS = {"introduced", "fixed", "last_affected", "limit"}
REFERENCES = {"ADVISORY", "ARTICLE", "DETECTION", "DISCUSSION", "REPORT", "FIX", "INTRODUCED", "PACKAGE", "EVIDENCE", "WEB"}


def faults(document):
    """What is wrong, a sentence each."""
    if not isinstance(document, dict):
        yield "want an object"
        return
    if unknown := sorted(set(document) - KEYS):
        yield f"{unknown[0]}: OSV has no such field"
    if not ID.fullmatch(str(document.get("id", ""))):
        yield "id: want BERTH-YEAR-NUMBER, as in BERTH-2026-0001"
    for key in ("modified", "published"):
        if not TIME.fullmatch(str(document.get(key, ""))):
            yield f"{key}: want a time in UTC, as in 2026-01-02T00:00:00Z"
    for key in ("schema_version", "summary", "details"):
        if not isinstance(document.get(key), str) or not document[key].strip():
            yield f"{key}: is missing"
    severity = document.get("severity")
    if not isinstance(severity, list) or not any(isinstance(each, dict) and each.get("type") == "CVSS_V3" and
                                                 CVSS.fullmatch(str(each.get("score", ""))) for each in severity):
        yield "severity: want a vector of CVSS 3"
    affected = document.get("affected")
    if not isinstance(affected, list) or not affected:
        yield "affected: is missing"
        affected = []
    for each in affected:
        if not isinstance(each, dict) or each.get("package", {}).get("name") != "berth":
            yield "affected: the package is not berth"
            continue
        events = [event for range_ in each.get("ranges", []) for event in range_.get("events", [])]
        if not any("introduced" in event for event in events) or any(len(event) != 1 or set(event) - EVENTS for event in events):
            yield "affected: want ranges of events, the first of which says when it was introduced"
    for each in document.get("references", []):
        if each.get("type") not in REFERENCES or not str(each.get("url", "")).startswith("https://"):
            yield "references: want a type of OSV's and an https address"


def check(root):
    folder = root / "docs/advisories"
    for path in sorted(folder.glob("*.json")):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            yield f"{path.relative_to(root)}: {error}"
            continue
        for fault in faults(document):
            yield f"{path.relative_to(root)}: {fault}"
        if isinstance(document, dict) and document.get("id") != path.stem:
            yield f"{path.relative_to(root)}: the file is not named after its id"
    example = re.search(r"```json\n(.*?)```", (folder / "README.md").read_text(encoding="utf-8"), re.S)
    if example is None:
        yield "docs/advisories/README.md: the example is missing"
        return
    for fault in faults(json.loads(example[1])):
        yield f"docs/advisories/README.md: the example: {fault}"


def main(arguments):
    found = list(check(Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
