#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Verifies the release in this folder, and then loads its image and chart, without a network but the one to your registry.
#
#   load.sh --key KEY.pub --registry HOST[:PORT]/PATH    both into a registry, with all architectures (skopeo)
#   load.sh --key KEY.pub --engine ctr|docker|podman     the image of this machine's architecture into this machine
#
# Nothing is loaded unless every file is what the holder of the key signed (verify.sh).
set -eu

usage() {
  echo "usage: load.sh --key KEY.pub (--registry HOST/PATH | --engine ctr|docker|podman)" >&2
  exit 2
}
key='' registry='' engine=''
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || usage
  case $1 in
    --key) key=$2 ;;
    --registry) registry=${2%/} ;;
    --engine) engine=$2 ;;
    *) usage ;;
  esac
  shift 2
done
[ -n "$key" ] && [ -n "$registry$engine" ] && { [ -z "$registry" ] || [ -z "$engine" ]; } || usage
case $engine in '' | ctr | docker | podman) ;; *) usage ;; esac
folder=$(cd "$(dirname "$0")" && pwd)
sh "$folder/verify.sh" --key "$key" "$folder"

fail() {
  echo "load: $*" >&2
  exit 1
}
needs() { command -v "$1" >/dev/null || fail "$1 is not on this machine"; }
digest_of() { sed -n "s/^# $1: //p" "$folder/berth-digests.yaml"; }
version=$(digest_of version)

# copy ARCHIVE REPOSITORY DIGEST: the registry has to know it by the digest that was signed.
copy() {
  skopeo copy --all --preserve-digests "oci-archive:$folder/$1" "docker://$2:$version"
  digest=$(skopeo inspect --raw "docker://$2:$version" | sha256sum | cut -d ' ' -f 1)
  [ "sha256:$digest" = "$3" ] || fail "$2:$version is sha256:$digest in the registry, and was signed as $3"
}

if [ -n "$registry" ]; then
  needs skopeo
  copy "berth_${version}_linux.oci.tar" "$registry/berth" "$(digest_of image)"
  copy "berth-chart-$version.oci.tar" "$registry/charts/berth" "$(digest_of chart)"
  echo "loaded. To install it:"
  echo "helm install berth oci://$registry/charts/berth@$(digest_of chart) --namespace berth-system --create-namespace" \
    "--set image.repository=$registry/berth --values berth-digests.yaml"
  exit
fi
case $(uname -m) in
  x86_64) image=berth_${version}_linux_amd64.oci.tar ;;
  aarch64) image=berth_${version}_linux_arm64.oci.tar ;;
  *) fail "there is no image for $(uname -m)" ;;
esac
[ -f "$folder/$image" ] || fail "$image is not in this release"
needs "$engine"
case $engine in
  ctr) ctr --namespace k8s.io images import "$folder/$image" ;;
  docker | podman) "$engine" load --input "$folder/$image" ;;
esac
echo "loaded: berth:$version"
