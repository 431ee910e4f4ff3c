#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ci_beside.sh SHARE PLANES ORACLES: what .ci/run does beside its other steps, whose tests wait most of their time: it
# compiles what they need next, in the order in which they need it (control planes of the versions PLANES of Kubernetes,
# oracles of ORACLES, with blanks between them), then whether SHARE of the sources compile alone; then it runs the
# sanitizers' tests and a few seconds of each fuzz target.
set -euo pipefail
cd "$(dirname "$0")/.."
share=${1:?ci_beside.sh: which share of the sources compiles alone, as in 3/20}
planes=${2:?ci_beside.sh: which control planes are needed, as in "1.36 1.37"}
oracles=${3:?ci_beside.sh: which oracles are needed}

# step NICENESS COMMAND...
step() {
  local began=$SECONDS niceness=$1
  shift
  # A session counts as one for the kernel's autogroups, in which `nice` orders the session's own processes alone.
  if [ -w /proc/self/autogroup ]; then echo "$niceness" >/proc/self/autogroup || true; fi
  printf '\n== %s\n' "$*"
  nice -n "$niceness" "$@"
  printf 'beside: %5d s  %s\n' $((SECONDS - began)) "$*"
}

# Go's compiler collects its garbage when it needs a gigabyte, which saves a seventh of its time.
export GOGC=off GOMEMLIMIT=1GiB
for version in $oracles; do
  [[ " $planes " != *" $version "* ]] || step 19 tests/e2e/controlplane.sh build "$version"
  step 19 tests/differential/oracle.sh oracle "$version"
done
unset GOGC GOMEMLIMIT
step 19 ./dev build check
# Not `./dev alone`, which would build in a folder where .ci/run's own steps build.
until [ -x build/release/bin/berth ]; do sleep 1; done
step 19 python3 tools/compile_alone.py build/release --share "$share"
# Tests with limits of time: not at the lowest priority.
step 5 ./dev check
step 5 ./dev fuzz smoke 3
