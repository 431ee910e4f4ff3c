# SPDX-License-Identifier: Apache-2.0
"""Tests the output of ./dev release as users would download it. BERTH_RELEASE: its folder; BERTH_RELEASE_AGAIN: the
command that makes the files again, without its --out. A program for another architecture is run by qemu, if that is
installed."""

import gzip
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tarfile
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ["BERTH_RELEASE"])
MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
ARCHITECTURES = sorted(re.search(r"_linux_(\w+)\.tar\.gz$", file.name)[1] for file in FOLDER.glob("berth_*_linux_*.tar.gz"))
# The names that readelf uses, and the path of the loader.
ELF = {"amd64": ("X86-64", "/lib64/ld-linux-x86-64.so.2"), "arm64": ("AArch64", "/lib/ld-linux-aarch64.so.1")}
TRIPLETS = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
EMULATORS = {"arm64": "qemu-aarch64-static"}
# The libraries that the program may load, and the newest glibc version that it may require.
GLIBC = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
GLIBC_VERSION_MAX = (2, 36)
# Files that depend on more than the commit: signatures, what ran, and the bundle of all.
UNLISTED = re.compile(r".*\.sig|.*\.dsse\.json|berth-bundle-.*\.tar|berth-conformance-.*|SHA256SUMS")
IMAGE_BYTES_MAX = 40_000_000
FIRST_POD_S_MAX = 10.0
# Emulation takes many instructions for each one.
EMULATED_FIRST_POD_S_MAX = 120.0


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, **more).stdout


def only(pattern):
    found = list(FOLDER.glob(pattern))
    assert len(found) == 1, (pattern, found)
    return found[0]


class Case(unittest.TestCase):
    def folder(self) -> Path:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        return Path(made.name)


class Release(Case):
    """The folder as a whole."""

    def test_sums(self):
        listed = dict(reversed(line.split("  ")) for line in (FOLDER / "SHA256SUMS").read_text().splitlines())
        self.assertEqual(listed, {file.name: hashlib.sha256(file.read_bytes()).hexdigest()
                                  for file in FOLDER.iterdir() if not UNLISTED.fullmatch(file.name)})

    def test_again_it_is_the_same_to_the_byte(self):
        again = self.folder() / "again"
        run(*shlex.split(os.environ["BERTH_RELEASE_AGAIN"]), "--out", str(again))
        self.assertEqual((again / "SHA256SUMS").read_text(), (FOLDER / "SHA256SUMS").read_text())

    def test_the_image_index(self):
        """It has the images of the other archives, and the digest that the chart's values name."""
        packed = only("berth_*_linux.oci.tar")
        with tarfile.open(packed) as tar:
            top = json.load(tar.extractfile("index.json"))["manifests"]
            blob = tar.extractfile("blobs/sha256/" + top[0]["digest"].removeprefix("sha256:")).read()
        self.assertEqual([each["platform"]["architecture"] for each in json.loads(blob)["manifests"]], ARCHITECTURES)
        self.assertEqual(top[0]["digest"], "sha256:" + hashlib.sha256(blob).hexdigest())
        self.assertIn(f"image:\n  digest: {top[0]['digest']}\n", only("berth-digests.yaml").read_text())

    def test_signed_it_verifies_as_documented(self):
        """A copy, with a key of the test's own; each file that the pages verify is broken once."""
        if MACHINE != "amd64" or MACHINE not in ARCHITECTURES:
            self.skipTest("the pages verify and load the files for amd64")
        # Each file is hashed once for each other that is broken.
        subprocess.run(["python3", "-B", str(ROOT / "tools/release/trust_test.py"), "OwnPages"], check=True, timeout=1200,
                       env={**os.environ, "BERTH_RELEASE": str(FOLDER.resolve())})

    def test_krew_and_the_charts(self):
        digests = dict(reversed(line.split("  ")) for line in (FOLDER / "SHA256SUMS").read_text().splitlines())
        manifest = only("berth.krew.yaml").read_text()
        self.assertEqual(re.findall(r"arch: (\w+)", manifest), ARCHITECTURES)
        for architecture in ARCHITECTURES:
            packed = only(f"*_linux_{architecture}.tar.gz")
            self.assertRegex(manifest, rf"arch: {architecture}}}\n +uri: \S+/{re.escape(packed.name)}\n +sha256: {digests[packed.name]}\n")
        with tarfile.open(only("berth-chart-*.tgz")) as chart:
            self.assertIn("berth/Chart.yaml", chart.getnames())
            self.assertIn("berth/values.schema.json", chart.getnames())
        with tarfile.open(only("berth-kustomize-*.tar.gz")) as base:
            self.assertIn("berth/kustomization.yaml", base.getnames())


