#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files of a release, from programs that need glibc alone (./dev release builds them).

  release.py BUILD_FOLDER... --out FOLDER [--documents-by BERTH] [--download-url URL] [--debian-tracker FILE]

In a build folder are static/berth and static/berth.map, the linker's. One for another architecture than this machine's has
its libraries and headers in build/ARCH/sysroot (tools/release/sysroot.sh); manual pages and completions are then written
by BERTH, a program of the same commit that this machine runs, unless one of the folders has one.

Makes in FOLDER, for each architecture:
  berth_VERSION_linux_ARCH.tar.gz   the program, its manual pages, completions, licence, policies and roles
  berth_VERSION_ARCH.deb            the same as a Debian package, with a unit for `berth apiserver`
  berth_VERSION_linux_ARCH.oci.tar  the container image (tools/image.py)
  berth_VERSION_linux_ARCH.spdx.json  every library in the program, by the linker's map and the headers of its sources
and once:
  berth_VERSION_linux.oci.tar       the images of all architectures under one index (tools/release/image_index.py)
  berth_VERSION.vex.json            what known vulnerabilities of the libraries mean for berth (tools/release/vex.py)
  berth-chart-VERSION.tgz, berth-kustomize-VERSION.tar.gz
  berth-chart-VERSION.oci.tar       the chart, as registries keep it
  berth-digests.yaml                the digests of image and chart, as values of the chart
  verify.sh, load.sh                what verifies a signed release, and loads it where there is no network
  berth.krew.yaml                   for `kubectl krew install --manifest`, with the tarballs below --download-url
  SHA256SUMS

The same commit gives the same bytes, whatever the folder and the time: times are the commit's, orders are sorted.
"""

import argparse
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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.path.insert(0, str(ROOT / "tools/release"))
import image_index  # noqa: E402
import page_packages  # noqa: E402
import vex  # noqa: E402
from image import Refused, architecture_of  # noqa: E402

MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
LICENCE_TEXT = Path("/usr/share/common-licenses/Apache-2.0")
SHELLS = {"bash": ("berth.bash", "usr/share/bash-completion/completions/berth"),
          "zsh": ("_berth", "usr/share/zsh/vendor-completions/_berth"),
          "fish": ("berth.fish", "usr/share/fish/vendor_completions.d/berth.fish")}
# By Debian's source package, what its copyright file says of the parts that are used, as SPDX writes it.
LICENCES = {
    "abseil": "Apache-2.0",
    "boost1.81": "BSL-1.0",
    "fmtlib": "MIT",
    "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "linux": "GPL-2.0-only WITH Linux-syscall-note",
    "lua5.4": "MIT",
    "nghttp2": "MIT",
    "openssl": "Apache-2.0",
    "protozero": "BSD-2-Clause AND Apache-2.0",
    "re2": "BSD-3-Clause",
    "simdjson": "Apache-2.0",
    "spdlog": "MIT",
    "sqlite3": "blessing",
    "yaml-cpp": "MIT",
}
# Source packages of the cross compiler's libraries, by the beginning of a package's name what that was made of.
CROSS = {
    "cross-toolchain-base": {"libc6": "glibc", "linux-libc-dev": "linux"},
    "gcc-12-cross": {"": "gcc-12"},
}
UNIT = """[Unit]
Description=A development cluster in one process: Kubernetes' API, nodes without containers, and a scheduler
Documentation=man:berth-apiserver(1)

[Service]
ExecStart=/usr/bin/berth apiserver --listen 127.0.0.1:8001
DynamicUser=yes
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX

[Install]
WantedBy=multi-user.target
"""


class Build:
    """A build folder of one architecture, and where the libraries come from that its program has."""

    def __init__(self, folder_):
        self.folder = Path(folder_)
        self.berth = str(self.folder / "static/berth")
        self.map = self.folder / "static/berth.map"
        self.architecture = architecture_of(self.berth)
        self.runs_here = self.architecture == MACHINE
        self.sysroot = None if self.runs_here else ROOT / "build" / self.architecture / "sysroot"
        self.static = ROOT / "build" / ("static" if self.runs_here else f"{self.architecture}/static")


def output_of(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def tar_of(files, prefix=""):
    """Files by path, (mode, bytes); a mode of None makes bytes the target of a link."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, (mode, data) in sorted(files.items()):
            info = tarfile.TarInfo(prefix + path)
            info.mtime = COMMIT_TIME
            if mode is None:
                info.type, info.mode, info.linkname = tarfile.SYMTYPE, 0o777, data.decode()
                tar.addfile(info)
            else:
                info.mode, info.size = mode, len(data)
                tar.addfile(info, io.BytesIO(data))
    return gzip.compress(raw.getvalue(), compresslevel=9, mtime=0)


