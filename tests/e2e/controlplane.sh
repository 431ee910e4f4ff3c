#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# controlplane.sh build [VERSION]: builds the real control plane (etcd, kube-apiserver, kube-scheduler,
# kube-controller-manager, kubectl) of a version of Kubernetes, and the helm that helm/go.mod pins, through the Go module
# proxy and prints the folder with the six programs. go.mod pins one version, 1.36, which is meant without VERSION;
# kubernetes-VERSION.mod pin the others.
# controlplane.sh path [VERSION]: prints the folder only; exits 1 when it has not been built.
# controlplane.sh version [VERSION]: prints the whole version, as in v1.36.3.
#
# The folder is a cache, named after everything that decides its contents, so it is never stale and a second call costs
# nothing. A cold build takes some minutes of CPU; progress goes to stderr, stdout is the folder's name alone.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${BERTH_CACHE_DIR:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/berth}

say() { echo "controlplane: $*" >&2; }
module_version() { awk -v module="$1" '$1 == module && $2 ~ /^v/ { print $2; exit }' "$here/$pins.mod"; }

wanted=${2:-}
pins=go # the name of .mod and .sum
[[ ! $wanted =~ ^[0-9]+\.[0-9]+$ || ! -e $here/kubernetes-$wanted.mod ]] || pins=kubernetes-$wanted
kubernetes=$(module_version k8s.io/kubernetes)
if [[ -n $wanted && $kubernetes != "v$wanted."* ]]; then
  say "there is no control plane of Kubernetes $wanted (add kubernetes-$wanted.mod to $here)"
  exit 2
fi
hash=$(cd "$here" && { cat "$pins.mod" "$pins.sum" helm/go.mod helm/go.sum controlplane.sh && echo "${GOFLAGS:-}"; } | sha256sum | cut -c1-16)
folder=$cache/controlplane-$hash

# Asked inside the module, so that an older go that may fetch newer toolchains answers with the one it would use.
go_is_new_enough() {
  local version
  command -v go >/dev/null || return 1
  version=$(cd "$here" && go env GOVERSION 2>/dev/null) || return 1
  [[ $version =~ ^go([0-9]+)\.([0-9]+) ]] || return 1
  ((BASH_REMATCH[1] > 1 || BASH_REMATCH[2] >= 26))
}

build() {
  mkdir -p "$cache"
  # One builder at a time; whoever waited finds the folder made.
  exec 9>"$cache/controlplane.lock"
  flock 9
  [[ ! -x $folder/kube-apiserver ]] || return 0

  local etcd stamp="" package
  etcd=$(module_version go.etcd.io/etcd/server/v3)
  # Unstamped binaries call themselves v0.0.0-master, which kubectl warns about and the API server puts on the wire.
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    stamp+=" -X $package.gitVersion=$kubernetes -X $package.gitMajor=1 -X $package.gitMinor=$(cut -d. -f2 <<<"$kubernetes")"
    stamp+=" -X $package.gitTreeState=clean"
  done

  say "building Kubernetes $kubernetes and etcd $etcd into $folder (some minutes the first time)"
  local began=$SECONDS work
  work=$(mktemp -d "$cache/controlplane-new.XXXXXX")
  # shellcheck disable=SC2064 # the folder's name of now is meant
  trap "rm -rf '$work'" EXIT
  (
    cd "$here"
    # Without cgo the result needs no C compiler and is static, as the released binaries are.
    CGO_ENABLED=0 go build -modfile="$pins.mod" -o "$work/" -ldflags "-s -w$stamp" k8s.io/kubernetes/cmd/kube-apiserver \
      k8s.io/kubernetes/cmd/kube-scheduler k8s.io/kubernetes/cmd/kube-controller-manager k8s.io/kubernetes/cmd/kubectl \
      go.etcd.io/etcd/server/v3 >&2
    cd helm
    CGO_ENABLED=0 go build -o "$work/" -ldflags "-s -w" helm.sh/helm/v3/cmd/helm >&2
  )
  mv "$work/server" "$work/etcd" # go names a program after its package's folder
  chmod 755 "$work"
  mv -T "$work" "$folder"
  trap - EXIT
  say "built in $((SECONDS - began)) s"
  # Folders of other pins that nobody has used for a month.
  find "$cache" -maxdepth 1 -name 'controlplane-*' -mtime +30 -exec rm -rf {} +
}

case ${1:-} in
  build)
    # Asked for even when the cache has everything: who builds the control plane goes on to build Go programs for it.
    if ! go_is_new_enough; then
      say "the real control plane is built from source, which needs Go 1.26 or newer on the PATH (found: $(cd / && go version 2>/dev/null || echo none))"
      exit 1
    fi
    [[ -x $folder/kube-apiserver ]] || build
    touch "$folder"
    echo "$folder"
    ;;
  path)
    [[ -x $folder/kube-apiserver ]] || exit 1
    echo "$folder"
    ;;
  version)
    echo "$kubernetes"
    ;;
  *)
    echo "usage: ${BASH_SOURCE[0]} build|path|version [VERSION]" >&2
    exit 2
    ;;
esac
