#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signs a small pretend release, verifies it as docs/verify.md and docs/air-gapped.md say, and then breaks it.

With BERTH_RELEASE, a folder that ./dev release made, its files are signed and verified as well, in a copy.
"""

import base64
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import conformance_report  # noqa: E402
import image_index  # noqa: E402
import page_packages  # noqa: E402
import sign  # noqa: E402
import vex  # noqa: E402

VERSION = "9.9.9"
VERIFY = HERE / "verify.sh"


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **more)


def image_of(architecture, program):
    """An archive as tools/image.py writes it, with a program of some bytes."""
    layer = program.encode()
    config = image_index.written({"architecture": architecture, "os": "linux"})
    parts = [image_index.descriptor(config, "application/vnd.oci.image.config.v1+json"),
             image_index.descriptor(layer, "application/vnd.oci.image.layer.v1.tar+gzip")]
    manifest = image_index.written({"schemaVersion": 2, "mediaType": image_index.MANIFEST, "config": parts[0], "layers": parts[1:]})
    top = image_index.descriptor(manifest, image_index.MANIFEST) | {"platform": {"architecture": architecture, "os": "linux"}}
    files = {"index.json": image_index.written({"manifests": [top]})}
    for data in (config, layer, manifest):
        files[image_index.blob_path(image_index.descriptor(data, "")["digest"])] = data
    return tar_of(files)


def tar_of(files):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return raw.getvalue()


def members(path):
    with tarfile.open(path) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}


def write_sums(folder):
    (folder / "SHA256SUMS").write_text("".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(folder.iterdir())
        if not sign.UNLISTED.fullmatch(file.name) and file.name != "SHA256SUMS"))


def pretend_release(folder):
    """Files with the names of a release, for two architectures."""
    for architecture in ("amd64", "arm64"):
        name = f"berth_{VERSION}_linux_{architecture}"
        (folder / f"{name}.tar.gz").write_bytes(f"program for {architecture}".encode())
        (folder / f"{name}.oci.tar").write_bytes(image_of(architecture, f"program for {architecture}"))
        (folder / f"{name}.spdx.json").write_text(json.dumps({"packages": [
            {"SPDXID": "SPDXRef-berth", "name": "berth", "versionInfo": VERSION},
            {"SPDXID": "SPDXRef-linux", "name": "linux", "versionInfo": "6.1", "externalRefs": [
                {"referenceType": "purl", "referenceLocator": "pkg:deb/debian/linux@6.1?arch=source"}]},
            {"SPDXID": "SPDXRef-openssl", "name": "openssl", "versionInfo": "3.0.1-1", "externalRefs": [
                {"referenceType": "purl", "referenceLocator": "pkg:deb/debian/openssl@3.0.1-1?arch=source"}]}]}))
    chart = folder / f"berth-chart-{VERSION}.tgz"
    chart.write_bytes(gzip.compress(
        tar_of({"berth/Chart.yaml": f"apiVersion: v2\nname: berth\nversion: {VERSION}\n".encode()}), mtime=0))
    image = image_index.make_index(sorted(folder.glob("*_linux_*.oci.tar")), VERSION, folder / f"berth_{VERSION}_linux.oci.tar")
    packed = image_index.make_chart(chart, folder / f"berth-chart-{VERSION}.oci.tar")
    (folder / "berth-digests.yaml").write_text(f"# version: {VERSION}\n# image: {image}\n# chart: {packed}\nimage:\n  digest: {image}\n")
    for script in ("verify.sh", "load.sh"):
        shutil.copy(HERE / script, folder / script)
    write_sums(folder)
    (folder / f"berth-conformance-{VERSION}.md").write_text("# What ran\n")


def make_key(path):
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path], check=True)
    path.chmod(0o600)
    subprocess.run(["openssl", "pkey", "-in", path, "-pubout", "-out", path.with_suffix(".pub")], check=True)
    return path


def repository_in(folder):
    """A repository with one commit, and with what sign.py reads of it."""
    (folder / "tools").mkdir(parents=True)
    (folder / "tools/packages.txt").write_text("[build]\nopenssl # signs\n")
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.com"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *command], check=True)
    return folder


def blocks_of(page, test):
    """The commands of a page that this test runs, a block a text."""
    text = (ROOT / page).read_text()
    found = re.findall(rf"<!-- run by {re.escape(test)} -->\n```sh\n(.*?)```", text, re.S)
    assert found, page
    return found


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        top = Path(cls.scratch.name)
        cls.repository = repository_in(top / "repository")
        cls.key, cls.other = make_key(top / "berth-release.pem"), make_key(top / "other.pem")
        cls.signed = top / "signed"
        cls.signed.mkdir()
        pretend_release(cls.signed)
        sign.sign(cls.signed, sign.Key(cls.key), cls.repository)

    def folder(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        return Path(made.name)

    def copy(self):
        to = self.folder() / "release"
        shutil.copytree(self.signed, to)
        return to

    def verify(self, folder, *files, key=None):
        return run("sh", str(VERIFY), "--key", str((key or self.key).with_suffix(".pub")), str(folder), *files)

    def assert_refused(self, done, text):
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, f"^(verify|load): .*{text}")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


class Signatures(Case):
    def test_a_release_as_it_was_signed(self):
        done = self.verify(self.signed)
        self.assertEqual(done.returncode, 0, done.stderr)
        commit = run("git", "-C", str(self.repository), "rev-parse", "HEAD").stdout.strip()
        self.assertRegex(done.stdout, f"^verified: 13 files of commit {commit}, signed by the key sha256:[0-9a-f]{{64}}$")

    def test_a_flipped_byte_in_any_file(self):
        for file in sorted(self.signed.iterdir()):
            whole = file.read_bytes()
            for position in (len(whole) // 2, len(whole) - 1):
                with self.subTest(file=file.name, position=position):
                    changed = bytearray(whole)
                    changed[position] ^= 1
                    file.write_bytes(changed)
                    try:
                        self.assert_refused(self.verify(self.signed), "")
                    finally:
                        file.write_bytes(whole)
        self.assertEqual(self.verify(self.signed).returncode, 0)

    def test_a_missing_file(self):
        # The bundle may be left out of what is downloaded, with its signature.
        for file in sorted(self.signed.iterdir()):
            with self.subTest(file=file.name):
                aside = self.signed.with_name("aside")
                file.rename(aside)
                try:
                    if file.name == f"berth-bundle-{VERSION}.tar":
                        self.assert_refused(self.verify(self.signed), "is missing, of which there is a signature")
                    else:
                        self.assert_refused(self.verify(self.signed), "missing|want one file")
                finally:
                    aside.rename(file)

    def test_another_key(self):
        self.assert_refused(self.verify(self.signed, key=self.other), "SHA256SUMS is not what the holder of this key signed")
        # One file that somebody else signed, in a folder that is right otherwise.
        folder = self.copy()
        file = folder / "load.sh"
        (folder / "load.sh.sig").write_text(sign.Key(self.other).sign(file.read_bytes()))
        self.assert_refused(self.verify(folder), "load.sh is not what the holder of this key signed")

    def test_a_file_that_nobody_signed(self):
        folder = self.copy()
        (folder / "more.sh").write_text("echo\n")
        self.assert_refused(self.verify(folder), "more.sh is not of this release")

    def test_a_file_of_another_release_under_this_name(self):
        folder, file = self.copy(), f"berth_{VERSION}_linux_arm64.tar.gz"
        for end in ("", ".sig"):
            shutil.copy(folder / f"berth_{VERSION}_linux_amd64.tar.gz{end}", folder / f"{file}{end}")
        self.assert_refused(self.verify(folder), f"{file} has another SHA-256")
        self.assert_refused(self.verify(folder, file), f"{file} has another SHA-256")

    def test_provenance_of_another_release(self):
        """Signed by the same key, but it does not name these files."""
        folder, other = self.copy(), self.folder()
        pretend_release(other)
        (other / "verify.sh").write_text("another\n")
        write_sums(other)
        sign.sign(other, sign.Key(self.key), self.repository)
        for end in ("", ".sig"):
            name = f"berth_{VERSION}.provenance.dsse.json{end}"
            shutil.copy(other / name, folder / name)
        self.assert_refused(self.verify(folder), "verify.sh is not in berth_")

    def test_an_envelope_whose_statement_another_key_signed(self):
        folder = self.copy()
        path = folder / f"berth_{VERSION}.provenance.dsse.json"
        payload = base64.b64decode(json.loads(path.read_text())["payload"])
        path.write_text(sign.envelope(json.loads(payload), sign.Key(self.other)))
        path.with_name(f"{path.name}.sig").write_text(sign.Key(self.key).sign(path.read_bytes()))
        self.assert_refused(self.verify(folder), "its statement is not what the holder of this key signed")

    def test_single_files(self):
        folder = self.copy()
        (folder / "berth-digests.yaml").unlink()  # of others nothing is asked
        self.assertEqual(self.verify(folder, f"berth-chart-{VERSION}.tgz").stdout, f"verified: berth-chart-{VERSION}.tgz\n")
        self.assert_refused(self.verify(folder, "berth-digests.yaml"), "berth-digests.yaml is missing")
        self.assert_refused(self.verify(folder, "nothing"), "nothing is not in SHA256SUMS")

    def test_the_statement(self):
        envelope = json.loads((self.signed / f"berth_{VERSION}.provenance.dsse.json").read_text())
        statement = json.loads(base64.b64decode(envelope["payload"]))
        self.assertEqual((statement["_type"], statement["predicateType"]),
                         ("https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"))
        self.assertEqual({each["name"]: each["digest"]["sha256"] for each in statement["subject"]},
                         dict(reversed(line.split("  ")) for line in (self.signed / "SHA256SUMS").read_text().splitlines()))
        definition = statement["predicate"]["buildDefinition"]
        self.assertEqual(definition["externalParameters"],
                         {"command": "./dev release", "architectures": ["amd64", "arm64"], "version": VERSION})
        uris = [each["uri"] for each in definition["resolvedDependencies"]]
        self.assertIn("pkg:deb/debian/openssl@3.0.1-1?arch=source", uris)
        self.assertRegex("\n".join(uris), r"pkg:deb/debian/openssl@\S+\?arch=\w+64")
        self.assertEqual(statement["predicate"]["runDetails"]["builder"]["id"], sign.OWN_MACHINE)
        self.assertEqual([each["name"] for each in statement["predicate"]["runDetails"]["byproducts"]],
                         [f"berth-conformance-{VERSION}.md"])


class Signing(Case):
    def refused(self, text, *arguments):
        done = run(sys.executable, "-B", str(HERE / "sign.py"), *map(str, arguments), "--repository", str(self.repository))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, f"^sign: .*{text}.*\n$")

    def release(self):
        folder = self.folder()
        pretend_release(folder)
        return folder

    def test_again(self):
        folder = self.copy()
        done = run(sys.executable, "-B", str(HERE / "sign.py"), str(folder), "--key", str(self.other), "--repository", str(self.repository))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.verify(folder, key=self.other).returncode, 0)
        self.assert_refused(self.verify(folder), "")

    def test_changes_that_are_not_committed(self):
        file = self.repository / "tools/packages.txt"
        text = file.read_text()
        file.write_text(text + "more\n")
        try:
            self.refused("tools/packages.txt is not committed as it is", self.release(), "--key", self.key)
            self.refused("tools/packages.txt is not committed as it is", "--key", self.key)
        finally:
            file.write_text(text)

    def test_whether_it_could(self):
        done = run(sys.executable, "-B", str(HERE / "sign.py"), "--key", str(self.key), "--repository", str(self.repository))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_files_that_differ_from_the_sums(self):
        folder = self.release()
        (folder / "more").write_text("")
        self.refused("more: SHA256SUMS does not list it", folder, "--key", self.key)
        (folder / "more").unlink()
        (folder / "load.sh").write_text("")
        self.refused("load.sh is not what SHA256SUMS lists", folder, "--key", self.key)
        (folder / "load.sh").unlink()
        self.refused("load.sh is missing", folder, "--key", self.key)

    def test_keys_that_will_not_do(self):
        folder, top = self.release(), self.folder()
        self.refused("No such file", folder, "--key", top / "none")
        key = make_key(top / "open.pem")
        key.chmod(0o644)
        self.refused("chmod 600", folder, "--key", key)
        (top / "rsa.pem").touch(mode=0o600)
        subprocess.run(["openssl", "genrsa", "-out", top / "rsa.pem", "2048"], check=True, capture_output=True)
        self.refused("want an ECDSA key on P-256", folder, "--key", top / "rsa.pem")
        (top / "text.pem").touch(mode=0o600)
        self.refused("openssl: ", folder, "--key", top / "text.pem")


class Bundle(Case):
    def unpacked(self):
        to = self.folder()
        with tarfile.open(self.signed / f"berth-bundle-{VERSION}.tar") as tar:
            tar.extractall(to, filter="data")
        return to / f"berth-bundle-{VERSION}"

    def load(self, folder, *arguments, key=None, skopeo_digest=None):
        """load.sh with programs that write down how they were called; skopeo answers with what it was given."""
        programs, called = self.folder(), self.folder() / "called"
        called.touch()
        for name in ("ctr", "docker", "podman"):
            (programs / name).write_text(f'#!/bin/sh\necho {name} "$@" >>{called}\n')
        (programs / "skopeo").write_text(f"""#!/bin/sh
