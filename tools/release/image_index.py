#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OCI archives of a release that are made from its other files: one image for several architectures, and the chart.

  image_index.py index IMAGE.oci.tar... --tag VERSION --out FILE.oci.tar
  image_index.py chart CHART.tgz --out FILE.oci.tar

The first joins images of tools/image.py, one an architecture, under an image index; their manifests keep their digests.
The second packs a chart as Helm keeps charts in registries. Both print the digest by which a registry will know the result:
the same files give the same archive and the same digest.
"""

import argparse
import hashlib
import io
import json
import re
import sys
import tarfile
from pathlib import Path

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CHART_CONFIG = "application/vnd.cncf.helm.config.v1+json"
CHART_CONTENT = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
# The keys of Chart.yaml that are plain text; Helm asks a registry for no others.
CHART_KEY = re.compile(r'^(apiVersion|appVersion|description|kubeVersion|name|type|version): *"?([^"\n]*?)"? *$', re.M)


class Refused(Exception):
    """One line on what is wrong."""


def written(document):
    return json.dumps(document, sort_keys=True).encode()


def descriptor(data, media_type):
    return {"mediaType": media_type, "digest": "sha256:" + hashlib.sha256(data).hexdigest(), "size": len(data)}


def blob_path(digest):
    return "blobs/sha256/" + digest.removeprefix("sha256:")


def archive(top, blobs, tag, out):
    """Writes the OCI layout with the descriptor `top` under the tag. `blobs`: bytes by digest."""
    top = top | {"annotations": {"org.opencontainers.image.ref.name": tag}}
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
             "index.json": written({"schemaVersion": 2, "mediaType": INDEX, "manifests": [top]})}
    files |= {blob_path(digest): data for digest, data in blobs.items()}
    with tarfile.open(out, "w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.mode, info.size = 0o644, len(data)
            tar.addfile(info, io.BytesIO(data))


def image_in(path):
    """The descriptor of the one image in an archive, and its blobs by digest, each compared with its digest."""
    try:
        with tarfile.open(path) as tar:
            files = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}
        listed = json.loads(files["index.json"])["manifests"]
    except (OSError, tarfile.TarError, KeyError, ValueError) as error:
        raise Refused(f"{path}: not an OCI archive: {error}") from error
    if len(listed) != 1:
        raise Refused(f"{path}: want one image in it, it has {len(listed)}")

    def blob(described):
        data = files.get(blob_path(described["digest"]))
        if data is None or descriptor(data, "")["digest"] != described["digest"]:
            raise Refused(f"{path}: the blob {described['digest']} is {'missing' if data is None else 'not what its digest says'}")
        return data

    manifest = blob(listed[0])
    blobs = {listed[0]["digest"]: manifest}
    document = json.loads(manifest)
    for part in [document["config"], *document["layers"]]:
        blobs[part["digest"]] = blob(part)
    return listed[0], blobs


def make_index(images, tag, out):
    """The digest of the image index."""
    manifests, blobs = {}, {}
    for path in images:
        found, parts = image_in(path)
        architecture = found["platform"]["architecture"]
        if architecture in manifests:
            raise Refused(f"{path}: a second image for {architecture}")
        manifests[architecture] = {key: found[key] for key in ("mediaType", "digest", "size", "platform")}
        blobs |= parts
    index = written({"schemaVersion": 2, "mediaType": INDEX,
                     "manifests": [manifest for _, manifest in sorted(manifests.items())]})
    top = descriptor(index, INDEX)
    archive(top, blobs | {top["digest"]: index}, tag, out)
    return top["digest"]


def make_chart(chart, out):
    """The digest of the chart in a registry."""
    data = Path(chart).read_bytes()
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            name = next(name for name in tar.getnames() if re.fullmatch(r"[^/]+/Chart\.yaml", name))
            about = dict(CHART_KEY.findall(tar.extractfile(name).read().decode()))
        title, version = about["name"], about["version"]
    except (OSError, tarfile.TarError, StopIteration, KeyError) as error:
        raise Refused(f"{chart}: not a chart with a name and a version") from error
    config = written(about)
    parts = {CHART_CONFIG: config, CHART_CONTENT: data}
    described = {media_type: descriptor(part, media_type) for media_type, part in parts.items()}
    manifest = written({"schemaVersion": 2, "mediaType": MANIFEST, "config": described[CHART_CONFIG],
                        "layers": [described[CHART_CONTENT]],
                        "annotations": {"org.opencontainers.image.title": title, "org.opencontainers.image.version": version}})
    top = descriptor(manifest, MANIFEST)
    blobs = {described[media_type]["digest"]: part for media_type, part in parts.items()}
    archive(top, blobs | {top["digest"]: manifest}, version, out)
    return top["digest"]


def main():
    parser = argparse.ArgumentParser(description="OCI archives of a release that are made from its other files")
    what = parser.add_subparsers(dest="what", required=True)
    index = what.add_parser("index")
    index.add_argument("images", nargs="+")
    index.add_argument("--tag", required=True)
    index.add_argument("--out", required=True)
    chart = what.add_parser("chart")
    chart.add_argument("chart")
    chart.add_argument("--out", required=True)
    options = parser.parse_args()
    try:
        print(make_index(options.images, options.tag, options.out) if options.what == "index" else
              make_chart(options.chart, options.out))
    except Refused as refusal:
        print(f"image_index: {refusal}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
