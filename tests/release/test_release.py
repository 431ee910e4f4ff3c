# SPDX-License-Identifier: Apache-2.0
"""What ./dev release has made, as those who download it would try it. BERTH_RELEASE: its folder; BERTH_RELEASE_MAP: the
linker's map; BERTH_RELEASE_AGAIN: the command that makes the files once more, without its --out."""

import gzip
import hashlib
import json
import os
import re
import shlex
import subprocess
import tarfile
import tempfile
import time
import unittest
from pathlib import Path

FOLDER = Path(os.environ["BERTH_RELEASE"])
# All that the program may load, and the newest glibc that it may ask for.
GLIBC = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
GLIBC_VERSION_MAX = (2, 36)
IMAGE_BYTES_MAX = 40_000_000
FIRST_POD_S_MAX = 10.0


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, **more).stdout


def only(pattern):
    found = list(FOLDER.glob(pattern))
    assert len(found) == 1, (pattern, found)
    return found[0]


class Release(unittest.TestCase):
    def folder(self) -> Path:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        return Path(made.name)

    def unpacked(self) -> Path:
        to = self.folder()
        with tarfile.open(only("*_linux_*.tar.gz")) as tar:
            tar.extractall(to, filter="data")
        return next(to.iterdir())

    def in_root(self, root: Path, *command: str) -> str:
        """In a root file system of its own, without rights outside it."""
        return run("unshare", "--user", "--map-root-user", "--mount", "chroot", str(root), *command)

    def test_sums(self):
        listed = dict(reversed(line.split("  ")) for line in (FOLDER / "SHA256SUMS").read_text().splitlines())
        self.assertEqual(listed, {file.name: hashlib.sha256(file.read_bytes()).hexdigest()
                                  for file in FOLDER.iterdir() if file.name != "SHA256SUMS"})

    def test_again_it_is_the_same_to_the_byte(self):
        again = self.folder() / "again"
        run(*shlex.split(os.environ["BERTH_RELEASE_AGAIN"]), "--out", str(again))
        self.assertEqual((again / "SHA256SUMS").read_text(), (FOLDER / "SHA256SUMS").read_text())

    def test_the_program_needs_glibc_alone(self):
        berth = self.unpacked() / "berth"
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "--dynamic", str(berth))))
        self.assertLessEqual(needed, GLIBC)
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", run("readelf", "--version-info", "--wide", str(berth)))
        self.assertLessEqual(max((int(major), int(minor)) for major, minor in versions), GLIBC_VERSION_MAX)

    def test_it_runs_where_nothing_else_is(self):
        berth, root = self.unpacked() / "berth", self.folder()
        loads = re.findall(r"(/\S+) \(0x", run("ldd", str(berth)))
        for path in [*loads, str(berth)]:
            target = root / ("berth" if path == str(berth) else path.lstrip("/"))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(Path(path).read_bytes())
            target.chmod(0o755)
        self.assertEqual({file.name for file in root.rglob("*") if file.is_file()} - GLIBC, {"berth"})
        (root / "tmp").mkdir()
        self.assertRegex(self.in_root(root, "/berth", "version"), r"^berth \d+\.\d+")
        self.assertRegex(self.in_root(root, "/berth", "demo"), r"nginx-\S+ +Running +node-\d")

    def test_the_first_pod(self):
        """From the tarball to a pod with a node, on this machine."""
        begin = time.monotonic()
        self.assertRegex(run(str(self.unpacked() / "berth"), "demo"), r"nginx-\S+ +Running +node-\d")
        self.assertLess(time.monotonic() - begin, FIRST_POD_S_MAX)

    def test_the_bill_of_materials_names_what_the_linker_took(self):
        bill = json.loads(only("*.spdx.json").read_text())
        named = {package["name"] for package in bill["packages"]}
        archives = set(re.findall(r"(/usr/\S+\.a)\(", Path(os.environ["BERTH_RELEASE_MAP"]).read_text(errors="replace")))
        self.assertGreater(len(archives), 10)
        owners = run("dpkg-query", "-S", *sorted({os.path.realpath(path) for path in archives})).splitlines()
        sources = run("dpkg-query", "-W", "-f", "${source:Package}\n", *{line.split(": ")[0] for line in owners}).split()
        self.assertLessEqual(set(sources), named)
        self.assertLessEqual({"berth", "fmtlib", "spdlog", "simdjson", "openssl", "boost1.81", "protozero", "cli11"}, named)
        for package in bill["packages"]:
            self.assertTrue(package["versionInfo"] and package["licenseDeclared"] != "NOASSERTION", package)

    def test_the_debian_package(self):
        package, root = only("*.deb"), self.folder()
        self.assertEqual(run("dpkg-deb", "--field", str(package), "Depends").strip(), "libc6 (>= 2.36)")
        run("dpkg-deb", "--extract", str(package), str(root))
        self.assertRegex(run(str(root / "usr/bin/berth"), "version"), r"^berth ")
        self.assertIn("Usage: kubectl berth", run(str(root / "usr/bin/kubectl-berth"), "explain", "--help"))
        for path in ("usr/share/bash-completion/completions/berth", "usr/share/doc/berth/copyright",
                     "usr/lib/systemd/system/berth-apiserver.service", "usr/share/berth/best-price.yaml"):
            self.assertTrue((root / path).is_file(), path)
        page = gzip.decompress((root / "usr/share/man/man1/berth-explain-pod.1.gz").read_bytes()).decode()
        self.assertIn(".TH", page)
        self.assertIn("--nodes", page.replace("\\-", "-"))

    def test_the_image(self):
        with tarfile.open(only("*.oci.tar")) as image:
            manifest = json.load(image.extractfile("manifest.json"))[0]
            config = json.load(image.extractfile(manifest["Config"]))
            layers = [image.extractfile(name).read() for name in manifest["Layers"]]
        self.assertLess(sum(len(gzip.decompress(layer)) for layer in layers), IMAGE_BYTES_MAX)
        self.assertNotIn(config["config"]["User"].split(":")[0], ("", "0", "root"))
        root = self.folder()
        for layer in layers:
            subprocess.run(["tar", "xz", "-C", str(root)], input=layer, check=True)
        programs = [file.name for file in root.rglob("*") if file.is_file() and not file.is_symlink() and os.access(file, os.X_OK)]
        self.assertEqual(set(programs) - GLIBC, {"berth"})
        self.assertRegex(self.in_root(root, *config["config"]["Entrypoint"], "version"), r"^berth ")

    def test_krew_and_the_charts(self):
        digests = dict(reversed(line.split("  ")) for line in (FOLDER / "SHA256SUMS").read_text().splitlines())
        manifest, packed = only("berth.krew.yaml").read_text(), only("*_linux_*.tar.gz")
        self.assertIn(f"sha256: {digests[packed.name]}", manifest)
        self.assertIn(f"/{packed.name}\n", manifest)
        with tarfile.open(only("berth-chart-*.tgz")) as chart:
            self.assertIn("berth/Chart.yaml", chart.getnames())
            self.assertIn("berth/values.schema.json", chart.getnames())
        with tarfile.open(only("berth-kustomize-*.tar.gz")) as base:
            self.assertIn("berth/kustomization.yaml", base.getnames())


if __name__ == "__main__":
    unittest.main()
