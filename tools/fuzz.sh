#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev fuzz [smoke] [SECONDS]: every fuzz target for a while.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/dev/functions.sh
source tools/dev/functions.sh

setup build check
preset=fuzz seconds=${1:-60}
[ "${1:-}" != smoke ] || preset=asan seconds=${2:-5}
build "$preset" berth_fuzz_targets
fuzz_one() {
  local preset=$1 seconds=$2 name
  name=$(basename "$3" _fuzz)
  # What it finds goes to build/, the seeds stay as they are.
  mkdir -p "build/$preset/corpus/$name"
  local dictionary=()
  [ ! -f "fuzz/dictionary/$name" ] || dictionary=("-dict=fuzz/dictionary/$name")
  # Seeds that cover nothing new are varied too (-keep_seed): the asan preset counts little of what a run covers.
  "$3" "${dictionary[@]}" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -keep_seed=1 \
    -print_final_stats=0 -verbosity=0 -artifact_prefix="build/$preset/$name-" "build/$preset/corpus/$name" "fuzz/corpus/$name" || {
    echo "fuzz: $name failed; its input is build/$preset/$name-*" >&2
    return 1
  }
  echo "fuzz: $name, $seconds s"
}
export -f fuzz_one
printf '%s\0' build/"$preset"/bin/*_fuzz |
  xargs -0 -P "$(nproc)" -I {} bash -c 'fuzz_one "$@"' fuzz "$preset" "$seconds" {}
