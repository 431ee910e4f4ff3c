# SPDX-License-Identifier: Apache-2.0
"""docs/plugins/write-a-plugin.md: does what it says, block by block, in an empty folder.

A block with a name behind its language is that file. A block of sh is run. A block of console has commands, and what they
print: the lines that are shown have to be there, whole and in that order, however many blanks are between words. Other blocks are
to read.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import NamedTuple

from support import ROOT, BerthTest, berth_binary, clean_environment, free_port

GUIDE = ROOT / "docs/plugins/write-a-plugin.md"
FENCE = re.compile(r"^```([a-z]*)(?: (\S+))?\n(.*?)^```$", re.S | re.M)
PORT = "8001"  # the guide's port; the test uses a free one
TIMEOUT_S = 200


class Block(NamedTuple):
    line: int
    language: str
    name: str
    text: str


def blocks(text: str) -> list[Block]:
    return [Block(text.count("\n", 0, match.start()) + 1, *(group or "" for group in match.groups())) for match in FENCE.finditer(text)]


def console(text: str) -> list[tuple[str, list[str]]]:
    """Each command with the expected lines below it."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def one_blank(line: str) -> str:
    return " ".join(line.split())


@unittest.skipUnless(shutil.which("kubectl"), "no kubectl here")
class Guide(BerthTest):
    def setUp(self):
        self.home = self.folder()
        self.here = self.folder()
        # The guide's `cmake --install`, into the prefix that it names.
        subprocess.run(["cmake", "--install", os.environ["BERTH_BUILD"], "--prefix", str(self.home / "berth")], check=True,
                       capture_output=True, timeout=TIMEOUT_S)
        self.assertTrue((self.home / "berth/bin/berth").exists(), berth_binary())
        self.environment = {**clean_environment(), "HOME": str(self.home), "CXX": os.environ["BERTH_CXX"], "KUBECONFIG": os.devnull,
                            "PATH": f"{self.home / 'berth/bin'}:{os.environ['PATH']}"}
        self.port = str(free_port())

    def run_shell(self, block: Block, command: str) -> str:
        """The command's output. Processes that it leaves behind are ended with the test."""
        text = command.replace(":" + PORT, ":" + self.port)
        # A file instead of a pipe, which background processes would keep open.
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", text], cwd=self.here, env=self.environment,
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            self.addCleanup(self.end, process.pid)
            process.wait(TIMEOUT_S)
            output.seek(0)
            said = output.read()
        logs = "".join(f"\n{log.name}: {log.read_text()[-2000:]}" for log in sorted(self.here.glob("*.log")))
        self.assertEqual(process.returncode, 0, f"{GUIDE.name}:{block.line}: {command}\n{said}{logs}")
        return said

    @staticmethod
    def end(group: int) -> None:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def test_every_block(self):
        found = blocks(GUIDE.read_text())
        kinds = {block.language for block in found}
        self.assertLessEqual({"sh", "console", "lua", "yaml"}, kinds, "is it read rightly?")
        for block in found:
            with self.subTest(f"{GUIDE.name}:{block.line}"):
                if block.name:
                    (self.here / block.name).write_text(block.text)
                elif block.language == "sh":
                    self.run_shell(block, block.text)
                elif block.language == "console":
                    for command, wanted in console(block.text):
                        lines = iter(one_blank(line) for line in self.run_shell(block, command).splitlines())
                        for want in map(one_blank, wanted):
                            self.assertTrue(any(line == want for line in lines), f"{command} does not show {want!r}")

    def test_the_demo_shows_what_the_guide_says(self):
        """Six pods, all on the second node."""
        for block in blocks(GUIDE.read_text()):
            if block.name in ("tidy.lua", "tidy.yaml"):
                (self.here / block.name).write_text(block.text)
        said = self.run_shell(Block(0, "sh", "", ""), "berth demo --config tidy.yaml --replicas 6")
        # The pods are printed again at each change.
        last = dict(re.findall(r"(?m)^(nginx-\S+) +Running +(\S+)", said))
        self.assertEqual(list(last.values()), ["node-2"] * 6, said)


if __name__ == "__main__":
    unittest.main()
