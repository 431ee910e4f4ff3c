#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev deschedule-check: which pods a policy objects to, on golden cases or on new ones.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tools/dev/functions.sh
source tools/dev/functions.sh

# Fresh cases, answered by the real descheduler, or the golden ones.
setup build
build release berth-deschedule-check >&2
if [ "${1:-}" != --seeds ]; then
  exec build/release/bin/berth-deschedule-check tests/rebalance/cases.jsonl.zst
fi
[[ ${2:-} =~ ^([0-9]+)\.\.([0-9]+)$ && ${BASH_REMATCH[2]} -ge ${BASH_REMATCH[1]} ]] || {
  echo "./dev deschedule-check --seeds A..B: ${2:-nothing} is no range of seeds" >&2
  exit 2
}
first=${BASH_REMATCH[1]} count=$((BASH_REMATCH[2] - BASH_REMATCH[1] + 1))
program=$(tests/differential/oracle.sh descheduler)
"$program" gen -seed "$first" -count "$count" | build/release/bin/berth-deschedule-check -
