#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh BERTH_BINARY [--kubernetes VERSION] [--smoke] [go test flags]: berth against a real control plane, on loopback. Builds the control plane if the
# cache lacks it, runs the suite, leaves nothing behind but, after a failure, the logs.
#
#   tests/e2e/run.sh build/release/bin/berth
#   tests/e2e/run.sh build/release/bin/berth -run TestKubectl
#   tests/e2e/run.sh build/release/bin/berth --kubernetes 1.37           # the control plane of that version
#   tests/e2e/run.sh build/release/bin/berth --kubernetes 1.37 --smoke   # some minutes: what a version may break
#   BERTH_E2E_SCHEDULER=kube-scheduler tests/e2e/run.sh -     # proves the suite, see README.md
#
# BERTH_E2E_LOGS: where the logs of a failed run go (build/e2e-logs).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ $# -lt 1 ]]; then
  echo "usage: ${BASH_SOURCE[0]} BERTH_BINARY [--kubernetes VERSION] [--smoke] [go test flags]" >&2
  exit 2
fi
binary=$1
shift
kubernetes=1.36
smoke=
while (($# > 0)); do
  case $1 in
    --kubernetes)
      kubernetes=${2:?--kubernetes: a version is missing, as in 1.37}
      shift 2
      ;;
    --smoke)
      smoke=1
      shift
      ;;
    *) break ;;
  esac
done
if [[ ${BERTH_E2E_SCHEDULER:-berth} == berth ]]; then
  if [[ ! -x $binary || -d $binary ]]; then
    echo "e2e: $binary is not a program; build berth first" >&2
    exit 2
  fi
  BERTH_BINARY=$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")
  export BERTH_BINARY
fi
logs=${BERTH_E2E_LOGS:-$here/../../build/e2e-logs}

controlplane=$("$here/controlplane.sh" build "$kubernetes")
export BERTH_E2E_CONTROLPLANE=$controlplane
BERTH_E2E_KUBERNETES=$("$here/controlplane.sh" version "$kubernetes")
export BERTH_E2E_KUBERNETES
BERTH_E2E_ORACLE=$("$here/../differential/oracle.sh" oracle "$kubernetes")
export BERTH_E2E_ORACLE
# What TestUpgrade goes to, if it is there.
next=1.$((${kubernetes#1.} + 1))
if BERTH_E2E_NEXT_CONTROLPLANE=$("$here/controlplane.sh" path "$next" 2>/dev/null); then
  export BERTH_E2E_NEXT_CONTROLPLANE BERTH_E2E_NEXT_KUBERNETES=$next
fi

# A short name: addresses of sockets and command lines stay readable.
# shellcheck source=tests/e2e/suite.sh
source "$here/suite.sh"
begin_suite e2e

# Compiled first and run by itself, so that this script's child is the suite and not a tool between the two. Without
# cgo it shares its compiled packages with the control plane.
cd "$here"
# With nothing cached it reads the sources of all dependencies, a minute of a processor: `.ci/run` does it every fourth day.
((${BERTH_SHARE:-0} % 4 != 0)) || CGO_ENABLED=0 go vet ./...
CGO_ENABLED=0 go test -c -o "$work/e2e.test" .
build_clock
flags=()
for flag in "$@"; do # go test's short flags, as the compiled test wants them
  case $flag in
    -run | -skip | -v | -count | -failfast | -timeout | -parallel | -run=* | -skip=* | -v=* | -count=* | -timeout=* | -parallel=*) flags+=("-test.${flag#-}") ;;
    *) flags+=("$flag") ;;
  esac
done

# What a version of Kubernetes may break: decisions, messages, volumes, devices, preemption, the rights that the chart gives, and
# the way to the next version. The rest is about berth's
# own behaviour under faults, which a run of everything tests.
[[ -z $smoke ]] || flags+=("-test.run=^Test(OnePod|Chart|Devices|DeviceTaintRules|Differential|FitsNowhere|Preemption|Upgrade|Volumes)\$")

# Files and command lines need no cluster.
if [[ ${#flags[@]} -eq 0 && ${BERTH_E2E_SCHEDULER:-berth} == berth ]]; then
  CGO_ENABLED=0 go test -c -o "$work/flags.test" ./flags
  run_suite "$work/flags.test" -test.v
  ((status == 0)) || exit "$status"
fi

began=$SECONDS
run_suite "$work/e2e.test" -test.v -test.timeout=20m ${flags[@]+"${flags[@]}"}
if ((status != 0)); then
  keep_logs "$logs" \( -name '*.log' -o -name '*.yaml' \)
  echo "e2e: failed after $((SECONDS - began)) s; the logs are in $(cd "$logs" && pwd)" >&2
  exit "$status"
fi
echo "e2e: passed on $BERTH_E2E_KUBERNETES in $((SECONDS - began)) s"
