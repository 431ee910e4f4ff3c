#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the known vulnerabilities of the libraries in a release mean for berth, as OpenVEX.

  vex.py BILL.spdx.json... --version VERSION [--tracker FILE] [--doc FOLDER]... --out FILE

Two sources, and nothing else:
  * changelogs of Debian's packages (/usr/share/doc, and --doc): a CVE that a changelog names at or below the version in the
    bill of materials is `fixed`;
  * tools/release/vex_assessments.json: what somebody has looked at, with the reason.
--tracker is Debian's list of open vulnerabilities, downloaded by whoever makes the release (docs/vulnerabilities.md). With it
an open one of a library that the bill names has to be in the assessments; one that is not there ends this with one line.
"""

import argparse
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

ASSESSMENTS = Path(__file__).with_name("vex_assessments.json")
DISTRIBUTION = "bookworm"
# Sources of which the program has types and constants of headers, and no code.
HEADERS_ONLY = {"linux"}
ENTRY = re.compile(r"^(\S+) \(([^)]+)\) ")
CVE = re.compile(r"\bCVE-\d{4}-\d{4,}\b")
# A changelog may also say that something is not fixed, or no longer.
TAKEN_BACK = re.compile(r"\b(?:revert|drop|disable|unfixed|not affected|not vulnerable|regression)", re.I)
STATUSES = ("not_affected", "affected", "fixed", "under_investigation")
JUSTIFICATIONS = ("component_not_present", "vulnerable_code_not_present", "vulnerable_code_not_in_execute_path",
                  "vulnerable_code_cannot_be_controlled_by_adversary", "inline_mitigations_already_exist")


class Refused(Exception):
    """One line on what is wrong."""


def fixed_in(changelog, source, version):
    """CVEs by the version whose entry names them, at `version` and before; None when the changelog has no such version."""
    found, entry, counts, item = {}, None, False, ""

    def close():
        if counts and not TAKEN_BACK.search(item):
            for name in CVE.findall(item):
                found.setdefault(name, entry)

    for line in changelog.splitlines():
        if head := ENTRY.match(line):
            close()
            item, entry = "", head[2]
            counts = counts or (head[1] == source and entry == version)
        elif re.match(r"^ +[*+-] ", line):
            close()
            item = line
        else:
            item += " " + line
    close()
    return found if counts else None


def changelog_of(source, folders):
    """Every changelog that a binary package of this source has on this machine."""
    listed = subprocess.run(["dpkg-query", "-W", "-f", "${source:Package} ${Package}\n"], capture_output=True, text=True,
                            check=False).stdout
    packages = [line.split(" ")[1] for line in listed.splitlines() if line.split(" ")[0] == source]
    for folder in folders:
        for package in [*packages, source]:
            for path in sorted(Path(folder, package).glob("changelog.Debian*.gz")):
                yield gzip.decompress(path.read_bytes()).decode(errors="replace")


def libraries(bills):
    """(source package, version) of every library of Debian's in the bills of materials."""
    found = set()
    for bill in bills:
        for package in json.loads(Path(bill).read_text())["packages"]:
            urls = [each["referenceLocator"] for each in package.get("externalRefs", [])]
            if any(url.startswith("pkg:deb/") for url in urls) and package["name"] not in HEADERS_ONLY:
                found.add((package["name"], package["versionInfo"]))
    return sorted(found)


def assessments(text):
    """By (library, CVE); each is checked for what OpenVEX asks of its status."""
    found = {}
    for number, each in enumerate(json.loads(text), 1):
        where = f"assessment {number}"
        if not isinstance(each.get("source"), str) or not CVE.fullmatch(each.get("vulnerability", "")):
            raise Refused(f"{where}: want a source package and a CVE")
        where += f", {each['vulnerability']}"
        if each.get("status") not in STATUSES:
            raise Refused(f"{where}: the status is one of {', '.join(STATUSES)}")
        if each["status"] == "not_affected" and each.get("justification") not in JUSTIFICATIONS:
            raise Refused(f"{where}: not_affected needs a justification: {', '.join(JUSTIFICATIONS)}")
        if each["status"] == "affected" and not each.get("action"):
            raise Refused(f"{where}: affected needs an action: what a user can do")
        if not each.get("why"):
            raise Refused(f"{where}: it says not why")
        found[each["source"], each["vulnerability"]] = each
    return found


