#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests check_advisories.py: the example is right, and each change to it is found."""

import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_advisories  # noqa: E402

PAGE = Path(__file__).resolve().parents[1] / "docs/advisories/README.md"
EXAMPLE = json.loads(re.search(r"```json\n(.*?)```", PAGE.read_text(), re.S)[1])


class Advisories(unittest.TestCase):
    def test_the_example(self):
        self.assertEqual(list(check_advisories.faults(EXAMPLE)), [])

    def test_faults(self):
        package = EXAMPLE["affected"][0]["package"]
        for change, text in (
                ({"id": "CVE-2026-0001"}, "id: want BERTH-YEAR-NUMBER"), ({"modified": "yesterday"}, "modified: want a time"),
                ({"published": None}, "published: want a time"), ({"details": " "}, "details: is missing"),
                ({"severity": [{"type": "CVSS_V3", "score": "high"}]}, "severity: want a vector"), ({"affected": []}, "affected: is missing"),
                ({"affected": [{"package": {"name": "other"}}]}, "the package is not berth"),
                ({"affected": [{"package": package, "ranges": []}]}, "when it was introduced"),
                ({"affected": [{"package": package, "ranges": [{"events": [{"introduced": "0"}, {"gone": "1"}]}]}]}, "want ranges of events"),
                ({"references": [{"type": "FIX", "url": "http://x"}]}, "an https address"), ({"severe": 1}, "severe: OSV has no such field")):
            with self.subTest(change=change):
                found = list(check_advisories.faults(EXAMPLE | change))
                self.assertEqual(len(found), 1, found)
                self.assertIn(text, found[0])
        self.assertEqual(list(check_advisories.faults([])), ["want an object"])

    def test_files(self):
        with tempfile.TemporaryDirectory() as top:
            folder = Path(top) / "docs/advisories"
            folder.mkdir(parents=True)
            (folder / "README.md").write_text(PAGE.read_text())
            (folder / "BERTH-2026-0001.json").write_text(json.dumps(EXAMPLE))
            self.assertEqual(list(check_advisories.check(Path(top))), [])
            (folder / "BERTH-2026-0002.json").write_text(json.dumps(EXAMPLE))
            (folder / "BERTH-2026-0003.json").write_text("{")
            found = list(check_advisories.check(Path(top)))
            self.assertEqual(found[0], "docs/advisories/BERTH-2026-0002.json: the file is not named after its id")
            self.assertRegex(found[1], r"^docs/advisories/BERTH-2026-0003.json: ")
            self.assertEqual(len(found), 2)


if __name__ == "__main__":
    unittest.main()
