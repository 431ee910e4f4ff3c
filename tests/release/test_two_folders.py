# SPDX-License-Identifier: Apache-2.0
"""Two clones in two folders compile to the same bytes: one without ccache, the other like ./dev with an empty cache.
Only a small part is compiled, in which some object contains a path of the sources (BERTH_CHECK). docs/release.md tests
the whole."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["BERTH_BUILD"]).resolve()
PART = "src/berth/languages/script"


def compiled(root: Path, environment: dict) -> dict[str, bytes]:
    """The part's objects by their path in the build folder: compiled as in BUILD, with the clone at another path."""
    environment = {**{key: value for key, value in os.environ.items() if not key.startswith("CCACHE_")}, **environment}
    shutil.copytree(ROOT / "src", root / "src")
    below = BUILD.relative_to(ROOT)
    shutil.copytree(BUILD / PART, root / below / PART, ignore=shutil.ignore_patterns("*.o", "*.a"))
    objects = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        name = re.search(r" -o (\S+)", entry["command"])[1]
        if not name.startswith(f"{PART}/CMakeFiles/berth_"):
            continue
        output = root / below / name
        output.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(entry["command"].replace(str(ROOT), str(root)), shell=True, cwd=root / below, env=environment, check=True,
                       timeout=300)
        objects[name] = output.read_bytes()
    return objects


class TwoFolders(unittest.TestCase):
    def test_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            far = Path(other) / "a-folder/of-a-longer/name"
            far.mkdir(parents=True)
            plain = compiled(Path(one), {"CCACHE_DISABLE": "1"})
            cached = compiled(far, {"CCACHE_DIR": f"{other}/cache", "CCACHE_BASEDIR": str(far), "CCACHE_NOHASHDIR": "1",
                                    "CCACHE_SLOPPINESS": "pch_defines,time_macros"})
        self.assertTrue(plain)
        self.assertTrue(any(b"src/berth/" in data for data in plain.values()), "no object has a path in it: choose another part")
        for data in (*plain.values(), *cached.values()):
            self.assertFalse(one.encode() in data or other.encode() in data)
        self.assertEqual({name: hashlib.sha256(data).hexdigest() for name, data in plain.items()},
                         {name: hashlib.sha256(data).hexdigest() for name, data in cached.items()})


if __name__ == "__main__":
    unittest.main()
