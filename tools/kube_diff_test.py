#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of kube_diff.py: versions, the list of followed paths, and what it finds between two trees."""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
import kube_diff  # noqa: E402


class Versions(unittest.TestCase):
    def test_modules_beside_kubernetes_count_from_0(self):
        version = kube_diff.parse_version("1.37.2")
        self.assertEqual(version.of("k8s.io/kubernetes"), "v1.37.2")
        self.assertEqual(version.of("k8s.io/api"), "v0.37.2")

    def test_without_a_patch_the_newest_is_meant(self):
        self.assertEqual(kube_diff.parse_version("v1.38").of("k8s.io/kubernetes"), "v1.38")

    def test_pre_releases(self):
        version = kube_diff.parse_version("1.38.0-beta.0")
        self.assertEqual(version.of("k8s.io/kubernetes"), "v1.38.0-beta.0")
        self.assertEqual(version.of("k8s.io/api"), "v0.38.0-beta.0")
        self.assertEqual(kube_diff.parse_version("v1.38.0-rc.1").of("k8s.io/api"), "v0.38.0-rc.1")

    def test_what_is_no_version(self):
        for text in ("", "37", "1", "2.1", "1.37.x", "1.38-rc.1", "1.38.0-", "1.38.0-beta", "1.38.0-beta.x", "1.38.0-dev.1", "latest"):
            with self.assertRaisesRegex(kube_diff.Wrong, "should be a version such as 1.37.2 or 1.37"):
                kube_diff.parse_version(text)


class Paths(unittest.TestCase):
    def test_comments_and_empty_lines_are_skipped(self):
        read = kube_diff.parse_paths("# about\n\nk8s.io/api core/v1  pods and nodes\nk8s.io/api .   all of it\n", "list")
        self.assertEqual([(each.module, each.path, each.why) for each in read],
                         [("k8s.io/api", "core/v1", "pods and nodes"), ("k8s.io/api", ".", "all of it")])
        self.assertEqual([str(each) for each in read], ["k8s.io/api/core/v1", "k8s.io/api"])

    def test_a_bad_line_is_named(self):
        for text, what in (("k8s.io/api core/v1", "list:1: a line is"), ("\nexample.com/x a why", "list:2: example.com/x should be"),
                           ("k8s.io/api /core why", "list:1: /core should be"), ("k8s.io/api core/ why", "list:1: core/ should be"),
                           ("k8s.io/api a/../b why", "should be a path inside"),
                           ("k8s.io/api a why\nk8s.io/api a why", "list:2: k8s.io/api a is there twice"), ("# none", "list: names no path")):
            with self.assertRaises(kube_diff.Wrong) as caught:
                kube_diff.parse_paths(text, "list")
            self.assertIn(what, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))

    def test_the_real_list(self):
        followed = kube_diff.parse_paths(kube_diff.PATHS.read_text(encoding="utf-8"), "kubernetes_paths.txt")
        self.assertIn("k8s.io/kubernetes/pkg/scheduler", map(str, followed))


class Fetching(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def fetch(self, answer: dict) -> Path:
        """What a go that gives this answer leads to."""
        go = self.folder / "go"
        go.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(answer)}\nEND\nexit 1\n", encoding="utf-8")
        go.chmod(0o755)
        with mock.patch.dict(os.environ, {"PATH": f"{self.folder}:{os.environ['PATH']}"}):
            return kube_diff.fetch("k8s.io/api", "v0.38.0-beta.0")

    def test_a_module_for_a_newer_go(self):
        answer = {"Path": "k8s.io/api", "Version": "v0.38.0-beta.0", "Zip": f"{self.folder}/cache/download/k8s.io/api/@v/v0.38.0-beta.0.zip",
                  "Error": "k8s.io/api@v0.38.0-beta.0 requires go >= 1.27.0 (running go 1.26.8; GOTOOLCHAIN=local)"}
        with self.assertRaisesRegex(kube_diff.Wrong, "k8s.io/api v0.38.0-beta.0: .*requires go >= 1.27.0"):
            self.fetch(answer)  # not unpacked
        unpacked = self.folder / "k8s.io/api@v0.38.0-beta.0"
        unpacked.mkdir(parents=True)
        self.assertEqual(self.fetch(answer), unpacked)

    def test_a_version_that_is_not_there(self):
        with self.assertRaisesRegex(kube_diff.Wrong, "no matching versions"):
            self.fetch({"Path": "k8s.io/api", "Version": "v0.38", "Error": 'module k8s.io/api: no matching versions for query "v0.38"'})


class Changes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.before, self.after = Path(folder.name) / "before", Path(folder.name) / "after"

    def write(self, root: Path, files: dict[str, str]) -> None:
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")

    def test_counts_lines_and_files(self):
        self.write(self.before, {"pkg/a.go": "one\ntwo\nthree\n", "pkg/same.go": "same\n", "pkg/old.go": "old\n", "other/x.go": "1\n"})
        self.write(self.after, {"pkg/a.go": "one\n2\nthree\nfour\n", "pkg/same.go": "same\n", "pkg/new/b.go": "new\n", "other/x.go": "2\n"})
        found = kube_diff.changes(self.before, self.after, "pkg")
        self.assertEqual([(c.name, c.added, c.removed, c.is_new, c.is_gone) for c in found],
                         [("pkg/a.go", 2, 1, False, False), ("pkg/new/b.go", 1, 0, True, False), ("pkg/old.go", 0, 1, False, True)])
        followed = kube_diff.Followed("k8s.io/api", "pkg", "why")
        self.assertEqual(kube_diff.summary(followed, found).split(), "+3 -2 k8s.io/api/pkg: 3 files, 1 new, 1 gone".split())

    def test_what_decides_nothing_is_left_out(self):
        names = ("pkg/a_test.go", "pkg/testing/wrappers.go", "pkg/zz_generated.deepcopy.go", "pkg/testdata/x.yaml", "pkg/OWNERS", "pkg/README.md")
        self.write(self.before, {"pkg/a.go": "1\n"} | {name: "1\n" for name in names})
        self.write(self.after, {"pkg/a.go": "1\n"} | {name: "2\n" for name in names})
        self.assertEqual(kube_diff.changes(self.before, self.after, "pkg"), [])
        self.assertIn("unchanged", kube_diff.summary(kube_diff.Followed("k8s.io/api", "pkg", "why"), []))

    def test_a_file_and_a_whole_module(self):
        self.write(self.before, {"a.go": "1\n", "pkg/b.go": "1\n"})
        self.write(self.after, {"a.go": "2\n", "pkg/b.go": "2\n"})
        self.assertEqual([c.name for c in kube_diff.changes(self.before, self.after, "a.go")], ["a.go"])
        self.assertEqual([c.name for c in kube_diff.changes(self.before, self.after, ".")], ["a.go", "pkg/b.go"])

    def test_a_path_that_neither_version_has(self):
        self.write(self.before, {"a.go": "1\n"})
        self.write(self.after, {"a.go": "1\n"})
        with self.assertRaisesRegex(kube_diff.Wrong, "pkg: neither version has it"):
            kube_diff.changes(self.before, self.after, "pkg")


if __name__ == "__main__":
    unittest.main()
