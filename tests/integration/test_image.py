# SPDX-License-Identifier: Apache-2.0
"""The image that tools/image.py makes: its metadata is right, and its content is enough to run berth."""

import gzip
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

from support import ROOT, berth_binary, clean_environment

TOOL = ROOT / "tools" / "image.py"


def make(out: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, str(TOOL), berth_binary(), "--out", str(out), *arguments], capture_output=True,
                          text=True, timeout=120, check=False)


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.temporary = tempfile.TemporaryDirectory(prefix="berth-image-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.root = Path(cls.temporary.name)
        (cls.root / "rule.lua").write_text("-- a rule\n")
        cls.archive = cls.root / "image.tar"
        done = make(cls.archive, "--tag", "example.com/berth:1", "--add", f"{cls.root}/rule.lua:/etc/berth/rule.lua")
        assert done.returncode == 0, done.stderr
        cls.said = done.stdout
        with tarfile.open(cls.archive) as tar:
            cls.files = {member.name: tar.extractfile(member).read() for member in tar.getmembers()}

    def blob(self, descriptor: dict) -> bytes:
        data = self.files["blobs/" + descriptor["digest"].replace(":", "/")]
        self.assertEqual(len(data), descriptor["size"])
        self.assertEqual("sha256:" + hashlib.sha256(data).hexdigest(), descriptor["digest"])
        return data

    def parts(self) -> tuple[dict, bytes]:
        """The image's configuration and its layer, from the OCI layout."""
        self.assertEqual(json.loads(self.files["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
        (index,) = json.loads(self.files["index.json"])["manifests"]
        self.assertEqual(index["annotations"]["io.containerd.image.name"], "example.com/berth:1")
        manifest = json.loads(self.blob(index))
        (layer,) = manifest["layers"]
        return json.loads(self.blob(manifest["config"])), self.blob(layer)

    def test_describes_itself(self) -> None:
        config, layer = self.parts()
        self.assertEqual(config["config"]["Entrypoint"], ["/usr/bin/berth"])
        self.assertEqual(config["config"]["User"], "65532:65532")
        self.assertEqual(config["rootfs"]["diff_ids"], ["sha256:" + hashlib.sha256(gzip.decompress(layer)).hexdigest()])
        # The same through the files that docker load reads.
        (docker,) = json.loads(self.files["manifest.json"])
        self.assertEqual(docker["RepoTags"], ["example.com/berth:1"])
        self.assertEqual(json.loads(self.files[docker["Config"]]), config)
        self.assertEqual([self.files[name] for name in docker["Layers"]], [layer])
        self.assertIn("example.com/berth:1", self.said)

    def test_takes_the_place_of_kube_schedulers_image(self) -> None:
        archive = self.root / "drop-in.tar"
        done = make(archive, "--tag", "example.com/kube-scheduler:1", "--drop-in")
        self.assertEqual(done.returncode, 0, done.stderr)
        with tarfile.open(archive) as tar:
            (docker,) = json.load(tar.extractfile("manifest.json"))
            config = json.load(tar.extractfile(docker["Config"]))["config"]
        self.assertEqual(config["Entrypoint"], ["/usr/bin/kube-scheduler"])
        # kubeadm's /etc/kubernetes/scheduler.conf belongs to root with mode 0600; the command in its manifest is found
        # through PATH.
        self.assertEqual(config["User"], "0:0")
        self.assertEqual(config["Env"], ["PATH=/usr/bin"])

    def test_is_the_same_every_time(self) -> None:
        again = self.root / "again.tar"
        done = make(again, "--tag", "example.com/berth:1", "--add", f"{self.root}/rule.lua:/etc/berth/rule.lua")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(again.read_bytes(), self.archive.read_bytes())

    def test_libraries_by_name_are_those_that_the_loader_finds(self) -> None:
        """For a program that this machine cannot run, libraries are taken from a sysroot, which is the machine itself
        here."""
        by_name = self.root / "by-name.tar"
        done = make(by_name, "--tag", "example.com/berth:1", "--add", f"{self.root}/rule.lua:/etc/berth/rule.lua", "--sysroot", "/")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(by_name.read_bytes(), self.archive.read_bytes())

    def test_holds_berth_and_what_it_needs(self) -> None:
        _, layer = self.parts()
        folder = self.root / "filesystem"
        layer_file = self.root / "layer.tar"
        layer_file.write_bytes(gzip.decompress(layer))
        with tarfile.open(layer_file) as tar:
            members = {member.name: member for member in tar.getmembers()}
            tar.extractall(folder)
        self.assertEqual((folder / "usr/bin/berth").read_bytes(), Path(berth_binary()).read_bytes())
        link = folder / "usr/bin/kube-scheduler"
        self.assertTrue(link.is_symlink())
        version = subprocess.run([str(link), "--version"], capture_output=True, text=True, timeout=30, check=False)
        self.assertRegex(version.stdout, r"^Kubernetes v1\.36\.\d+\+berth\.", "as kube-scheduler says it")
        self.assertEqual((folder / "etc/berth/rule.lua").read_text(), "-- a rule\n")
        self.assertIn("berth:x:65532:", (folder / "etc/passwd").read_text())
        self.assertIn("Apache-2.0", (folder / "usr/share/doc/berth/copyright").read_text())
        self.assertIn("TERMS AND CONDITIONS", (folder / "usr/share/common-licenses/Apache-2.0").read_text())
        for name, member in members.items():
            self.assertEqual((member.uid, member.gid, member.mtime), (0, 0, 0), name)
            self.assertFalse(member.mode & 0o6000, name)
        # Only berth and libraries are executable: no shell, no package manager.
        programs = [name for name, member in members.items() if member.isfile() and member.mode & 0o111]
        self.assertEqual([name for name in programs if ".so" not in name], ["usr/bin/berth"])

        if os.geteuid() != 0:
            self.skipTest("only root may change the root directory")
        # berth runs with nothing but these files, as the image's user.
        demo = subprocess.run(["chroot", "--userspec=65532:65532", str(folder), "/usr/bin/berth", "demo", "--nodes", "2"],
                              capture_output=True, text=True, timeout=120, env=clean_environment(), check=False)
        self.assertEqual(demo.returncode, 0, demo.stderr)
        self.assertIn("Running", demo.stdout)

    def test_refusals(self) -> None:
        for arguments, said in [
            (["--tag", "Berth:dev"], '"Berth:dev": want NAME:TAG'),
            (["--add", "rule.lua"], '"rule.lua": want FILE:/path/in/the/image'),
            (["--add", "rule.lua:etc/rule.lua"], "want FILE:/path/in/the/image"),
            (["--add", "/nowhere/rule.lua:/etc/rule.lua"], "image: /nowhere/rule.lua: No such file or directory"),
            (["--sysroot", str(self.root)], f"image: {self.root}/"),
        ]:
            done = make(self.root / "refused.tar", *arguments)
            self.assertNotEqual(done.returncode, 0, arguments)
            self.assertIn(said, done.stderr.splitlines()[-1])
            self.assertFalse((self.root / "refused.tar").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
