#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of find_test.py, on a small tree."""

import tempfile
import unittest
from pathlib import Path

import find_test


class Find(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.write("src/berth/base/CMakeLists.txt", "berth_test(base_test\n  SOURCES backoff_test.cc text_test.cc\n  DEPS x)")
        self.write("src/berth/queue/CMakeLists.txt", "berth_test(queue_test SOURCES queue_test.cc DEPS x)\n"
                   "berth_test(heap_test SOURCES heap_test.cc DEPS x)")
        for source in ("base/backoff.h", "base/text.cc", "queue/backoff.cc", "queue/queue.cc"):
            self.write("src/berth/" + source, "")
        for test in ("base/backoff_test.cc", "base/text_test.cc", "queue/queue_test.cc", "queue/heap_test.cc"):
            self.write("src/berth/" + test, "")

    def tearDown(self) -> None:
        self.folder.cleanup()

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def test_names_of_programs_sources_and_tests(self) -> None:
        for name, program in [("heap_test", "heap_test"), ("text.cc", "base_test"), ("text", "base_test"),
                              ("text_test.cc", "base_test"), ("src/berth/queue/queue.cc", "queue_test"),
                              ("backoff.h", "base_test")]:
            with self.subTest(name=name):
                self.assertEqual(find_test.find(self.root, name), [program])

    def test_a_path_distinguishes_sources_of_one_name(self) -> None:
        # It has no test of its own: those of its folder.
        self.assertEqual(find_test.find(self.root, "src/berth/queue/backoff.cc"), ["queue_test", "heap_test"])

    def test_what_is_not_there(self) -> None:
        self.assertEqual(find_test.find(self.root, "nothing.cc"), [])


if __name__ == "__main__":
    unittest.main()
