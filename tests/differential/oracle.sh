#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# oracle.sh [FOLDER [VERSION]]: builds an oracle, which is the real program in another shape, and prints the path of its
# own: "oracle", kube-scheduler, unless told otherwise, or "descheduler". There are oracles of several versions of
# Kubernetes, made of the same sources: the one of go.mod, and those of kubernetes-VERSION.mod. A sources-VERSION.sh
# fetches modules that cannot be built as they are published.
#
# The program is a cache like the control plane's (tests/e2e/controlplane.sh), in
# ${BERTH_CACHE_DIR:-${XDG_CACHE_HOME:-~/.cache}/berth}, named after all its sources: it is never stale.
set -euo pipefail

name=${1:-oracle}
version=${2:-}
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")/$name" && pwd)
cache=${BERTH_CACHE_DIR:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/berth}
flags=()
if [[ -n $version && -e $sources/kubernetes-$version.mod ]]; then
  flags=("-modfile=kubernetes-$version.mod" -tags "kubernetes_${version//./_}")
elif [[ -n $version ]] && ! grep -q "k8s.io/kubernetes v$version\." "$sources/go.mod"; then
  echo "oracle: there is none of Kubernetes $version in $sources (add kubernetes-$version.mod)" >&2
  exit 2
fi
hash=$(cd "$sources" && shopt -s nullglob && { cat ./*.go ./*.mod ./*.sum ./*.sh && echo "${GOFLAGS:-}"; } | sha256sum | cut -c1-16)
program=$cache/$name-$hash/oracle
((${#flags[@]} == 0)) || program+=-$version

# Asked inside the module, so that an older go that may fetch newer toolchains answers with the one it would use.
go_is_new_enough() {
  local version
  command -v go >/dev/null || return 1
  version=$(cd "$sources" && go env GOVERSION 2>/dev/null) || return 1
  [[ $version =~ ^go([0-9]+)\.([0-9]+) ]] || return 1
  ((BASH_REMATCH[1] > 1 || BASH_REMATCH[2] >= 26))
}

# fetch FOLDER: fills it with the modules that sources-VERSION.sh makes, which FOLDER/go.mod names.
fetch() {
  local folder=$1
  if [[ ! -e $folder/go.mod ]]; then
    echo "oracle: fetching the sources of Kubernetes $version into $folder" >&2
    "$sources/sources-$version.sh" "$folder.new"
    cp "$sources/kubernetes-$version.sum" "$folder.new/go.sum"
    sed "s#=> \./src-$version/#=> $folder/#" "$sources/kubernetes-$version.mod" >"$folder.new/go.mod"
    rm -rf "$folder"
    mv -T "$folder.new" "$folder"
  fi
  touch "$folder"
}

build() {
  if ! go_is_new_enough; then
    echo "oracle: the real program ($name) is built from source, which needs Go 1.26 or newer on the PATH (found: $(cd / && go version 2>/dev/null || echo none))" >&2
    exit 1
  fi
  mkdir -p "$cache"
  # One builder at a time; whoever waited finds the program made.
  exec 9>"$cache/$name.lock"
  flock 9
  [[ ! -x $program ]] || return 0
  echo "oracle: building $program (some minutes the first time)" >&2
  mkdir -p "$(dirname "$program")"
  if [[ -n $version && -e $sources/sources-$version.sh ]]; then
    local modules
    modules=$cache/$name-sources-$version-$(cat "$sources/sources-$version.sh" "$sources/kubernetes-$version".{mod,sum} | sha256sum | cut -c1-16)
    fetch "$modules"
    flags[0]=-modfile=$modules/go.mod
    export GOEXPERIMENT=jsonv2
  fi
  # Without cgo it shares its compiled packages with the control plane.
  (cd "$sources" && CGO_ENABLED=0 go build "${flags[@]}" -mod=readonly -buildvcs=false -o "$program.new" .) >&2
  mv "$program.new" "$program"
  find "$cache" -maxdepth 1 -name "$name-*" -type d -mtime +30 -exec rm -rf {} +
}

[[ -x $program ]] || build
touch "$(dirname "$program")"
echo "$program"