def folder(path):
    """All files below it that git tracks, by their path in it."""
    listed = output_of("git", "-C", str(ROOT), "ls-files", "-z", "--", path).split("\0")[:-1]
    return {str(Path(name).relative_to(path)): (0o644, (ROOT / name).read_bytes()) for name in listed}


def documents(berth):
    """Completions by shell, and manual pages by file name, as the program writes them."""
    completions = {shell: output_of(berth, "completion", shell).encode() for shell in SHELLS}
    with tempfile.TemporaryDirectory() as pages:
        output_of(berth, "__man", pages)
        return completions, {page.name: page.read_bytes() for page in sorted(Path(pages).iterdir())}


def tarball(berth, completions, pages, version, architecture):
    files = {"berth": (0o755, Path(berth).read_bytes()), "LICENSE": (0o644, (ROOT / "LICENSE").read_bytes()),
             "LICENSE.Apache-2.0": (0o644, LICENCE_TEXT.read_bytes()), "CHANGELOG.md": (0o644, (ROOT / "CHANGELOG.md").read_bytes()),
             "kubectl-berth": (None, b"berth")}
    files |= {f"completions/{name}": (0o644, completions[shell]) for shell, (name, _) in SHELLS.items()}
    files |= {f"man/man1/{name}": (0o644, page) for name, page in pages.items()}
    files |= {f"policies/{name}": data for name, data in folder("deploy/config").items()}
    files |= {f"roles/{name}": data for name, data in folder("deploy").items() if name.endswith("-role.yaml")}
    return tar_of(files, f"berth_{version}_linux_{architecture}/")


def debian_package(berth, completions, pages, version, architecture, out):
    with tempfile.TemporaryDirectory() as top:
        def put(path, data, mode=0o644):
            target = Path(top) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            target.chmod(mode)

        put("usr/bin/berth", Path(berth).read_bytes(), 0o755)
        for link in ("kubectl-berth", "kubectl_complete-berth"):
            (Path(top) / "usr/bin" / link).symlink_to("berth")
        for shell, (_, path) in SHELLS.items():
            put(path, completions[shell])
        for name, page in pages.items():
            put(f"usr/share/man/man1/{name}.gz", gzip.compress(page, compresslevel=9, mtime=0))
        for name, (_, data) in folder("deploy/config").items():
            put(f"usr/share/berth/{name}", data)
        put("usr/lib/systemd/system/berth-apiserver.service", UNIT.encode())
        put("usr/share/doc/berth/copyright", (ROOT / "LICENSE").read_bytes())
        put("usr/share/doc/berth/changelog.gz", gzip.compress((ROOT / "CHANGELOG.md").read_bytes(), mtime=0))
        size = sum(file.stat().st_size for file in Path(top).rglob("*") if file.is_file() and not file.is_symlink())
        put("DEBIAN/control", f"""Package: berth
Version: {version}
Architecture: {architecture}
Maintainer: berth's authors <berth@example.com>
Installed-Size: {(size + 1023) // 1024}
Depends: libc6 (>= 2.36)
Recommends: ca-certificates
Section: admin
Priority: optional
Description: drop-in Kubernetes scheduler
 berth makes kube-scheduler's decisions for a fraction of its cost, takes policies
 of one's own, and answers why a pod is where it is. It carries a development
 cluster for machines that have none.
""".encode())
        for path, _, _ in os.walk(top):
            Path(path).chmod(0o755)
        output_of("dpkg-deb", "--root-owner-group", "-Zxz", "--build", top, str(out),
                  env={**os.environ, "SOURCE_DATE_EPOCH": str(COMMIT_TIME)})


def source_packages(paths, sysroot=None):
    """Debian's source packages of these files, name to version: of this machine's files, or of those of a sysroot."""
    query = ["dpkg-query"] + ([f"--admindir={sysroot}/var/lib/dpkg"] if sysroot else [])
    real = sorted({os.path.realpath(path) for path in paths})
    if not real:
        return {}
    if sysroot:
        real = ["/" + str(Path(path).relative_to(sysroot)) for path in real]
    owners = {}
    # It fails where one of them is nobody's, which is said below.
    asked = subprocess.run([*query, "-S", *real], check=False, capture_output=True, text=True)
    for line in asked.stdout.splitlines():
        owner, _, path = line.rpartition(": ")
        owners[path] = owner.split(",")[0].strip()
    if not owners:
        raise Refused(asked.stderr.partition("\n")[0])
    if missing := [path for path in real if path not in owners]:
        raise Refused(f"{missing[0]}: of no Debian package, so that the list of what is in the program cannot name it")
    found = {}
    for line in output_of(*query, "-W", "-f", "${Package} ${source:Package} ${source:Version} ${Built-Using}\n",
                          *sorted(set(owners.values()))).splitlines():
        package, name, version, built_using = line.split(" ", 3)
        # Libraries of the cross compiler were built from others' sources, which they name.
        if name in CROSS:
            name = next(source for start, source in CROSS[name].items() if package.startswith(start))
            version = re.search(rf"\b{re.escape(name)} \(= ([^)]+)\)", built_using)[1]
        found[name] = version
    return found


