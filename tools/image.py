#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An image of berth, assembled without a container engine: berth, the libraries it links, and nothing else.

  image.py BERTH_BINARY --out FILE.tar [--tag berth:dev] [--drop-in] [--add FILE:/path/in/the/image]... [--sysroot FOLDER]

With --drop-in it takes the place of the image in kube-scheduler's manifest: it starts `kube-scheduler` (a link to berth, which
every image has), and as root, because kubeadm's kubeconfig for it may be read by nobody else.

The image has the architecture of the program. For one that this machine cannot run, --sysroot has its libraries.

The archive is an OCI layout and what `docker save` writes at once, so that ctr, podman, skopeo, kind and docker all take
it. The same files give the same archive, byte by byte.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile

BERTH = "/usr/bin/berth"
KUBE_SCHEDULER = "/usr/bin/kube-scheduler"  # a link: berth under this name takes kube-scheduler's command line
# Nobody, by number: Kubernetes' runAsNonRoot wants to see that it is not 0.
USER = 65532
TEXTS = {
    "/etc/passwd": f"root:x:0:0:root:/:/sbin/nologin\nberth:x:{USER}:{USER}:berth:/:/sbin/nologin\n",
    "/etc/group": f"root:x:0:\nberth:x:{USER}:\n",
    "/etc/nsswitch.conf": "hosts: files dns\n",
}
# The licence: what the repository says, and the full text as the system has it.
LICENCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "LICENSE")
LICENCE_TEXT = "/usr/share/common-licenses/Apache-2.0"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
# By the number that an ELF file has for its machine.
ARCHITECTURES = {62: "amd64", 183: "arm64"}


class Refused(Exception):
    """One line on what is wrong."""


def architecture_of(binary):
    """As Debian and OCI call it."""
    try:
        with open(binary, "rb") as file:
            head = file.read(20)
    except OSError as error:
        raise Refused(f"{binary}: {error.strerror}") from error
    machine = int.from_bytes(head[18:20], "little")
    if head[:6] != b"\x7fELF\x02\x01" or machine not in ARCHITECTURES:
        raise Refused(f"{binary}: not a program for {' or '.join(ARCHITECTURES.values())}")
    return ARCHITECTURES[machine]


def libraries_in(sysroot, binary):
    """The same by the names in the files, for a program that ldd cannot start: by path in the image, the file here."""
    def read(path, *what):
        listed = subprocess.run(["readelf", "--wide", *what, path], capture_output=True, text=True, check=False)
        if listed.returncode != 0:
            raise Refused(f"{path}: {listed.stderr.strip()}")
        return listed.stdout

    interpreter = re.search(r"program interpreter: (/\S+)\]", read(binary, "--program-headers"))
    if not interpreter:
        raise Refused(f"{binary}: not a program that is linked with shared libraries")
    triplet = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[architecture_of(binary)]
    # Where Debian's loader looks without a configuration.
    folders = [f"/lib/{triplet}", f"/usr/lib/{triplet}", "/lib", "/usr/lib"]
    found = {interpreter[1]: sysroot + interpreter[1]}
    loaded = {os.path.basename(interpreter[1])}
    left = [binary, found[interpreter[1]]]
    while left:
        dynamic = read(left.pop(), "--dynamic")
        if path := re.search(r"\((RPATH|RUNPATH)\)", dynamic):
            raise Refused(f"{binary}: a {path[1]} is not followed with --sysroot")
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
            if name in loaded:
                continue
            loaded.add(name)
            path = next((f"{folder}/{name}" for folder in folders if os.path.exists(f"{sysroot}{folder}/{name}")), None)
            if path is None:
                raise Refused(f"{binary}: its library {name} is not in {sysroot}")
            found[path] = sysroot + path
            left.append(found[path])
    return found


def libraries(binary, sysroot):
    """What the program loads at its start, the loader included, by the paths at which it looks for them, and their files."""
    if sysroot:
        return libraries_in(os.path.abspath(sysroot), binary)
    listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        raise Refused(f"{binary}: not a program that is linked with shared libraries: {listed.stderr.strip()}")
    found = set()
    for line in listed.stdout.splitlines():
        if missing := re.match(r"\s*(\S+) => not found", line):
            raise Refused(f"{binary}: its library {missing[1]} is not on this machine")
        if path := re.match(r"\s*(?:\S+ => )?(/\S+) \(0x", line):
            found.add(path[1])
    return {path: path for path in sorted(found)}


