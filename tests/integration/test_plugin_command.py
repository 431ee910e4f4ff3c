# SPDX-License-Identifier: Apache-2.0
"""`berth plugin`: the files that `new` writes pass `test`; results of `test` for good, bad and broken cases."""

import json
import re
import subprocess
import unittest
from pathlib import Path

from support import ROOT, BerthTest, berth_binary, clean_environment

FENCE = re.compile(r"^```yaml\n(.*?)^```", re.S | re.M)

GOOD = """plugin: NodeLabelMatch
args: {keys: [{key: disk}]}
nodes:
  - {name: fast, labels: {disk: ssd}}
  - {name: slow, labels: {disk: hdd}}
pod: {name: p, annotations: {disk: ssd}}
filter: {fast: pass, slow: refused}
placed: fast
"""


class PluginCommand(BerthTest):
    def berth(self, *arguments: str, status: int = 0, folder: Path | None = None) -> subprocess.CompletedProcess:
        done = subprocess.run([berth_binary(), "plugin", *arguments], capture_output=True, text=True, timeout=60, cwd=folder,
                              env=clean_environment())
        self.assertEqual(done.returncode, status, f"berth plugin {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done

    def test_a_new_script_passes_its_cases(self):
        folder = self.folder()
        said = self.berth("new", "ZoneSpread", "--lang", "lua", folder=folder).stdout
        self.assertIn("zone-spread/zone_spread.lua", said)
        self.assertIn("Next: berth plugin test zone-spread", said)
        for arguments, where in ((("zone-spread",), folder), ((".",), folder / "zone-spread"), (("cases/plugin.yaml",), folder / "zone-spread")):
            done = self.berth("test", *arguments, folder=where)
            self.assertRegex(done.stdout, r"(?m)^\d+ checks passed$")
            self.assertNotIn("FAIL", done.stdout)
            self.assertEqual(done.stderr, "")

    def test_new_is_careful(self):
        folder = self.folder()
        self.berth("new", "ZoneSpread", "--lang", "cpp", "--dir", "there", folder=folder)
        for arguments, error in (
                (("ZoneSpread", "--lang", "lua", "--dir", "there"), "there: is not empty: name another one with --dir"),
                (("zone-spread", "--lang", "lua"), '"zone-spread" is no name of a plugin: want 2 to 40 letters and digits, the first a '
                                                   "capital: ZoneSpread"),
                (("NodeName", "--lang", "lua"), "a plugin NodeName comes with berth: take another name")):
            done = self.berth("new", *arguments, folder=folder, status=2)
            self.assertEqual(done.stderr, f"berth: {error}\n")
        self.assertIn("--lang", self.berth("new", "ZoneSpread", "--lang", "cobol", folder=folder, status=2).stderr)

    def test_a_table(self):
        path = self.file("disk.yaml", GOOD + "message: not at all\n")
        done = self.berth("test", str(path), status=1)
        self.assertRegex(done.stdout, r"(?m)^CASE +CHECK +WANT +GOT +RESULT$")
        self.assertRegex(done.stdout, r"(?m)^disk +filter fast +pass +pass +ok$")
        self.assertRegex(done.stdout, r"(?m)^disk +message p +not at all +placed on fast +FAIL$")
        self.assertRegex(done.stdout, r"(?m)^3 checks passed, 1 failed$")

    def test_json(self):
        path = self.file("disk.yaml", GOOD)
        answer = json.loads(self.berth("test", "-o", "json", str(path)).stdout)
        self.assertEqual((answer["passed"], answer["failed"], answer["errors"]), (3, 0, []))
        self.assertEqual(answer["checks"][0], {"file": str(path), "case": "disk", "check": "filter fast", "want": "pass",
                                               "got": "pass", "ok": True})

    def test_a_broken_file_does_not_stop_the_others(self):
        folder = self.folder()
        (folder / "a.yaml").write_text("plugin: NodeLabelMatch\nnodes: [{name: a}]\npod: {name: p, colour: red}\nplaced: a\n")
        (folder / "b.yaml").write_text("{")
        (folder / "c.yaml").write_text(GOOD)
        (folder / "d.yaml").write_text(GOOD.replace("NodeLabelMatch", "NodeLabelMach"))
        (folder / "e.yaml").write_text(GOOD.replace("key: disk", "kee: disk"))
        (folder / "notes.txt").write_text("no case")
        done = self.berth("test", str(folder), status=1)
        self.assertIn("3 checks passed, 4 cases or files are broken", done.stdout)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 4, lines)
        self.assertIn("a.yaml:3: pod.colour: unknown field; known here:", lines[0])
        self.assertIn("b.yaml: ", lines[1])
        self.assertIn("NodeLabelMach", lines[2])
        self.assertIn("args.keys[0].kee: unknown field", lines[3])

    def test_nothing_to_test(self):
        folder = self.folder()
        for path, error in ((str(folder), "holds no cases"), (str(folder / "x"), "there is no such file or directory")):
            self.assertIn(error, self.berth("test", path, status=2).stderr)
        self.berth("test", status=2)
        self.berth(status=2)

    def test_a_script_that_fails(self):
        folder = self.folder()
        (folder / "bad.lua").write_text("function filter(pod, node) return node.color == 1 end\n")
        (folder / "broken.lua").write_text("function filter(pod, node\n")
        case = "plugin: Script\nargs: {{file: {0}}}\nnodes: [{{name: a}}]\npod: {{name: p}}\nfilter: {{a: pass}}\n"
        (folder / "bad.yaml").write_text(case.format("bad.lua"))
        done = self.berth("test", str(folder / "bad.yaml"), status=1)
        self.assertRegex(done.stdout + done.stderr, r'bad\.lua.*line 1|line 1.*bad\.lua')
        (folder / "broken.yaml").write_text(case.format("broken.lua"))
        self.assertIn("broken.lua", self.berth("test", str(folder / "broken.yaml"), status=1).stderr)

    def test_the_cases_of_the_documentation(self):
        """Each case that docs/plugins/testing.md shows passes."""
        blocks = FENCE.findall((ROOT / "docs/plugins/testing.md").read_text())
        self.assertEqual(len(blocks), 2)
        for block in blocks:
            self.berth("test", str(self.file("case.yaml", block)))


if __name__ == "__main__":
    unittest.main()