def open_in(tracker, names):
    """(library, CVE) of what Debian's tracker calls open in the distribution that berth is built on."""
    return {(name, cve) for name in names for cve, about in tracker.get(name, {}).items()
            if cve.startswith("CVE-") and about.get("releases", {}).get(DISTRIBUTION, {}).get("status") == "open"}


def document(found, known, tracker, version, when, folders):
    """The OpenVEX document, and the libraries without a changelog here."""
    names = {name for name, _ in found}
    if tracker is not None and (left := sorted(open_in(tracker, names) - set(known))):
        raise Refused(f"{left[0][0]} has {left[0][1]} open in Debian, and {ASSESSMENTS.name} says nothing about it"
                      + (f" (and {len(left) - 1} more)" if len(left) > 1 else ""))
    statements, unread = [], []

    def say(cve, library, library_version, **more):
        statements.append({"vulnerability": {"name": cve}, "products": [{
            "@id": f"pkg:generic/berth@{version}",
            "subcomponents": [{"@id": f"pkg:deb/debian/{library}@{library_version}?arch=source&distro={DISTRIBUTION}"}]}], **more})

    for library, library_version in found:
        fixed = None
        for text in changelog_of(library, folders):
            fixed = fixed_in(text, library, library_version)
            if fixed is not None:
                break
        if fixed is None:
            unread.append(library)
        for cve, entry in sorted((fixed or {}).items()):
            if (library, cve) not in known:
                say(cve, library, library_version, status="fixed", status_notes=f"Debian's changelog of {library} {entry}")
        for (name, cve), each in sorted(known.items()):
            if name == library:
                more = {"justification": each["justification"]} if each["status"] == "not_affected" else {}
                if each["status"] == "affected":
                    more["action_statement"] = each["action"]
                key = "impact_statement" if each["status"] == "not_affected" else "status_notes"
                say(cve, library, library_version, status=each["status"], **{key: each["why"]}, **more)
    return {"@context": "https://openvex.dev/ns/v0.2.0", "@id": f"urn:berth:vex:{version}", "author": "berth's maintainers",
            "timestamp": when, "version": 1, "tooling": "tools/release/vex.py", "statements": statements}, unread


def make(bills, version, when, tracker=None, folders=(), known=None):
    """As text, and the libraries that it could not read of."""
    found = libraries(bills)
    known = assessments(ASSESSMENTS.read_text() if known is None else known)
    made, unread = document(found, known, tracker, version, when, [*folders, "/usr/share/doc"])
    return json.dumps(made, indent=1, sort_keys=True) + "\n", unread


def main():
    parser = argparse.ArgumentParser(description="What the libraries' known vulnerabilities mean for berth")
    parser.add_argument("bills", nargs="+")
    parser.add_argument("--version", required=True)
    parser.add_argument("--tracker", type=Path)
    parser.add_argument("--doc", action="append", default=[])
    parser.add_argument("--timestamp", default="1970-01-01T00:00:00Z")
    parser.add_argument("--out", required=True, type=Path)
    options = parser.parse_args()
    try:
        tracker = json.loads(options.tracker.read_text()) if options.tracker else None
        text, unread = make(options.bills, options.version, options.timestamp, tracker, options.doc)
        options.out.write_text(text)
        print(f"{options.out}: {len(json.loads(text)['statements'])} statements"
              + (f"; no changelog of {', '.join(unread)} is here" if unread else ""))
    except (Refused, OSError, ValueError) as refusal:
        print(f"vex: {refusal}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
