#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build_for_ci.sh SHARE: what the later steps of .ci/run need, in the order in which they need it, and then whether SHARE
# of the sources compile alone. .ci/run does this beside its first steps.
set -euo pipefail
cd "$(dirname "$0")/.."
# A session counts as one for the kernel's autogroups, in which `nice` orders the session's own processes alone.
if [ -w /proc/self/autogroup ]; then echo 19 >/proc/self/autogroup || true; fi

share=${1:?build_for_ci.sh: which share of the sources compiles alone, as in 3/20}
for version in 1.36 1.37; do
  tests/e2e/controlplane.sh build "$version"
  tests/differential/oracle.sh oracle "$version"
done
./dev build check
# Not `./dev alone`, which would build in a folder where .ci/run's own steps build.
until [ -x build/release/bin/berth ]; do sleep 1; done
exec python3 tools/compile_alone.py build/release --share "$share"
