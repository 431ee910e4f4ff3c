# SPDX-License-Identifier: Apache-2.0
"""Pages of docs whose commands are run as they are written, on the embedded cluster: docs/start-here.md. Needs a
kubectl on the machine. Also the clusters whose outputs pages show, built as the page says; and docs/events.md, which
names each event that the sources write."""

import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from support import DEADLINE_S, ROOT, BerthTest, Process, berth_binary, clean_environment, free_port, wait_until

KUBECTL = shutil.which("kubectl")
BLOCK = re.compile(r"^<!-- run by tests/integration/test_pages\.py(?:: (?P<how>[^\n]*))? -->\n```sh\n(?P<text>.*?)^```$", re.S | re.M)
# Exit statuses that are answers to a question: docs/explain.md.
SCRIPT = """set -u -o pipefail -o errtrace
trap 'status=$?; [ $status -eq 3 ] || { echo "$BASH_COMMAND: status $status" >&2; exit 1; }' ERR
"""
EVENT = re.compile(r'AddEvent\([^;]*?"(\w+)"|event\.reason = "(\w+)"|\{"reason", "(LeaderElection)"\}', re.S)
# The embedded cluster writes events as Kubernetes' own components do.
WRITES_EVENTS = ("core", "plugins", "app", "shell", "rebalance", "shadow")


class StartHere(BerthTest):
    @unittest.skipUnless(KUBECTL, "no kubectl here")
    def test_the_page(self):
        blocks = [(match["how"], match["text"]) for match in BLOCK.finditer((ROOT / "docs/start-here.md").read_text())]
        self.assertEqual([how for how, _ in blocks], ["in the background", None, None, None])
        folder = self.folder()
        # `berth` on the PATH, on a free port.
        tool = folder / "bin/berth"
        tool.parent.mkdir()
        tool.write_text(f'#!/bin/sh\nif [ "$1" = demo ]; then set -- "$@" --listen 127.0.0.1:{free_port()}; fi\n'
                        f'exec "{berth_binary()}" "$@"\n')
        tool.chmod(0o755)
        environment = {**clean_environment(), "HOME": str(folder), "PATH": f"{tool.parent}:{os.environ['PATH']}"}
        served = subprocess.Popen(["bash", "-c", "exec " + blocks[0][1]], cwd=folder, env=environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(served.wait)
        self.addCleanup(served.terminate)
        kubeconfig = folder / "berth.kubeconfig"
        wait_until("the cluster has a kubeconfig", lambda: served.poll() is None and kubeconfig.exists() and kubeconfig.stat().st_size)
        done = subprocess.run(["bash", "-c", SCRIPT + "".join(text for _, text in blocks[1:])], cwd=folder, env=environment,
                              capture_output=True, text=True, timeout=2 * DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn('deployment "web" successfully rolled out', done.stdout)
        self.assertIn("Insufficient cpu", done.stdout)  # explains the pod that is too large
        self.assertRegex(done.stdout, r"(?m)^web-\S+ +1/1 +Running")


class Clusters(BerthTest):
    """The commands of a page about its cluster produce an output of that page."""

    def repeat(self, page: str) -> None:
        text = (ROOT / "docs" / page).read_text()
        section = text.partition("\n## The cluster of this page\n")[2].partition("\n## ")[0]
        server, commands = re.findall(r"(?ms)^```sh\n(.*?)^```$", section)
        words = server.split()
        self.assertEqual(words[:2], ["berth", "apiserver"])
        process = Process(self, *words[1:], "--listen", "127.0.0.1:0")
        address = process.wait_for("out", r"http://(127\.0\.0\.1:\d+)").group(1)
        *made, asked = commands.replace("127.0.0.1:8001", address).splitlines()
        environment = {**clean_environment(), "HOME": str(self.folder()),
                       "PATH": f"{Path(berth_binary()).resolve().parent}:{os.environ['PATH']}"}

        def shell(script: str) -> subprocess.CompletedProcess:
            return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=ROOT, env=environment, capture_output=True,
                                  text=True, timeout=DEADLINE_S, check=False)
        done = shell("\n".join(made))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = shell(asked)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        self.assertIn(f"```console\n$ {asked.partition(' --master')[0]}\n{done.stdout}```", text)

    @unittest.skipUnless(KUBECTL, "no kubectl here")
    def test_explain(self):
        self.repeat("explain.md")

    @unittest.skipUnless(KUBECTL, "no kubectl here")
    def test_simulate(self):
        self.repeat("simulate.md")

    @unittest.skipUnless(KUBECTL, "no kubectl here")
    def test_capacity(self):
        self.repeat("capacity.md")

    @unittest.skipUnless(KUBECTL, "no kubectl here")
    def test_pod_groups(self):
        self.repeat("pod-groups.md")

    @unittest.skipUnless(KUBECTL, "no kubectl here")
    def test_rebalance(self):
        self.repeat("rebalance.md")


class Events(unittest.TestCase):
    def test_the_page_names_all(self):
        written = set()
        for folder in WRITES_EVENTS:
            for path in (ROOT / "src/berth" / folder).rglob("*.cc"):
                if not path.name.endswith("_test.cc"):
                    written |= {next(filter(None, match)) for match in EVENT.findall(path.read_text())}
        named = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/events.md").read_text(), re.M))
        self.assertEqual(named, written)


if __name__ == "__main__":
    unittest.main()
