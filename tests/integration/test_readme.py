# SPDX-License-Identifier: Apache-2.0
"""Every command in README.md, CONTRIBUTING.md and the pages of docs exists, with its flags. Nothing expensive is run."""

import re
import shlex
import subprocess
import unittest

from support import ROOT, BerthTest, berth_binary, clean_environment

DOCUMENTS = ("README.md", "CONTRIBUTING.md", "docs/run.md", "docs/capacity.md", "docs/explain.md", "docs/simulate.md", "docs/page.md", "docs/serve.md", *sorted(f"docs/policies/{page.name}" for page in (ROOT / "docs/policies").glob("*.md")),
             *(f"docs/plugins/{name}.md" for name in ("testing", "write-a-plugin")))
# The other pages; decision records may tell of what there was.
MORE = tuple(page for page in sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
             if page not in DOCUMENTS and not page.startswith("docs/adr/"))
FENCE = re.compile(r"^ *```([^\n`]*)\n(.*?)^ *```", re.S | re.M)
BERTH = ("berth", "build/release/bin/berth")


def command_lines(text: str) -> list[list[str]]:
    """The commands of fenced blocks, table cells and inline code, split into words; comments and continued lines are
    merged."""
    lines = []
    for language, block in FENCE.findall(text):
        if language not in ("", "sh", "bash", "console"):
            continue
        typed = block.replace("\\\n", " ").splitlines()
        if any(line.startswith("$ ") for line in typed):  # the other blocks are output
            typed = [line for line in typed if line.startswith("$ ")]
        for line in typed:
            lines += re.split(r"&&|;|\|", line.strip().removeprefix("$ ").split(" #")[0])
    outside = FENCE.sub("", text)
    for code in re.findall(r"`([^`\n]+)`", outside):
        lines += code.replace("\\|", "|").split(" | ")
    commands = []
    for line in lines:
        if not line.strip().startswith(("./dev", *BERTH)):
            continue
        words = shlex.split(re.sub(r"[\[\]]", " ", line), comments=True)
        if words and (words[0] == "./dev" or words[0] in BERTH):
            commands.append(words)
    return commands


def output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=ROOT, env=clean_environment())
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


class Documents(BerthTest):
    @classmethod
    def setUpClass(cls):
        usage = output("./dev", "help")
        cls.dev = {name for line in usage.splitlines() for name in re.findall(r"(?:^ *\./dev|\|) ([a-z0-9-]+)", line)} | {"help"}
        cls.flags = {}

    def flags_of(self, *subcommand: str) -> set[str]:
        if subcommand not in self.flags:
            self.flags[subcommand] = set(re.findall(r"(?<![\w-])--?[a-z][a-z0-9-]*", output(berth_binary(), *subcommand, "--help")))
        return self.flags[subcommand]

    def check_flags(self, words: list[str], *subcommand: str) -> None:
        for word in words:
            if word.startswith("-"):
                self.assertIn(word.split("=")[0], self.flags_of(*subcommand), f"berth {' '.join(subcommand)} --help does not know it")

    def check(self, words: list[str]) -> None:
        if words[0] == "./dev":
            if len(words) == 1:
                return
            self.assertIn(words[1], self.dev, "./dev help does not list it")
            if words[1] == "demo":
                self.check_flags(words[2:], "demo")
            return
        # Not: what completion scripts call, and the word that stands for any command.
        if len(words) == 1 or words[1].startswith("__") or words[1].isupper():
            return
        if words[1].startswith("-"):
            self.check_flags(words[1:])
            return
        subcommands = re.findall(r"(?m)^ {2}([a-z-]+) {2,}", output(berth_binary(), "--help"))
        self.assertIn(words[1], subcommands, "berth --help does not list it")
        nested = re.findall(r"(?m)^ {2}([a-z-]+) {2,}", output(berth_binary(), words[1], "--help"))
        if len(words) > 2 and words[2] in nested:
            self.check_flags(words[3:], words[1], words[2])
        else:
            self.check_flags(words[2:], words[1])

    def test_every_command_exists(self):
        for document in (*DOCUMENTS, *MORE):
            commands = command_lines((ROOT / document).read_text())
            if document in DOCUMENTS:
                self.assertTrue(commands, f"{document} has no command at all: is it read rightly?")
            for words in commands:
                with self.subTest(f"{document}: {' '.join(words)}"):
                    self.check(words)

    def test_the_two_commands_are_there(self):
        fenced = [" ".join(words) for words in command_lines((ROOT / "README.md").read_text())]
        self.assertIn("./dev demo", fenced)
        self.assertIn("./dev test", fenced)

    def test_unknown_ones_would_be_seen(self):
        """Checks that the test itself detects errors."""
        for line in ("./dev dance", "berth dance", "berth run --dance", "build/release/bin/berth demo --kubeconfig x", "berth --dance"):
            with self.subTest(line), self.assertRaises(AssertionError):
                for words in command_lines(f"```sh\n{line}\n```\n"):
                    self.check(words)

    def test_bare_dev_lists_the_same(self):
        self.assertEqual(output("./dev"), output("./dev", "help"))

    def test_unknown_dev_command(self):
        done = subprocess.run(["./dev", "dance"], capture_output=True, text=True, timeout=30, cwd=ROOT)
        self.assertEqual(done.returncode, 2)
        self.assertIn("./dev dance: no such command", done.stderr)


if __name__ == "__main__":
    unittest.main()
