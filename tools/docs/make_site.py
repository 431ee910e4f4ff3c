#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sources of the documentation's site, from the repository's own pages.

  make_site.py BERTH --out FOLDER

The pages are plain Markdown that reads well where the repository is browsed, with links between folders. For the site they
are copied into FOLDER/pages, at the paths that they have here, with
  * every file that they link to; a page that is linked to is a page of the site,
  * a list of its files for each folder that they link to and that has no README.md,
  * the reference that BERTH writes: a page for each command (its --help), and the configuration with all its defaults.
FOLDER/mkdocs.yml is mkdocs.yml beside this file; `mkdocs build --strict` then finds each link that leads nowhere.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))
from check_docs import FENCE, LINK, REFERENCE  # noqa: E402

# Where the closure over links begins.
FIRST = ("README.md", "SECURITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "GOVERNANCE.md",
         "MAINTAINERS.md", "CODE_OF_CONDUCT.md", "ADOPTERS.md", "docs/")
COMMANDS = "docs/reference/commands"
DEFAULTS = "docs/reference/configuration.md"
OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#", re.I)
# mkdocs reads what stands between braces and percent signs as it is; nothing of ours does.
COMMAND_LINE = re.compile(r"^  ([a-z][a-z-]*)  +\S", re.M)


def output_of(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        raise SystemExit(f"site: {' '.join(command)} ends with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def tracked(root: Path) -> list[str]:
    """The repository's files; those that git does not know yet, too, but for those that it ignores."""
    return output_of("git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard").split("\n")[:-1]


class Site:
    """Collects pages and what they link to."""

    def __init__(self, root: Path, files: list[str]) -> None:
        self.root = root
        self.files = {path for path in files if (root / path).is_file()}
        self.folders = {str(parent) for path in self.files for parent in Path(path).parents if str(parent) != "."}
        self.pages: dict[str, str] = {}
        self.assets: set[str] = set()

    def collect(self, first: tuple[str, ...]) -> None:
        waiting = sorted(path for path in self.files if path.endswith(".md") and path.startswith(first))
        while waiting:
            path = waiting.pop()
            if path in self.pages:
                continue
            self.pages[path], targets = self.rewrite(path, (self.root / path).read_text(encoding="utf-8"))
            for target in targets:
                if target.endswith(".md") and target in self.files:
                    waiting.append(target)
                elif target in self.files:
                    self.assets.add(target)
                else:
                    self.list_folder(target)

    def rewrite(self, path: str, text: str) -> tuple[str, list[str]]:
        """The page with links to folders made links to their lists, and what it links to, from the root."""
        targets: list[str] = []

        def linked(match: re.Match) -> str:
            where, mark, anchor = match.group(1).partition("#")
            if OUTSIDE.match(match.group(1)) or not where:
                return match.group(0)
            goal = os.path.normpath(os.path.join(os.path.dirname(path), where))
            if goal in self.folders:
                goal += "/README.md"
                where = where.rstrip("/") + "/README.md"
            targets.append(goal)
            begin, end = match.start(1) - match.start(0), match.end(1) - match.start(0)
            return match.group(0)[:begin] + where + mark + anchor + match.group(0)[end:]

        # Links outside of code blocks; one may go over two lines.
        parts, fence, prose = [], None, []

        def flush() -> None:
            parts.append(REFERENCE.sub(linked, LINK.sub(linked, "".join(prose))))
            prose.clear()

        for line in text.splitlines(keepends=True):
            mark = FENCE.match(line)
            if mark:
                if fence is None:
                    flush()
                    fence = mark.group(1)
                elif fence == mark.group(1):
                    fence = None
                parts.append(line)
            elif fence is None:
                prose.append(line)
            else:
                parts.append(line)
        flush()
        return "".join(parts), targets

    def list_folder(self, page: str) -> None:
        """A page for a folder that has no README.md."""
        folder = os.path.dirname(page)
        if page in self.pages or folder not in self.folders:
            return
        names = sorted(os.path.relpath(path, folder) for path in self.files if path.startswith(folder + "/"))
        lines = [f"# {folder}\n"]
        for name in names:
            if name.endswith(".md"):
                title = re.search(r"^# (.*)$", (self.root / folder / name).read_text(encoding="utf-8"), re.M)
                lines.append(f"- [{title.group(1) if title else name}]({name})")
                if f"{folder}/{name}" not in self.pages:
                    text, targets = self.rewrite(f"{folder}/{name}", (self.root / folder / name).read_text(encoding="utf-8"))
                    self.pages[f"{folder}/{name}"] = text
                    self.assets |= {target for target in targets if target in self.files and not target.endswith(".md")}
            else:
                lines.append(f"- [{name}]({name})")
                self.assets.add(f"{folder}/{name}")
        self.pages[page] = "\n".join(lines) + "\n"

    def add(self, path: str, text: str) -> None:
        self.pages[path] = text

    def write(self, out: Path) -> None:
        for path, text in self.pages.items():
            target = out / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        for path in self.assets:
            target = out / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.root / path, target)


def subcommands(text: str) -> list[str]:
    """The names below "Subcommands:" in a --help."""
    _, _, below = text.partition("Subcommands:\n")
    return COMMAND_LINE.findall(below.partition("\n\n")[0])


def command_pages(berth: str) -> dict[str, str]:
    """The --help of each command, by the page's path, and their list."""
    top = output_of(berth, "--help")
    pages, rows = {}, []
    waiting = [[name] for name in subcommands(top) if name != "help"]  # which shows the same again
    if not waiting:
        raise SystemExit(f"site: {berth} --help lists no subcommand")
    while waiting:
        command = waiting.pop(0)
        text = output_of(berth, *command, "--help")
        name = "-".join(command)
        pages[f"{COMMANDS}/{name}.md"] = f"# berth {' '.join(command)}\n\n```text\n{text.rstrip()}\n```\n"
        rows.append(f"- [berth {' '.join(command)}]({name}.md)")
        waiting = [[*command, child] for child in subcommands(text)] + waiting
    pages[f"{COMMANDS}/README.md"] = ("# Commands\n\nWhat `--help` says, of this version; `man berth-COMMAND` has the same.\n\n"
                                     + "\n".join(rows) + f"\n\n```text\n{top.rstrip()}\n```\n")
    return pages


def defaults_page(berth: str, out: Path) -> str:
    written = out / "defaults.yaml"
    output_of(berth, "run", "--master", "http://127.0.0.1:1", "--write-config-to", str(written))  # nobody is asked
    text = written.read_text(encoding="utf-8").rstrip()
    written.unlink()
    return ("# Configuration, with all defaults\n\n`berth run --write-config-to FILE` writes the configuration that holds, with "
            "all that the file leaves out. Without a file and flags it is this, a KubeSchedulerConfiguration v1 as "
            "kube-scheduler has it. [Feature gates and flags](../flags.md); arguments of berth's own plugins: "
            f"[policies](../policies/README.md).\n\n```yaml\n{text}\n```\n")


def main() -> int:
    parser = argparse.ArgumentParser(description="The sources of the documentation's site")
    parser.add_argument("berth")
    parser.add_argument("--out", required=True, type=Path)
    options = parser.parse_args()
    pages = options.out / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    pages.mkdir(parents=True)
    site = Site(ROOT, tracked(ROOT))
    site.collect(FIRST)
    for path, text in command_pages(options.berth).items():
        site.add(path, text)
    site.add(DEFAULTS, defaults_page(options.berth, options.out))
    site.write(pages)
    shutil.copyfile(HERE / "mkdocs.yml", options.out / "mkdocs.yml")
    print(f"site: {len(site.pages)} pages, {len(site.assets)} files that they link to")
    return 0


if __name__ == "__main__":
    sys.exit(main())
