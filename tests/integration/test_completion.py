# SPDX-License-Identifier: Apache-2.0
"""Completion in real shells on a terminal, berth as kubectl's plugin, berth help and berth version. zsh and fish are
unpacked by ./dev setup services, or installed on the machine."""

import json
import os
import pty
import re
import select
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from outside import program
from support import BerthTest, berth_binary, clean_environment, pod

TIME_LIMIT_S = 60.0
KUBECTL = shutil.which("kubectl")


def output(*command: str, environment: dict | None = None, status: int = 0) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_S, stdin=subprocess.DEVNULL,
                          env=environment or clean_environment())
    if done.returncode != status:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout if status == 0 else done.stderr


class Shell:
    """An interactive shell on a terminal of its own, ended with the test."""

    def __init__(self, test: unittest.TestCase, folder: Path, command: list[str], environment: dict, *begin: str):
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        self._seen = ""
        test.addCleanup(self._end)
        for line in begin:
            self._write(line + "\n")
        self._number = 0
        self.completed("true")  # waits until the shell reads commands

    def _write(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def _read_until(self, pattern: str) -> re.Match:
        deadline = time.monotonic() + TIME_LIMIT_S
        while not (match := re.search(pattern, self._seen)):
            left = deadline - time.monotonic()
            ready = left > 0 and select.select([self._fd], [], [], left)[0]
            if not ready:
                raise AssertionError(f"nothing like {pattern!r} came: {self._seen[-1500:]!r}")
            self._seen += os.read(self._fd, 65536).decode(errors="replace")
        self._seen = self._seen[match.end():]
        return match

    def completed(self, line: str) -> list[str]:
        """The words of the line after it was typed and TAB was pressed: the line becomes arguments of printf instead of
        being run."""
        self._number += 1
        # Control-A moves to the beginning of the line. The mark is split in two, so that the echo of the line does not
        # match it.
        self._write(line + "\t\x01printf '<%s>' 'end''" + str(self._number) + "' \r")
        words = self._read_until(rf"<end{self._number}>((?:<[^<>]*>)*)")[1]
        return re.findall(r"<([^<>]*)>", words)

    def _end(self) -> None:
        os.close(self._fd)  # SIGHUP
        deadline = time.monotonic() + 5
        while os.waitpid(self._pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(self._pid, 9)
                os.waitpid(self._pid, 0)
                return
            time.sleep(0.02)


class CompletionTest(BerthTest):
    def setUp(self):
        super().setUp()
        self.bin = self.folder()
        for name in ("berth", "kubectl-berth", "kubectl_complete-berth"):
            (self.bin / name).symlink_to(os.path.abspath(berth_binary()))
        self.work = self.folder()
        (self.work / "shape.yaml").write_text("")
        (self.work / "plugins").mkdir()
        self.environment = {**clean_environment(), "PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(self.work), "TERM": "dumb",
                            "LC_ALL": "C"}

    def cluster(self) -> str:
        """The URL of an API server with a pod in the namespace shop."""
        _, api = self.api_server(1)
        api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        api.create("/api/v1/namespaces/shop/pods", pod("checkout", "1"))
        return api.url

    def check(self, complete, server: str) -> None:
        cases = [
            ("command", "berth expl", ["berth", "explain"]),
            ("command of a command", "berth explain podg", ["berth", "explain", "podgroup"]),
            ("flag", "berth simulate --remove-n", ["berth", "simulate", "--remove-node"]),
            ("value", "berth explain pod x -o js", ["berth", "explain", "pod", "x", "-o", "json"]),
            ("value behind =", "berth explain pod --output=js", ["berth", "explain", "pod", "--output=json"]),
            ("file", "berth simulate -f sha", ["berth", "simulate", "-f", "shape.yaml"]),
            ("directory", "berth demo --plugin-dir plu", ["berth", "demo", "--plugin-dir", "plugins"]),
            ("flag of run", "berth run --kubeconf", ["berth", "run", "--kubeconfig"]),
            ("pod", f"berth explain pod --master {server} -n shop che",
             ["berth", "explain", "pod", "--master", server, "-n", "shop", "checkout"]),
            ("nothing fits", "berth nons", ["berth", "nons"]),
        ]
        for name, line, want in cases:
            with self.subTest(name):
                # zsh removes the slash when the line is accepted.
                self.assertEqual([word.rstrip("/") for word in complete(line)], want)

    def test_bash(self):
        shell = Shell(self, self.work, ["bash", "--norc", "--noprofile", "-i"], self.environment,
                      "PS1='$ '; source <(berth completion bash)")
        self.check(shell.completed, self.cluster())
        with self.subTest("the cursor in a word"):
            self.assertEqual(shell.completed("berth expl pod" + "\x1b[D" * len(" pod")), ["berth", "explain", "pod"])

    def test_zsh(self):
        zsh = program(self, "zsh", "/bin/zsh")
        root = os.environ.get("BERTH_SERVICES", "")
        begin = ["PS1='$ '; bindkey -e; setopt noautomenu"]
        if root and zsh.startswith(root):  # unpacked instead of installed
            begin.append(f"module_path=({root}/usr/lib/*/zsh/5.9); fpath=({root}/usr/share/zsh/functions/**/*(/N))")
        begin += ["autoload -Uz compinit && compinit -u -D", "source <(berth completion zsh)"]
        shell = Shell(self, self.work, [zsh, "-f", "-i"], self.environment, *begin)
        self.check(shell.completed, self.cluster())

    def test_fish(self):
        fish = program(self, "fish", "/usr/bin/fish")
        environment = dict(self.environment)
        begin = ""
        root = os.environ.get("BERTH_SERVICES", "")
        if root and fish.startswith(root):
            libraries = [str(path.parent) for path in Path(root).glob("usr/lib/*/libpcre2-32.so.0")]
            environment["LD_LIBRARY_PATH"] = ":".join(libraries)
            begin = f"set fish_function_path {root}/usr/share/fish/functions; "

        def complete(line: str) -> list[str]:
            said = subprocess.run([fish, "--no-config", "-c", begin + 'berth completion fish | source; complete -C "$argv[1]"', line], cwd=self.work,
                                  env=environment, capture_output=True, text=True, timeout=TIME_LIMIT_S, stdin=subprocess.DEVNULL)
            self.assertEqual(said.stderr, "")
            found = [answer.split("\t")[0] for answer in said.stdout.splitlines()]
            typed = line.split()
            return typed[:-1] + found if len(found) == 1 else typed + found

        self.check(complete, self.cluster())

    def test_kubectl_plugin(self):
        plugin = str(self.bin / "kubectl-berth")
        self.assertIn("Usage: kubectl berth explain pod ", output(plugin, "explain", "pod", "--help"))
        self.assertIn("  kubectl berth explain pod -n shop", output(plugin, "help", "explain"))
        self.assertIn("Usage: kubectl berth run [flags]", output(plugin, "run", "--help"))
        self.assertIn("(kubectl berth --help lists", output(plugin, "nonsense", status=2))
        complete = str(self.bin / "kubectl_complete-berth")
        self.assertEqual(output(complete, "expl"), "explain\twhy a pod is pending, or why it is where it is\n:4\n")
        self.assertEqual(output(complete, "explain", "pod", "--master", self.cluster(), "-n", "shop", ""), "checkout\n:4\n")

    @unittest.skipUnless(KUBECTL, "no kubectl here: ./dev e2e runs the same with a kubectl that it builds")
    def test_kubectl(self):
        server = self.cluster()
        said = output(KUBECTL, "berth", "explain", "pod", "checkout", "-n", "shop", "--master", server, environment=self.environment)
        self.assertIn("checkout", said)
        said = output(KUBECTL, "__complete", "berth", "explain", "pod", "--master", server, "-n", "shop", "ch", environment=self.environment)
        self.assertEqual(said.splitlines()[0], "checkout")

    def test_names_take_no_time_where_there_is_no_cluster(self):
        for server in ("http://127.0.0.1:1", "http://192.0.2.1:80"):
            began = time.monotonic()
            self.assertEqual(output(berth_binary(), "__complete", "explain", "pod", "--master", server, ""), ":4\n")
            self.assertLess(time.monotonic() - began, 10)

    def test_manual_pages(self):
        folder = self.folder() / "man1"
        output(berth_binary(), "__man", str(folder))
        pages = {page.name for page in folder.iterdir()}
        self.assertLessEqual({"berth.1", "berth-run.1", "berth-demo.1", "berth-explain-pod.1"}, pages)
        for page in sorted(folder.iterdir()) if shutil.which("groff") else []:
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", str(page)], capture_output=True, text=True, timeout=TIME_LIMIT_S)
            self.assertEqual(done.stderr, "", page.name)
        self.assertEqual(subprocess.run([berth_binary(), "__man", "/dev/null/x"], capture_output=True, timeout=TIME_LIMIT_S).returncode, 1)

    def test_help_and_version(self):
        for words in (["explain", "pod"], ["simulate"], ["run"], ["price", "set"], []):
            with self.subTest(" ".join(words)):
                self.assertEqual(output(berth_binary(), "help", *words), output(berth_binary(), *words, "--help"))
        wrong = [
            (["nonsense", "--help"], 'there is no subcommand "nonsense"; one of run, '),
            (["help", "explian"], 'there is no subcommand "explian"; the nearest is explain; one of run, '),
            (["explain", "pdo"], '"pdo" should be KIND/NAME, for example pod/web-7d5b or deployment/web, or pod or podgroup'),
            (["nonsense", "--version"], 'there is no subcommand "nonsense"'),
            (["completion", "csh"], "csh"),
            (["version", "-o", "xml"], "xml"),
        ]
        for words, want in wrong:
            with self.subTest(" ".join(words)):
                self.assertIn(want, output(berth_binary(), *words, status=2))
        self.assertIn("Usage: berth", output(berth_binary(), "-v", "4", "help"))
        version = json.loads(output(berth_binary(), "version", "-o", "json"))
        self.assertEqual(version["kubernetesVersion"], "v1.36.3")
        self.assertEqual(output(berth_binary(), "version"), f"berth {version['version']} (as kube-scheduler v1.34.4, v1.35.4, v1.36.3, v1.37.2 or v1.38.0-beta.0)\n")
        self.assertEqual(output(berth_binary(), "--version"), f"berth {version['version']}\n")


if __name__ == "__main__":
    unittest.main()
