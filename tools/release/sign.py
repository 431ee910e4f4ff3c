#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signs a release that ./dev release made, and packs it for places without a network.

  sign.py FOLDER --key KEY.pem [--builder-id URI]
  sign.py --key KEY.pem                            only says whether it could: before hours of building

KEY.pem is a private ECDSA key on P-256 that nobody else may read. Adds to FOLDER:
  berth_VERSION.provenance.dsse.json   an in-toto statement with SLSA provenance: which commit, sources of libraries and
                                       packages of tools, and the digest of each file, in a signed DSSE envelope
  FILE.sig                             of each file: the signature of its SHA-256, in base64, as `cosign sign-blob` writes it
  berth-bundle-VERSION.tar             all of it in one file

verify.sh beside this file verifies that; it is part of the release. A folder that was signed before is signed anew.
A repository with changes that are not committed is refused: no commit would name what was built.
"""

import argparse
import base64
import datetime
import hashlib
import io
import json
import re
import stat
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUMS = "SHA256SUMS"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
BUILD_TYPE = "urn:berth:build-type:dev-release:1"  # docs/verify.md describes it
OWN_MACHINE = "urn:berth:builder:own-machine"
# Files that depend on more than the commit, so that they are not in SHA256SUMS: what is signed here, and what ran.
UNLISTED = re.compile(r".*\.sig|.*\.dsse\.json|berth-bundle-.*\.tar|berth-conformance-.*")


class Refused(Exception):
    """One line on what is wrong."""


def output_of(*command, **more):
    done = subprocess.run(command, capture_output=True, check=False, **more)
    if done.returncode != 0:
        raise Refused(f"{command[0]}: {done.stderr.decode(errors='replace').strip().partition(chr(10))[0]}")
    return done.stdout


class Key:
    """Signs by openssl; the private key is never read here."""

    def __init__(self, path):
        self.path = str(path)
        try:
            mode = Path(path).stat().st_mode
        except OSError as error:
            raise Refused(f"{path}: {error.strerror}") from error
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise Refused(f"{path}: others than its owner may read this key: chmod 600 {path}")
        if b"prime256v1" not in output_of("openssl", "pkey", "-in", self.path, "-noout", "-text_pub"):
            raise Refused(f"{path}: want an ECDSA key on P-256: openssl ecparam -name prime256v1 -genkey -noout -out {path}")
        public = output_of("openssl", "pkey", "-in", self.path, "-pubout", "-outform", "DER")
        self.fingerprint = hashlib.sha256(public).hexdigest()

    def sign(self, data):
        return base64.b64encode(output_of("openssl", "dgst", "-sha256", "-sign", self.path, input=data)).decode()


def sums_of(folder):
    """Digests by file name, as SHA256SUMS lists them, each compared with its file."""
    try:
        listed = dict(reversed(line.split("  ")) for line in (folder / SUMS).read_text().splitlines())
    except (OSError, ValueError, TypeError) as error:
        raise Refused(f"{folder / SUMS}: {error}") from error
    for name, digest in listed.items():
        if not (folder / name).is_file():
            raise Refused(f"{folder / name} is missing, and {SUMS} lists it")
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            raise Refused(f"{folder / name} is not what {SUMS} lists")
    for file in sorted(folder.iterdir()):
        if file.name not in listed and file.name != SUMS and not UNLISTED.fullmatch(file.name):
            raise Refused(f"{file}: {SUMS} does not list it")
    return listed


def commit_of(repository):
    git = ("git", "-C", str(repository))
    if changed := output_of(*git, "status", "--porcelain", "--untracked-files=no").decode().splitlines():
        raise Refused(f"{changed[0][3:]} is not committed as it is, so that no commit names what was built")
    return output_of(*git, "rev-parse", "HEAD").decode().strip()


def libraries(folder):
    """The package URLs in the bills of materials."""
    return sorted({each["referenceLocator"] for bill in folder.glob("*.spdx.json")
                   for package in json.loads(bill.read_text())["packages"] for each in package.get("externalRefs", [])
                   if each["referenceType"] == "purl"})


def tools(repository):
    """The Debian packages that ./dev installs to build, with the versions that this machine has."""
    section, names = "", []
    for line in (repository / "tools/packages.txt").read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif section == "build" and line and not line.startswith("#"):
            names.append(line.split()[0])
    listed = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version} ${Architecture}\n", *names],
                            capture_output=True, text=True, check=False).stdout
    return sorted(f"pkg:deb/debian/{package}@{version}?arch={architecture}" for status, package, version, architecture in
                  (line.split(" ") for line in listed.splitlines()) if status == "installed")


def statement(folder, version, listed, repository, builder):
    """The in-toto statement. What ran is a by-product: it was not made of the commit alone."""
    def described(name, digest):
        return {"name": name, "digest": {"sha256": digest}}

    by_products = [described(file.name, hashlib.sha256(file.read_bytes()).hexdigest())
                   for file in sorted(folder.glob("berth-conformance-*")) if file.suffix != ".sig"]
    commit = commit_of(repository)
    architectures = sorted(re.findall(r"^berth_.*_linux_(\w+)\.tar\.gz$", "\n".join(listed), re.M))
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [described(*each) for each in sorted(listed.items())],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"command": "./dev release", "architectures": architectures, "version": version},
                "resolvedDependencies": [{"uri": "git+file:berth", "digest": {"gitCommit": commit}}] +
                                        [{"uri": uri} for uri in libraries(folder) + tools(repository)],
            },
            "runDetails": {"builder": {"id": builder}, "metadata": {"finishedOn": now}, "byproducts": by_products},
        },
    }


def envelope(document, key):
    """DSSE: the signature covers the type and the length of the payload, too."""
    payload = (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()
    signed = f"DSSEv1 {len(PAYLOAD_TYPE)} {PAYLOAD_TYPE} {len(payload)} ".encode() + payload
    return json.dumps({"payload": base64.b64encode(payload).decode(), "payloadType": PAYLOAD_TYPE,
                       "signatures": [{"keyid": key.fingerprint, "sig": key.sign(signed)}]}, separators=(",", ":")) + "\n"


def bundle(folder, version):
    """All files in one, next to them. Times and owners say nothing."""
    top = f"berth-bundle-{version}"
    files = [file for file in sorted(folder.iterdir()) if not file.name.startswith("berth-bundle-")]
    path = folder / f"{top}.tar"
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for file in files:
            info = tarfile.TarInfo(f"{top}/{file.name}")
            data = file.read_bytes()
            info.mode, info.size = 0o755 if file.suffix == ".sh" else 0o644, len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def sign(folder, key, repository=ROOT, builder=OWN_MACHINE):
    """How many files were signed."""
    folder = Path(folder)
    for old in [*folder.glob("*.sig"), *folder.glob("*.dsse.json"), *folder.glob("berth-bundle-*.tar")]:
        old.unlink()
    listed = sums_of(folder)
    version = next((found[1] for name in listed if (found := re.fullmatch(r"berth-chart-(.+)\.tgz", name))), None)
    if version is None:
        raise Refused(f"{folder / SUMS} lists no chart, by which the version is known")
    document = statement(folder, version, listed, Path(repository), builder)
    (folder / f"berth_{version}.provenance.dsse.json").write_text(envelope(document, key))
    for file in sorted(folder.iterdir()):
        (folder / f"{file.name}.sig").write_text(key.sign(file.read_bytes()))
    packed = bundle(folder, version)
    (folder / f"{packed.name}.sig").write_text(key.sign(packed.read_bytes()))
    return len(list(folder.glob("*.sig")))


def main():
    parser = argparse.ArgumentParser(description="Signs a release")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--key", required=True)
    parser.add_argument("--builder-id", default=OWN_MACHINE, metavar="URI")
    parser.add_argument("--repository", default=ROOT, type=Path)
    options = parser.parse_args()
    try:
        key = Key(options.key)
        if options.folder is None:
            commit_of(options.repository)
            return 0
        count = sign(options.folder, key, options.repository, options.builder_id)
        with tempfile.TemporaryDirectory() as scratch:
            public = Path(scratch) / "key.pub"
            public.write_bytes(output_of("openssl", "pkey", "-in", options.key, "-pubout"))
            output_of("sh", str(Path(__file__).with_name("verify.sh")), "--key", str(public), options.folder)
    except Refused as refusal:
        print(f"sign: {refusal}", file=sys.stderr)
        return 1
    print(f"{count} files signed by the key sha256:{key.fingerprint}, and verified")
    return 0


if __name__ == "__main__":
    sys.exit(main())