class OneArchitecture:
    """The files of each architecture; the classes below have its name."""
    architecture = MACHINE

    def setUp(self):
        self.foreign = self.architecture != MACHINE
        self.build = ROOT / "build" / (f"release-{self.architecture}" if self.foreign else "release")
        self.sysroot = ROOT / "build" / self.architecture / "sysroot" if self.foreign else None

    def emulator(self) -> str:
        name = EMULATORS[self.architecture]
        if path := shutil.which(name):
            return path
        self.skipTest(f"{name} is missing: no program for {self.architecture} was run (./dev setup emulator)")

    def start(self, berth: Path, *arguments: str) -> str:
        """Starts the program with the libraries of this machine, or of the sysroot."""
        emulated = [self.emulator(), "-L", str(self.sysroot)] if self.foreign else []
        return run(*emulated, str(berth), *arguments)

    def unpacked(self) -> Path:
        to = self.folder()
        with tarfile.open(only(f"*_linux_{self.architecture}.tar.gz")) as tar:
            tar.extractall(to, filter="data")
        return next(to.iterdir())

    def in_root(self, root: Path, *command: str) -> str:
        """Runs a command in its own root file system, without rights outside of it."""
        if self.foreign:
            shutil.copy(self.emulator(), root / "emulator")
            command = ("/emulator", *command)
        return run("unshare", "--user", "--map-root-user", "--mount", "chroot", str(root), *command)

    def test_the_program_needs_glibc_alone(self):
        berth = self.unpacked() / "berth"
        machine, loader = ELF[self.architecture]
        self.assertRegex(run("readelf", "--file-header", str(berth)), rf"Machine: .*{machine}")
        self.assertIn(f"interpreter: {loader}]", run("readelf", "--program-headers", str(berth)))
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "--dynamic", str(berth))))
        self.assertLessEqual(needed, GLIBC)
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", run("readelf", "--version-info", "--wide", str(berth)))
        self.assertLessEqual(max((int(major), int(minor)) for major, minor in versions), GLIBC_VERSION_MAX)

    def test_it_runs_where_nothing_else_is(self):
        berth, root = self.unpacked() / "berth", self.folder()
        if self.foreign:
            libraries = f"/lib/{TRIPLETS[self.architecture]}"
            loads = [ELF[self.architecture][1], f"{libraries}/libc.so.6", f"{libraries}/libm.so.6"]
        else:
            loads = re.findall(r"(/\S+) \(0x", run("ldd", str(berth)))
        for path in [*loads, str(berth)]:
            target = root / ("berth" if path == str(berth) else path.lstrip("/"))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(Path(path if path == str(berth) else f"{self.sysroot or ''}{path}").read_bytes())
            target.chmod(0o755)
        self.assertEqual({file.name for file in root.rglob("*") if file.is_file()} - GLIBC, {"berth"})
        (root / "tmp").mkdir()
        self.assertRegex(self.in_root(root, "/berth", "version"), r"^berth \d+\.\d+")
        self.assertRegex(self.in_root(root, "/berth", "demo"), r"nginx-\S+ +Running +node-\d")

    def test_the_first_pod(self):
        """From the tarball to a pod with a node, on this machine."""
        begin = time.monotonic()
        self.assertRegex(self.start(self.unpacked() / "berth", "demo"), r"nginx-\S+ +Running +node-\d")
        self.assertLess(time.monotonic() - begin, EMULATED_FIRST_POD_S_MAX if self.foreign else FIRST_POD_S_MAX)

    def test_documents_are_those_that_the_program_writes(self):
        """Also if a program for another architecture wrote them."""
        root, pages = self.unpacked(), self.folder()
        self.start(root / "berth", "__man", str(pages))
        self.assertEqual({page.name: page.read_text() for page in pages.iterdir()},
                         {page.name: page.read_text() for page in (root / "man/man1").iterdir()})
        self.assertEqual(self.start(root / "berth", "completion", "bash"), (root / "completions/berth.bash").read_text())

    def test_the_bill_of_materials_names_what_the_linker_took(self):
        bill = json.loads(only(f"*_linux_{self.architecture}.spdx.json").read_text())
        named = {package["name"] for package in bill["packages"]}
        text = (self.build / "static/berth.map").read_text(errors="replace")
        # Archives of the cross compiler itself are outside of the sysroot, and are left out.
        below = str(self.sysroot or "")
        archives = {os.path.realpath(path).removeprefix(below) for path in re.findall(r"(/\S+\.a)\(", text)
                    if path.startswith(f"{below}/" if below else "/usr/")}
        self.assertGreater(len(archives), 10)
        query = ["dpkg-query"] + ([f"--admindir={below}/var/lib/dpkg"] if below else [])
        owners = run(*query, "-S", *sorted(archives)).splitlines()
        sources = run(*query, "-W", "-f", "${source:Package}\n", *{line.split(": ")[0] for line in owners}).split()
        self.assertLessEqual(set(sources), named)
        self.assertLessEqual({"berth", "fmtlib", "spdlog", "simdjson", "openssl", "boost1.81", "protozero", "gcc-12", "glibc"}, named)
        for package in bill["packages"]:
            self.assertTrue(package["versionInfo"] and package["licenseDeclared"] != "NOASSERTION", package)

    def test_the_debian_package(self):
        package, root = only(f"*_{self.architecture}.deb"), self.folder()
        self.assertEqual(run("dpkg-deb", "--field", str(package), "Depends").strip(), "libc6 (>= 2.36)")
        self.assertEqual(run("dpkg-deb", "--field", str(package), "Architecture").strip(), self.architecture)
        run("dpkg-deb", "--extract", str(package), str(root))
        for path in ("usr/share/bash-completion/completions/berth", "usr/share/doc/berth/copyright",
                     "usr/lib/systemd/system/berth-apiserver.service", "usr/share/berth/best-price.yaml"):
            self.assertTrue((root / path).is_file(), path)
        page = gzip.decompress((root / "usr/share/man/man1/berth-explain-pod.1.gz").read_bytes()).decode()
        self.assertIn(".TH", page)
        self.assertIn("--nodes", page.replace("\\-", "-"))
        self.assertRegex(self.start(root / "usr/bin/berth", "version"), r"^berth ")
        self.assertIn("Usage: kubectl berth", self.start(root / "usr/bin/kubectl-berth", "explain", "--help"))

    def test_the_image(self):
        with tarfile.open(only(f"*_linux_{self.architecture}.oci.tar")) as image:
            manifest = json.load(image.extractfile("manifest.json"))[0]
            config = json.load(image.extractfile(manifest["Config"]))
            index = json.load(image.extractfile("index.json"))
            layers = [image.extractfile(name).read() for name in manifest["Layers"]]
        self.assertEqual(config["architecture"], self.architecture)
        self.assertEqual([each["platform"]["architecture"] for each in index["manifests"]], [self.architecture])
        self.assertLess(sum(len(gzip.decompress(layer)) for layer in layers), IMAGE_BYTES_MAX)
        self.assertNotIn(config["config"]["User"].split(":")[0], ("", "0", "root"))
        root = self.folder()
        for layer in layers:
            subprocess.run(["tar", "xz", "-C", str(root)], input=layer, check=True)
        programs = [file for file in root.rglob("*") if file.is_file() and not file.is_symlink() and os.access(file, os.X_OK)]
        self.assertEqual({file.name for file in programs} - GLIBC, {"berth"})
        for file in programs:
            self.assertRegex(run("readelf", "--file-header", str(file)), rf"Machine: .*{ELF[self.architecture][0]}")
        self.assertRegex(self.in_root(root, *config["config"]["Entrypoint"], "version"), r"^berth ")


for each in ARCHITECTURES:
    globals()[f"Release_{each}"] = type(f"Release_{each}", (OneArchitecture, Case), {"architecture": each})


if __name__ == "__main__":
    unittest.main()