if [ "$1" = copy ]; then
  echo skopeo "$@" >>{called}
  archive=$(echo "$4" | sed s/^oci-archive://)
  blob=$(tar xOf "$archive" index.json | sed 's/.*"digest": "sha256:\\([0-9a-f]*\\)".*/\\1/')
  tar xOf "$archive" "blobs/sha256/$blob" >{programs}/manifest
else
  cat {programs}/manifest
  {'echo changed' if skopeo_digest else ':'}
fi
""")
        for program in programs.iterdir():
            program.chmod(0o755)
        done = run("sh", str(folder / "load.sh"), "--key", str((key or self.key).with_suffix(".pub")), *arguments,
                   env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"})
        return done, called.read_text().splitlines()

    def test_it_has_every_file(self):
        self.assertEqual({file.name for file in self.unpacked().iterdir()},
                         {file.name for file in self.signed.iterdir() if not file.name.startswith("berth-bundle-")})

    def test_into_a_registry(self):
        folder = self.unpacked()
        done, called = self.load(folder, "--registry", "registry.example.com/platform/")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(called, [
            f"skopeo copy --all --preserve-digests oci-archive:{folder}/berth_{VERSION}_linux.oci.tar "
            f"docker://registry.example.com/platform/berth:{VERSION}",
            f"skopeo copy --all --preserve-digests oci-archive:{folder}/berth-chart-{VERSION}.oci.tar "
            f"docker://registry.example.com/platform/charts/berth:{VERSION}"])
        self.assertRegex(done.stdout, r"\nhelm install berth oci://registry.example.com/platform/charts/berth@sha256:[0-9a-f]{64} ")

    def test_a_registry_that_changes_what_it_gets(self):
        done, _ = self.load(self.unpacked(), "--registry", "registry.example.com", skopeo_digest="another")
        self.assert_refused(done, "in the registry, and was signed as")

    def test_into_engines(self):
        folder = self.unpacked()
        machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
        image = f"{folder}/berth_{VERSION}_linux_{machine}.oci.tar"
        for engine, want in {"ctr": f"ctr --namespace k8s.io images import {image}", "docker": f"docker load --input {image}",
                             "podman": f"podman load --input {image}"}.items():
            done, called = self.load(folder, "--engine", engine)
            self.assertEqual((done.returncode, called), (0, [want]), done.stderr)

    def test_nothing_is_loaded_of_a_broken_bundle(self):
        folder = self.unpacked()
        for break_it, text in ((lambda: (folder / f"berth-chart-{VERSION}.tgz").unlink(), f"berth-chart-{VERSION}.tgz is missing"),
                               (lambda: (folder / "SHA256SUMS.sig").unlink(), "SHA256SUMS has no signature")):
            break_it()
            done, called = self.load(folder, "--engine", "ctr")
            self.assert_refused(done, text)
            self.assertEqual(called, [])
        done, called = self.load(self.unpacked(), "--engine", "ctr", key=self.other)
        self.assert_refused(done, "SHA256SUMS is not what the holder of this key signed")
        self.assertEqual(called, [])

    def test_arguments(self):
        for arguments in ((), ("--engine",), ("--engine", "ctr", "--registry", "r"), ("--engine", "rkt"), ("--what", "x")):
            self.assertEqual(self.load(self.unpacked(), *arguments)[0].returncode, 2, arguments)


class Images(Case):
    def test_the_index(self):
        files = members(self.signed / f"berth_{VERSION}_linux.oci.tar")
        top = json.loads(files["index.json"])["manifests"]
        self.assertEqual([each["mediaType"] for each in top], [image_index.INDEX])
        index = json.loads(files[image_index.blob_path(top[0]["digest"])])
        self.assertEqual([each["platform"]["architecture"] for each in index["manifests"]], ["amd64", "arm64"])
        for each in index["manifests"]:
            one = members(self.signed / f"berth_{VERSION}_linux_{each['platform']['architecture']}.oci.tar")
            self.assertEqual(each["digest"], json.loads(one["index.json"])["manifests"][0]["digest"])
            self.assertLessEqual({name for name in one if name.startswith("blobs/")}, set(files))
        for name, data in files.items():
            if name.startswith("blobs/"):
                self.assertEqual(name, f"blobs/sha256/{hashlib.sha256(data).hexdigest()}")

    def test_the_same_twice_in_any_order(self):
        out, images = self.folder(), sorted(self.signed.glob("*_linux_*.oci.tar"))
        one = image_index.make_index(images, VERSION, out / "one")
        self.assertEqual(one, image_index.make_index(images[::-1], VERSION, out / "other"))
        self.assertEqual((out / "one").read_bytes(), (out / "other").read_bytes())
        self.assertIn(f"# image: {one}\n", (self.signed / "berth-digests.yaml").read_text())

    def test_the_chart(self):
        files = members(self.signed / f"berth-chart-{VERSION}.oci.tar")
        manifest = json.loads(files[image_index.blob_path(json.loads(files["index.json"])["manifests"][0]["digest"])])
        self.assertEqual(json.loads(files[image_index.blob_path(manifest["config"]["digest"])]),
                         {"apiVersion": "v2", "name": "berth", "version": VERSION})
        self.assertEqual(files[image_index.blob_path(manifest["layers"][0]["digest"])],
                         (self.signed / f"berth-chart-{VERSION}.tgz").read_bytes())

    def test_bad_input(self):
        folder = self.folder()
        one = folder / "one.oci.tar"
        files = members(self.signed / f"berth_{VERSION}_linux_amd64.oci.tar")
        largest = next(name for name, data in files.items() if data == b"program for amd64")
        for changed, text in (({**files, largest: b"another"}, "not what its digest says"),
                              ({name: data for name, data in files.items() if name != largest}, "missing"),
                              ({"x": b""}, "not an OCI archive")):
            one.write_bytes(tar_of(changed))
            with self.assertRaisesRegex(image_index.Refused, text):
                image_index.make_index([one], VERSION, folder / "out")
        with self.assertRaisesRegex(image_index.Refused, "a second image for amd64"):
            image_index.make_index([self.signed / f"berth_{VERSION}_linux_amd64.oci.tar"] * 2, VERSION, folder / "out")
        one.write_bytes(b"no archive")
        with self.assertRaisesRegex(image_index.Refused, "not a chart"):
            image_index.make_chart(one, folder / "out")


class PagePackages(unittest.TestCase):
    manifest = {"dependencies": {"esbuild": "1.0.0", "preact": "2.0.0"}}
    lock = {"packages": {"node_modules/esbuild": {"version": "1.0.0", "integrity": "sha512-AAA=", "license": "MIT", "dependencies": {"x": "1"}},
                         "node_modules/preact": {"version": "2.0.0", "integrity": "sha512-/w==", "license": "MIT"}}}

    def shipped(self, **preact):
        lock = json.loads(json.dumps(self.lock))
        lock["packages"]["node_modules/preact"] |= preact
        return page_packages.shipped(json.dumps(self.manifest), json.dumps(lock))

    def test_what_is_in_the_page(self):
        self.assertEqual(self.shipped(), {"preact": {"version": "2.0.0", "licence": "MIT", "sha512": "ff", "url": "pkg:npm/preact@2.0.0"}})

    def test_the_page_of_this_repository(self):
        self.assertIn("preact", page_packages.shipped((ROOT / "web/package.json").read_text(), (ROOT / "web/package-lock.json").read_text()))

    def test_bad_input(self):
        for change, text in (({"version": "2.0.1"}, "does not have preact 2.0.0"), ({"integrity": "sha1-AA=="}, "no SHA-512"),
                             ({"dependencies": {"more": "1"}}, "preact of the page needs more")):
            with self.assertRaisesRegex(page_packages.Refused, text):
                self.shipped(**change)


CHANGELOG = """openssl (3.0.2-1) unstable; urgency=medium

  * Fix CVE-2022-9003.

openssl (3.0.1-1) unstable; urgency=medium

  * Fix CVE-2022-9001, and
    CVE-2022-9002.
  * Revert the fix of CVE-2021-9000.

 -- A <a@example.com>  Tue, 01 Feb 2022 00:00:00 +0000

openssl (3.0.0-1) unstable; urgency=medium

  * Fix CVE-2021-9000.
"""


class Vex(Case):
    def test_a_changelog(self):
        self.assertEqual(vex.fixed_in(CHANGELOG, "openssl", "3.0.1-1"),
                         {"CVE-2022-9001": "3.0.1-1", "CVE-2022-9002": "3.0.1-1", "CVE-2021-9000": "3.0.0-1"})
        self.assertIsNone(vex.fixed_in(CHANGELOG, "openssl", "3.0.9-1"))
        self.assertIsNone(vex.fixed_in(CHANGELOG, "zlib", "3.0.1-1"))

    def made(self, known="[]", tracker=None):
        text, unread = vex.make(sorted(self.signed.glob("*.spdx.json")), VERSION, "2026-01-01T00:00:00Z", tracker, known=known,
                                folders=[self.docs()])
        return json.loads(text), unread

    def docs(self):
        folder = self.folder() / "openssl"
        folder.mkdir()
        (folder / "changelog.Debian.gz").write_bytes(gzip.compress(CHANGELOG.encode()))
        return folder.parent

    def test_statements(self):
        known = [{"source": "openssl", "vulnerability": "CVE-2022-9003", "status": "not_affected",
                  "justification": "vulnerable_code_not_in_execute_path", "why": "it is not called"}]
        document, unread = self.made(json.dumps(known))
        self.assertEqual(unread, [])
        self.assertEqual({each["vulnerability"]["name"]: each["status"] for each in document["statements"]},
                         {"CVE-2022-9001": "fixed", "CVE-2022-9002": "fixed", "CVE-2021-9000": "fixed", "CVE-2022-9003": "not_affected"})
        self.assertEqual(document["statements"][-1]["products"], [{
            "@id": f"pkg:generic/berth@{VERSION}",
            "subcomponents": [{"@id": "pkg:deb/debian/openssl@3.0.1-1?arch=source&distro=bookworm"}]}])

    def test_an_open_one_that_nobody_looked_at(self):
        tracker = {"openssl": {"CVE-2022-9003": {"releases": {"bookworm": {"status": "open"}}},
                               "CVE-2022-9001": {"releases": {"bookworm": {"status": "resolved"}}}},
                   "apache2": {"CVE-2022-9009": {"releases": {"bookworm": {"status": "open"}}}}}
        with self.assertRaisesRegex(vex.Refused, "^openssl has CVE-2022-9003 open in Debian"):
            self.made(tracker=tracker)
        self.made(json.dumps([{"source": "openssl", "vulnerability": "CVE-2022-9003", "status": "under_investigation", "why": "new"}]),
                  tracker)

    def test_assessments(self):
        vex.assessments(vex.ASSESSMENTS.read_text())
        good = {"source": "openssl", "vulnerability": "CVE-2022-9003", "status": "affected", "why": "it is", "action": "none"}
        vex.assessments(json.dumps([good]))
        for change, text in (({"vulnerability": "9003"}, "want a source package and a CVE"), ({"status": "fine"}, "the status is one of"),
                             ({"status": "not_affected"}, "needs a justification"), ({"action": ""}, "needs an action"), ({"why": ""}, "why")):
            with self.assertRaisesRegex(vex.Refused, f"^assessment 1.*{text}"):
                vex.assessments(json.dumps([good | change]))


class Report(Case):
    def record(self, commands, suite="e2e", **more):
        """A line that ran.py wrote of a shell's commands."""
        records = self.folder() / "ran.jsonl"
        done = run(sys.executable, "-B", str(ROOT / "tools/ran.py"), suite, "--as", "--smoke", "--", "sh", "-c", commands,
                   env={**os.environ, "BERTH_RAN": str(records)})
        return done, json.loads(records.read_text()) | more

    def test_what_suites_print(self):
        for text, counts in (("--- PASS: TestA (0.1s)\n    --- PASS: TestA/x\n--- FAIL: TestB (1s)\n--- SKIP: TestC (0s)",
                              {"passed": 1, "failed": 1, "skipped": 1}),
                             ("88% tests passed, 20 tests failed out of 167", {"passed": 147, "failed": 20}),
                             ("spread: 4 passed, 0 failed\ntotal    120 passed, 2 failed, 1 without an answer",
                              {"passed": 120, "failed": 2, "skipped": 1}),
                             ("2000 seeds, 3 failed: 1 bound", {"passed": 1997, "failed": 3}), ("all is well", {})):
            done, record = self.record(f"printf '%s\\n' '{text}'; exit 3")
            self.assertEqual((done.returncode, done.stdout), (3, text + "\n"))
            self.assertEqual((record["counts"], record["status"], record["arguments"]), (counts, 3, "--smoke"))
        _, record = self.record("echo '--- FAIL: TestB (1s)'; echo 'e2e: passed on v1.37.2 in 3 s'")
        self.assertEqual((record["failed"], record["kubernetes"]), (["TestB"], "1.37.2"))

    def test_only_what_ran_on_this_commit(self):
        folder = self.copy()
        _, good = self.record("echo '--- PASS: TestA (0.1s)'; echo 'e2e: passed on 1.36.3 in 3 s'", commit="c1", clean=True)
        others = [good | {"commit": "c2", "suite": "sim"}, good | {"clean": False, "suite": "clients"}]
        report = conformance_report.make(folder, [good | {"status": 1}, *others, good], [], "c1")
        self.assertEqual(report["runs"], [good])
        self.assertEqual(report["did_not_run"], [suite for suite in conformance_report.SUITES if suite != "e2e"])
        text = (folder / f"berth-conformance-{VERSION}.md").read_text()
        self.assertIn("| `./dev e2e --smoke` |", text)
        self.assertRegex(text, r"\| passed \| 1 passed, 0 failed \| 1\.36\.3 \|")
        self.assertIn("## Did not run\n\n- `./dev test` (release)", text)

    def test_a_failure_is_said(self):
        folder = self.copy()
        _, bad = self.record("echo '--- FAIL: TestB (1s)'; exit 1", commit="c1", clean=True)
        conformance_report.make(folder, [bad], [], "c1")
        text = (folder / f"berth-conformance-{VERSION}.md").read_text()
        self.assertIn("| FAILED (1) | 0 passed, 1 failed |", text)
        self.assertIn("Failed in `e2e` of", text)

    def test_nothing_ran(self):
        folder = self.copy()
        conformance_report.make(folder, [], [], "c1")
        self.assertIn("Nothing was recorded for this commit.", (folder / f"berth-conformance-{VERSION}.md").read_text())

    def test_attacks_during_a_run(self):
        _, run_ = self.record("true", suite="hostile", commit="c1", clean=True, began="2026-01-01T10:00:00Z", seconds=60)
        attack = {"attack": "calm", "strength": 1, "unit": "x", "scheduler": "berth", "never_bound": 0, "date": "2026-01-01T10:00:30Z"}
        self.assertEqual(conformance_report.attacks_of([attack, attack | {"date": "2025-12-31T10:00:30Z"}], [run_]), [attack])

    def test_a_record_that_is_no_json(self):
        path = self.folder() / "ran.jsonl"
        path.write_text("{}\nx\n")
        with self.assertRaisesRegex(conformance_report.Refused, ":2: not a line of JSON"):
            conformance_report.lines_of(path)


class Pages(Case):
    """The commands of docs/verify.md and docs/air-gapped.md, as they are typed."""
    source = None
    verified_by = {"docs/verify.md": ("SHA256SUMS", "berth_VERSION_linux_amd64.tar.gz", "verify.sh"),
                   "docs/air-gapped.md": ("berth-bundle-VERSION.tar",)}

    def release(self):
        """A folder with the files where the pages expect them: build/release-files, the key beside the folder `build`."""
        top = self.folder()
        shutil.copytree(self.source or self.signed, top / "release-files")
        if self.source:
            for old in (top / "release-files").glob("*.sig"):
                old.unlink()
            sign.sign(top / "release-files", sign.Key(self.key), self.repository)
        shutil.copy(self.key.with_suffix(".pub"), top / "berth-release.pub")
        return top

    def commands(self, page, top, **names):
        """Each block in the folder with the files; VERSION and names stand for what a user puts there."""
        for block in blocks_of(page, "tools/release/trust_test.py"):
            for name, value in names.items():
                block = block.replace(name, value)
            done = run("bash", "-euo", "pipefail", "-c", block, cwd=top / "release-files", env={**os.environ, **self.environment(top)})
            yield block, done

    def environment(self, top):
        programs = top / "programs"
        programs.mkdir(exist_ok=True)
        for name in ("ctr", "docker"):
            (programs / name).write_text("#!/bin/sh\n")
            (programs / name).chmod(0o755)
        return {"PATH": f"{programs}:{os.environ['PATH']}"}

    def test_verify(self):
        for page in self.verified_by:
            top = self.release()
            version = next(re.fullmatch(r"berth-chart-(.+)\.tgz", file.name)[1] for file in (top / "release-files").glob("berth-chart-*.tgz"))
            for block, done in self.commands(page, top, VERSION=version):
                with self.subTest(page=page, block=block):
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertRegex(done.stdout, "verified|Verified OK")
            # A byte of what the page verifies, changed.
            for name in self.verified_by[page]:
                file = top / "release-files" / name.replace("VERSION", version)
                whole = file.read_bytes()
                changed = bytearray(whole)
                changed[len(whole) // 2] ^= 1
                file.write_bytes(changed)
                with self.subTest(page=page, file=file.name):
                    self.assertTrue(any(done.returncode for _, done in self.commands(page, top, VERSION=version)))
                file.write_bytes(whole)


if "BERTH_RELEASE" in os.environ:
    class OwnPages(Pages):
        """The same with the files that ./dev release made."""
        source = Path(os.environ["BERTH_RELEASE"])

        def test_a_flipped_byte_in_any_file(self):
            folder = self.release() / "release-files"
            self.assertEqual(self.verify(folder).returncode, 0)
            for path in sorted(folder.iterdir()):
                middle = path.stat().st_size // 2
                with self.subTest(file=path.name), path.open("r+b") as file:
                    file.seek(middle)
                    byte = file.read(1)
                    for value in (bytes([byte[0] ^ 1]), byte):
                        file.seek(middle)
                        file.write(value)
                        file.flush()
                        if value != byte:
                            self.assertEqual(self.verify(folder).returncode, 1)


if __name__ == "__main__":
    unittest.main()
