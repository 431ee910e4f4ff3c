#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of make_site.py: what becomes of links, what is taken along, and that mkdocs.yml names pages that there are."""

import re
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import make_site as pages  # noqa: E402

REPOSITORY = {
    "README.md": "# Top\n\n[all](docs), [code](src/a.h), [far\naway](docs/deep/b.md#there) <https://x.example> [out](https://x.example)\n",
    "docs/one.md": "# One\n\n```sh\necho '[no](docs)'\n```\n[top](../README.md) [policies](../config/) [anchor](#one)\n",
    "docs/deep/b.md": "# B\n\n## There\n",
    "src/a.h": "int a;\n",
    "src/README.md": "# Source\n",
    "config/x.yaml": "x: 1\n",
    "tests/unlinked.md": "# Not a page\n",
}


class Links(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path, text in REPOSITORY.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        self.site = pages.Site(self.root, list(REPOSITORY))
        self.site.collect(("README.md", "docs/"))

    def test_pages_and_files(self) -> None:
        self.assertEqual(set(self.site.pages), {"README.md", "docs/one.md", "docs/deep/b.md", "docs/README.md", "config/README.md"})
        self.assertEqual(self.site.assets, {"src/a.h", "config/x.yaml"})

    def test_links_to_folders_lead_to_their_lists(self) -> None:
        self.assertIn("[all](docs/README.md)", self.site.pages["README.md"])
        self.assertIn("[far\naway](docs/deep/b.md#there)", self.site.pages["README.md"])
        self.assertIn("[policies](../config/README.md)", self.site.pages["docs/one.md"])
        self.assertIn("[One](one.md)", self.site.pages["docs/README.md"])
        self.assertIn("[x.yaml](x.yaml)", self.site.pages["config/README.md"])

    def test_code_stays_as_it_is(self) -> None:
        self.assertIn("echo '[no](docs)'", self.site.pages["docs/one.md"])

    def test_written(self) -> None:
        with tempfile.TemporaryDirectory() as out:
            self.site.write(Path(out))
            self.assertEqual((Path(out) / "src/a.h").read_text(), "int a;\n")
            self.assertTrue((Path(out) / "docs/deep/b.md").is_file())


class Navigation(unittest.TestCase):
    def test_every_page_is_there(self) -> None:
        files = set(pages.tracked(pages.ROOT))
        written = {pages.DEFAULTS, f"{pages.COMMANDS}/README.md", "docs/adr/README.md"}
        named = re.findall(r"([\w./-]+\.md)$", (HERE / "mkdocs.yml").read_text(), re.M)
        self.assertGreater(len(named), 30)
        self.assertEqual([name for name in named if name not in files | written], [])
        # And each page of docs, but for the records, is in it.
        pages_of_docs = {path for path in files if path.startswith("docs/") and path.endswith(".md") and "/adr/" not in path}
        self.assertEqual(pages_of_docs - set(named), set())


class Help(unittest.TestCase):
    def test_subcommands(self) -> None:
        text = "berth\n\nOptions:\n  --help  x\n\nSubcommands:\n  run             schedules\n  can-drain NODE  what\n\nExit status: 0\n"
        self.assertEqual(pages.subcommands(text), ["run"])


if __name__ == "__main__":
    unittest.main()