def libraries(build):
    """What is in the program: the archives of the linker's map, and the headers of its objects."""
    archives = {os.path.realpath(path) for path in
                re.findall(r"(/\S+/lib[^/\s(]+\.a)\(", build.map.read_text(errors="replace"))}
    objects = {line for line in output_of("ninja", "-C", str(build.folder), "-t", "inputs", "libberth.a").splitlines()
               if line.endswith(".o")}
    headers, counts = set(), False
    for line in output_of("ninja", "-C", str(build.folder), "-t", "deps").splitlines():
        if not line.startswith(" "):
            counts = line.partition(":")[0] in objects
        elif counts and line:
            headers.add(line.strip())
    headers = {os.path.realpath(build.folder / path) for path in headers}
    found = {}
    if build.sysroot:
        found |= source_packages({path for path in archives | headers if Path(path).is_relative_to(build.sysroot)}, build.sysroot)
    found |= source_packages({path for path in archives if not Path(path).is_relative_to(ROOT)} |
                             {path for path in headers if path.startswith("/usr/")})
    # Static libraries that were made of Debian's sources.
    for line in (build.static / "made-of").read_text().split():
        name, _, version = line.partition("=")
        found[name] = version
    if unknown := sorted(set(found) - set(LICENCES)):
        raise Refused(f"{unknown[0]} is in the program, and LICENCES of tools/release/release.py does not have it")
    return found


def page_of(build):
    """The packages of npm in the program's page; none where it was built without."""
    try:
        if not page_packages.is_in_program((build.folder / "src/berth/page/page_files.cc").read_text(errors="replace")):
            return {}
        return page_packages.shipped((ROOT / "web/package.json").read_text(), (ROOT / "web/package-lock.json").read_text())
    except (page_packages.Refused, OSError, KeyError, ValueError) as refusal:
        raise Refused(f"the page's packages: {refusal}") from refusal