def contents(binary, added, sysroot):
    """Files by their path in the image: (mode, bytes)."""
    def read(path):
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            raise Refused(f"{path}: {error.strerror}") from error

    files = {path: (0o644, text.encode()) for path, text in TEXTS.items()}
    if os.path.exists(CERTIFICATES):
        files[CERTIFICATES] = (0o644, read(CERTIFICATES))
    files["/usr/share/doc/berth/copyright"] = (0o644, read(LICENCE))
    files[LICENCE_TEXT] = (0o644, read(LICENCE_TEXT))
    for library, file in libraries(binary, sysroot).items():
        files[library] = (0o755, read(file))
    files[BERTH] = (0o755, read(binary))
    for source, path in added:
        files[path] = (0o644, read(source))
    return files


def layer(files):
    """A tar of the files and their folders, in order and without a trace of when and where it was made."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        folders = {"/tmp"}
        for path in files:
            while (path := os.path.dirname(path)) != "/":
                folders.add(path)
        for path in sorted(folders | set(files) | {KUBE_SCHEDULER}):
            info = tarfile.TarInfo(path.lstrip("/"))
            if path == KUBE_SCHEDULER:
                info.type, info.mode, info.linkname = tarfile.SYMTYPE, 0o777, os.path.basename(BERTH)
                tar.addfile(info)
            elif path in files:
                info.mode, data = files[path]
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
            else:
                info.type, info.mode = tarfile.DIRTYPE, 0o1777 if path == "/tmp" else 0o755
                tar.addfile(info)
    return raw.getvalue()


def image(files, tag, program, user, architecture):
    """The archive's own files by name."""
    plain = layer(files)
    packed = gzip.compress(plain, compresslevel=6, mtime=0)
    config = json.dumps({
        "created": "1970-01-01T00:00:00Z", "architecture": architecture, "os": "linux",
        "config": {"Entrypoint": [program], "User": f"{user}:{user}", "Env": ["PATH=/usr/bin"], "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(plain).hexdigest()]},
        "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "tools/image.py"}],
    }, sort_keys=True).encode()
    out = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}'}

    def blob(data, media_type):
        digest = hashlib.sha256(data).hexdigest()
        out[f"blobs/sha256/{digest}"] = data
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    packed_blob = blob(packed, "application/vnd.oci.image.layer.v1.tar+gzip")
    config_blob = blob(config, "application/vnd.oci.image.config.v1+json")
    manifest = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                           "config": config_blob, "layers": [packed_blob]}, sort_keys=True).encode()
    name = "docker.io/library/" + tag if "/" not in tag else tag
    index = blob(manifest, "application/vnd.oci.image.manifest.v1+json") | {
        "platform": {"architecture": architecture, "os": "linux"},
        "annotations": {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag.split(":")[-1]}}
    out["index.json"] = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
                                    "manifests": [index]}, sort_keys=True).encode()

    def path_of(descriptor):
        return "blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")

    out["manifest.json"] = json.dumps([{"Config": path_of(config_blob), "RepoTags": [tag],
                                        "Layers": [path_of(packed_blob)]}]).encode()
    return out


def parse_added(text):
    source, separator, path = text.rpartition(":")
    if not separator or not source or not path.startswith("/") or os.path.normpath(path) != path:
        raise argparse.ArgumentTypeError(f'"{text}": want FILE:/path/in/the/image')
    return source, path


def parse_tag(text):
    if not re.fullmatch(r"[a-z0-9]+([._/:-][a-z0-9]+)*:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", text):
        raise argparse.ArgumentTypeError(f'"{text}": want NAME:TAG, for example registry.example.com/berth:dev')
    return text


def main():
    parser = argparse.ArgumentParser(description="An image of berth, without a container engine")
    parser.add_argument("binary")
    parser.add_argument("--out", required=True)
    parser.add_argument("--tag", default="berth:dev", type=parse_tag)
    parser.add_argument("--add", action="append", default=[], type=parse_added, metavar="FILE:/PATH")
    parser.add_argument("--sysroot", help="where the libraries of the program's architecture are, instead of this machine's")
    parser.add_argument("--drop-in", action="store_true", help="start as kube-scheduler, and as root")
    options = parser.parse_args()
    program, user = (KUBE_SCHEDULER, 0) if options.drop_in else (BERTH, USER)
    try:
        files = contents(options.binary, options.add, options.sysroot)
        architecture = architecture_of(options.binary)
    except Refused as refusal:
        print(f"image: {refusal}", file=sys.stderr)
        return 1
    with tarfile.open(options.out, "w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in sorted(image(files, options.tag, program, user, architecture).items()):
            info = tarfile.TarInfo(name)
            info.mode, info.size = 0o644, len(data)
            tar.addfile(info, io.BytesIO(data))
    size = sum(len(data) for _, data in files.values())
    print(f"{options.out}: {options.tag}, {len(files)} files, {size / 1e6:.0f} MB, starts {program} as user {user}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
