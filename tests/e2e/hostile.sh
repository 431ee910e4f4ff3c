#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# hostile.sh BERTH_BINARY [ATTACK,...] [--scheduler berth|kube-scheduler|both] [--strength N] [--out FILE]: what one
# tenant, one fault or one clock can do to a scheduler, on a real control plane. hostile.sh --list names the attacks.
#
# Each attack adds a line of JSON to FILE (build/hostile/results.jsonl). The logs of what failed are in build/hostile/logs.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
binary=${1:?usage: hostile.sh BERTH_BINARY [ATTACK,...] [--scheduler NAME] [--strength N] [--out FILE]}
shift
if [[ ! -x $binary || -d $binary ]]; then
  echo "hostile: $binary is not a program; build berth first" >&2
  exit 2
fi
BERTH_BINARY=$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")
export BERTH_BINARY

out=$root/build/hostile/results.jsonl flags=()
while (($# > 0)); do
  case $1 in
    --out)
      out=$(realpath -m "${2:?--out: which file?}")
      shift
      ;;
    --scheduler | --strength)
      flags+=("-${1#--}" "${2:?$1: which?}")
      shift
      ;;
    --list) flags+=(-list) ;;
    -*)
      echo "hostile: $1: no such flag" >&2
      exit 2
      ;;
    *) flags+=(-attacks "$1") ;;
  esac
  shift
done

BERTH_E2E_CONTROLPLANE=$("$here/controlplane.sh" build)
export BERTH_E2E_CONTROLPLANE
# shellcheck source=tests/e2e/suite.sh
source "$here/suite.sh"
begin_suite hostile

cd "$here"
CGO_ENABLED=0 go test -c -o "$work/hostile.test" ./hostile
build_clock
mkdir -p "$(dirname "$out")"
run_suite "$work/hostile.test" -test.v -test.timeout=3h -out "$out" ${flags[@]+"${flags[@]}"}
if ((status != 0)); then
  logs=$root/build/hostile/logs
  keep_logs "$logs" -name '*.log' -size -50M
  echo "hostile: not everything held; the logs are in $logs" >&2
fi
exit "$status"