def bill_of_materials(found, page, tarball_name, tarball_digest, version):
    def package(name, version_, licence, more):
        return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": version_,
                "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": licence,
                "licenseDeclared": licence, "copyrightText": "NOASSERTION"} | more

    packages = [package("berth", version, "Apache-2.0", {
        "packageFileName": tarball_name, "checksums": [{"algorithm": "SHA256", "checksumValue": tarball_digest}]})]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-berth"}]
    for name, version_ in sorted(found.items()):
        packages.append(package(name, version_, LICENCES[name], {"externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
             "referenceLocator": f"pkg:deb/debian/{name}@{version_}?arch=source"}]}))
        linked = "DYNAMIC_LINK" if name == "glibc" else "STATIC_LINK"
        relations.append({"spdxElementId": "SPDXRef-berth", "relationshipType": linked,
                          "relatedSpdxElement": packages[-1]["SPDXID"]})
    for name, each in sorted(page.items()):
        packages.append(package(name, each["version"], each["licence"], {
            "checksums": [{"algorithm": "SHA512", "checksumValue": each["sha512"]}],
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": each["url"]}]}))
        relations.append({"spdxElementId": "SPDXRef-berth", "relationshipType": "CONTAINS",
                          "relatedSpdxElement": packages[-1]["SPDXID"]})
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"berth-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/berth-{version}-{tarball_digest}",
            "creationInfo": {"created": output_of("date", "-u", "-d", f"@{COMMIT_TIME}", "+%Y-%m-%dT%H:%M:%SZ").strip(),
                             "creators": ["Tool: tools/release/release.py"]},
            "packages": packages, "relationships": relations}


def krew(version, url, tarballs):
    """Tarballs by architecture: (name, digest)."""
    platforms = "".join(f"""    - selector:
        matchLabels: {{os: linux, arch: {architecture}}}
      uri: {url}/{name}
      sha256: {digest}
      bin: kubectl-berth
      files:
        - {{from: "berth_{version}_linux_{architecture}/*", to: .}}
""" for architecture, (name, digest) in sorted(tarballs.items()))
    return f"""apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: berth
spec:
  version: v{version}
  shortDescription: Why is my pod pending, and what if
  description: |
    Explains why a pod is pending or where it is, simulates manifests on a cluster as it is, tells how much more fits,
    and whether nodes can be drained. Read-only, on any cluster, whichever scheduler runs there.
  platforms:
{platforms}"""


def digests(version, image, chart):
    """Values of the chart that fix the image by its digest; load.sh reads the comments."""
    return f"""# Digests of this release, and values of its chart: helm install --values berth-digests.yaml
# version: {version}
# image: {image}
# chart: {chart}
image:
  digest: {image}
"""


def add_joined(out, version, sysroots, tracker=None):
    """Adds what is made of the files of all architectures and of the chart; then the sums of all files, which it returns."""
    try:
        images = sorted(out.glob(f"berth_{version}_linux_*.oci.tar"))
        image = image_index.make_index(images, version, out / f"berth_{version}_linux.oci.tar")
        chart = image_index.make_chart(out / f"berth-chart-{version}.tgz", out / f"berth-chart-{version}.oci.tar")
        when = output_of("date", "-u", "-d", f"@{COMMIT_TIME}", "+%Y-%m-%dT%H:%M:%SZ").strip()
        known, unread = vex.make(sorted(out.glob("*.spdx.json")), version, when, tracker,
                                 [f"{sysroot}/usr/share/doc" for sysroot in sysroots])
    except (image_index.Refused, vex.Refused) as refusal:
        raise Refused(str(refusal)) from refusal
    if unread:
        print(f"release: no changelog of {', '.join(unread)} is here: berth_{version}.vex.json says nothing about them", file=sys.stderr)
    (out / f"berth_{version}.vex.json").write_text(known)
    (out / "berth-digests.yaml").write_text(digests(version, image, chart))
    for script in ("verify.sh", "load.sh"):
        shutil.copyfile(ROOT / "tools/release" / script, out / script)
    sums = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(out.iterdir()))
    (out / "SHA256SUMS").write_text(sums)
    return sums


def make(options):
    builds = [Build(path) for path in options.builds]
    writer = next((build.berth for build in builds if build.runs_here), options.documents_by)
    if writer is None:
        raise Refused("this machine runs none of the programs: --documents-by is missing")
    version = json.loads(output_of(writer, "version", "-o", "json"))["version"]
    out = Path(options.out)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    found = {build.architecture: libraries(build) for build in builds}
    completions, pages = documents(writer)
    tarballs = {}
    for build in builds:
        name = f"berth_{version}_linux_{build.architecture}"
        packed = tarball(build.berth, completions, pages, version, build.architecture)
        digest = hashlib.sha256(packed).hexdigest()
        tarballs[build.architecture] = (f"{name}.tar.gz", digest)
        (out / f"{name}.tar.gz").write_bytes(packed)
        (out / f"{name}.spdx.json").write_text(json.dumps(
            bill_of_materials(found[build.architecture], page_of(build), f"{name}.tar.gz", digest, version),
            indent=1, sort_keys=True) + "\n")
        debian_package(build.berth, completions, pages, version, build.architecture, out / f"berth_{version}_{build.architecture}.deb")
        output_of(sys.executable, str(ROOT / "tools/image.py"), build.berth, "--tag", f"berth:{version}", "--out",
                  str(out / f"{name}.oci.tar"), *(["--sysroot", str(build.sysroot)] if build.sysroot else []))
    (out / "berth.krew.yaml").write_text(krew(version, options.download_url, tarballs))
    (out / f"berth-chart-{version}.tgz").write_bytes(tar_of(folder("deploy/chart"), "berth/"))
    (out / f"berth-kustomize-{version}.tar.gz").write_bytes(tar_of(folder("deploy/kustomize"), "berth/"))
    tracker = json.loads(Path(options.debian_tracker).read_text()) if options.debian_tracker else None
    return add_joined(out, version, [build.sysroot for build in builds if build.sysroot], tracker)


def main():
    parser = argparse.ArgumentParser(description="The files of a release")
    parser.add_argument("builds", nargs="+", metavar="BUILD_FOLDER")
    parser.add_argument("--out", required=True)
    parser.add_argument("--documents-by", metavar="BERTH")
    parser.add_argument("--download-url", default="https://example.com/berth")
    parser.add_argument("--debian-tracker", metavar="FILE", help="Debian's open vulnerabilities (docs/vulnerabilities.md)")
    try:
        print(make(parser.parse_args()), end="")
    except Refused as refusal:
        print(f"release: {refusal}", file=sys.stderr)
        return 1
    return 0


COMMIT_TIME = int(output_of("git", "-C", str(ROOT), "log", "-1", "--format=%ct"))

if __name__ == "__main__":
    sys.exit(main())
