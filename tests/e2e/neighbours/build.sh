#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh NAME: builds a program that berth works beside, from the module in the folder NAME, through the Go module proxy, and
# prints the program's path. build.sh NAME source MODULE: prints the folder of that module's sources (CRDs and the like).
#
# The program is kept in the cache of the control planes, under a name made of everything that decides its contents.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${BERTH_CACHE_DIR:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/berth}
name=${1:-}
if [[ -z $name || ! -f $here/$name/go.mod ]]; then
  echo "usage: ${BASH_SOURCE[0]} NAME [source MODULE], with a NAME of: $(cd "$here" && for f in */go.mod; do printf '%s ' "${f%/go.mod}"; done)" >&2
  exit 2
fi
cd "$here/$name"
if [[ ${2:-} == source ]]; then
  go mod download "${3:?a module is missing}"
  go list -mod=mod -m -f '{{.Dir}}' "$3"
  exit
fi
hash=$({ cat go.mod go.sum; cat ./*.go 2>/dev/null || true; } | sha256sum | cut -c1-16)
program=$cache/neighbour-$name-$hash
mkdir -p "$cache"
exec 9>"$cache/neighbours.lock"
flock 9
if [[ ! -x $program ]]; then
  echo "neighbours: building $name (some minutes the first time)" >&2
  package=$(awk '$1 == "tool" { print $2 }' go.mod) # a program of another module, or else this folder
  CGO_ENABLED=0 go build -o "$program.new" -ldflags "-s -w" "${package:-.}" >&2
  mv "$program.new" "$program"
fi
echo "$program"
