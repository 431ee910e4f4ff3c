#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whether the simulator of the whole program finds each planted bug (tests/planted/*.patch) within 500 seeds.
#
#     tools/planted.sh [NAME...]     NAME: the beginning of a patch's name, as 03
#
# In a working tree of HEAD of its own, whose paths ccache takes as relative.
set -euo pipefail
cd "$(dirname "$0")/.."
seeds=500
tree=$PWD/build/planted/tree
patches=()
for name in "${@:-}"; do
  for patch in "$PWD"/tests/planted/"$name"*.patch; do
    [ -e "$patch" ] || {
      echo "tools/planted.sh: $name: no such patch in tests/planted" >&2
      exit 2
    }
    patches+=("$patch")
  done
done
[ -e "$tree/CMakeLists.txt" ] || git worktree add --quiet --detach --force "$tree" HEAD
head=$(git rev-parse HEAD)
export CCACHE_BASEDIR=$tree CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
cd "$tree"
missed=0
for patch in "${patches[@]}"; do
  name=$(basename "$patch" .patch)
  git reset --quiet --hard "$head"
  if ! git apply "$patch"; then
    echo "$name: does not apply"
    missed=$((missed + 1))
    continue
  fi
  if ! { cmake --preset release && cmake --build build/release --target berth-sim; } >planted.log 2>&1; then
    echo "$name: does not build, see $tree/planted.log"
    missed=$((missed + 1))
    continue
  fi
  status=0
  build/release/bin/berth-sim --seeds 1..$seeds --first >planted.log 2>&1 || status=$?
  if [ $status -eq 1 ]; then
    echo "$name: found, $(grep -m 1 '^seed [0-9]*: ' planted.log | cut -c 1-200)"
  else
    echo "$name: not found within $seeds seeds (exit status $status)"
    missed=$((missed + 1))
  fi
done
git reset --quiet --hard "$head"
echo "$((${#patches[@]} - missed)) of ${#patches[@]} found"
[ $missed -eq 0 ]
