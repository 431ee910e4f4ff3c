# SPDX-License-Identifier: Apache-2.0
"""The examples of clients/python and clients/go, against a `berth serve`. Each is skipped where what it needs is missing:
httpx and attrs, or Go."""

import importlib.util
import os
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as tree

from support import ROOT, clean_environment
from test_serve import ALLOW, WEB, Server, ServeTest

CLIENTS = ROOT / "clients"
HAS_PYTHON = all(importlib.util.find_spec(name) for name in ("httpx", "attrs"))


class Clients(ServeTest):
    def run_example(self, server: Server, *command, status: int = 0) -> str:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300,
                              env={**os.environ, **clean_environment(), "BERTH_URL": server.url, "BERTH_INSECURE": "1"})
        self.assertEqual(done.returncode, status, (command, done.stdout, done.stderr))
        return done.stdout

    def gate(self, *program) -> None:
        server = Server(self, "--master", self.cluster().url, *ALLOW)
        small, large = self.file("small.yaml", WEB.replace("CPU", "100m")), self.file("large.yaml", WEB.replace("CPU", "9"))
        self.assertIn("The rollout fits.", self.run_example(server, *program, small))
        said = self.run_example(server, *program, large, status=1)
        self.assertIn("would stay pending", said)
        self.assertIn("Insufficient cpu", said)

    @unittest.skipUnless(HAS_PYTHON, "httpx and attrs are not installed")
    def test_python(self):
        self.gate(sys.executable, CLIENTS / "python/examples/rollout_gate.py")
        server = Server(self, "--master", self.cluster().url, *ALLOW)
        picture = self.folder() / "headroom.svg"
        self.run_example(server, sys.executable, CLIENTS / "python/examples/plot_headroom.py", picture, 2)
        bars = tree.parse(picture).getroot().findall("{http://www.w3.org/2000/svg}rect")
        self.assertEqual(len(bars), 1, "the cluster has one workload")

    @unittest.skipUnless(shutil.which("go"), "Go is not installed")
    def test_go(self):
        program = self.folder() / "rollout-gate"
        subprocess.run(["go", "build", "-o", program, "./examples/rollout-gate"], cwd=CLIENTS / "go", check=True, timeout=300,
                       env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod"})
        self.gate(program)


if __name__ == "__main__":
    unittest.main()
