#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of check_docs.py: each rule with documents that keep it and documents that break it."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_docs  # noqa: E402

REPOSITORY = {
    "CMakeLists.txt": "",
    "dev": "",
    "src/berth/base/time.h": "constexpr int kLeapMax = 3;\nclass Clock { void Advance(); int row_count_; };\n",
    "src/berth/core/queue/entry.h": "struct Entry { int rank; };\n",
    "src/berth/plugins/node_ports/node_ports.h": "",
    "docs/adr/0001-first.md": "# First\n\n## A `title`, here\n\n## Twice\n\n## Twice\n",
}


def findings_of(files: dict[str, str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in {**REPOSITORY, **files}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        return [f"{finding.path}:{finding.line}" for finding in check_docs.check(root)]


class Rules(unittest.TestCase):
    def expect(self, text: str, is_good: bool, path: str = "docs/a.md") -> None:
        with self.subTest(text):
            self.assertEqual(findings_of({path: "\n" + text + "\n"}), [] if is_good else [path + ":2"])

    def test_links(self) -> None:
        for link, is_good in [
            ("adr/0001-first.md", True), ("adr", True), ("../dev", True), ("gone.md", False), ("/docs/adr", False),
            ("https://example.org/gone.md", True), ("mailto:a@b", True),
            ("adr/0001-first.md#first", True), ("adr/0001-first.md#a-title-here", True), ("adr/0001-first.md#gone", False),
            ("adr/0001-first.md#twice-1", True), ("adr/0001-first.md#twice-2", False), ("#gone", False),
        ]:
            self.expect(f"see [`this`]({link}).", is_good)
        self.expect("`[no link](gone.md)`", True)
        self.expect("[a]: gone.md", False)
        self.assertEqual(findings_of({"a.md": "see [over\ntwo lines](gone.md)\n"}), ["a.md:2"])

    def test_paths(self) -> None:
        for path, is_good in [
            ("src/berth/base/time.h", True), ("base/time.h", True), ("core/queue/entry.h", True), ("berth/base/time.h", True),
            ("queue/entry.h", False), ("base/gone.h", False), ("core/gone", False), ("docs/adr/", True), ("docs/gone/", False),
            ("node_ports/node_ports.h", True), ("base/{time,gone}.h", True), ("docs/adr/*.md", True), ("docs/adr/*.txt", False),
            ("plugins/<name>/", True), ("docs/FAMILY/", True), ("base/x.h", True), ("build/release/bin/berth", True),
            ("time.h", True), ("gone.h", False), ("x_test.cc", True), ("and/or", True), ("/apis/v1/gone.md", True),
        ]:
            self.expect(f"`{path}`", is_good)

    def test_names(self) -> None:
        for name, is_good in [
            ("kLeapMax", True), ("kLeapMin", False), ("Clock", True), ("Watch", False), ("Clock::Advance", True),
            ("base::Clock::Advance()", False), ("Entry::Advance", False), ("Advance()", True), ("Retreat()", False),
            ("std::gone", True), ("row_count_", True), ("row_gone", False), ("word", True), ("--flag-gone", True), ("N", True),
        ]:
            self.expect(f"`{name}`", is_good)

    def test_code_blocks_are_not_prose(self) -> None:
        self.expect("```sh\n`Gone` [x](gone.md)\n```", True)

    def test_the_past_is_not_checked(self) -> None:
        for path, status, is_good in [
            ("CHANGELOG.md", "", True), ("docs/adr/0002-x.md", "**Status.** Superseded by [ADR 1](0001-first.md).", True),
            ("docs/adr/0002-x.md", "**Status.** In force.", False), ("README.md", "", False),
        ]:
            with self.subTest(path=path, status=status):
                self.assertEqual(findings_of({path: f"{status}\n`kGone`\n"}), [] if is_good else [path + ":2"])
        self.assertEqual(findings_of({"CHANGELOG.md": "[x](gone.md)\n"}), ["CHANGELOG.md:1"])


class Program(unittest.TestCase):
    def run_main(self, *arguments: str) -> tuple[int, str]:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            return check_docs.main(list(arguments)), output.getvalue()

    def test_exit_codes(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.run_main(folder), (0, ""))
            (Path(folder) / "a.md").write_text("[x](gone.md)\n")
            code, output = self.run_main(folder)
            self.assertEqual((code, output.startswith("a.md:1: the link to gone.md leads to nothing")), (1, True))
        self.assertEqual(self.run_main("--what")[0], 2)

    def test_marks_of_commands(self) -> None:
        block = "```sh\nls\n```\n"
        marked = "<!-- run by tests/page_test.py -->\n" + block
        files = {"tests/page_test.py": "# runs a.md\n"}
        for text, broken in (
            (block, []),  # where nothing is marked, nothing has to be
            (marked, []),
            (marked + "\n<!-- not run: it lasts a day -->\n" + block, []),
            ("<!-- run by tests/page_test.py: in the background -->\n" + block, []),
            (marked + "\n```yaml\na: b\n```\n", []),
            (marked + "\n" + block, ["docs/a.md:6"]),
            (marked + "\n<!-- not run: -->\n" + block, ["docs/a.md:7"]),
            (marked + "\n<!-- run by tests/page_test.py -->\n\n" + block, ["docs/a.md:8"]),
            ("<!-- run by tests/no_test.py -->\n" + block, ["docs/a.md:1"]),
        ):
            with self.subTest(text):
                self.assertEqual(findings_of({**files, "docs/a.md": text}), broken)
        self.assertEqual(findings_of({**files, "docs/b.md": marked}), ["docs/b.md:1"])  # the test does not name this page

    def test_switches_between_versions(self) -> None:
        header = {"src/berth/framework/release.h": "struct Release {\n  bool is_new = Since(37);\n  bool was_old = Before(37);\n};\n"}
        page = "docs/reference/versions.md"
        self.assertEqual(findings_of({**header, page: "`is_new`, `was_old`\n"}), [])
        self.assertEqual(findings_of({**header, page: "`is_new`\n"}), ["src/berth/framework/release.h:3"])


if __name__ == "__main__":
    unittest.main()
