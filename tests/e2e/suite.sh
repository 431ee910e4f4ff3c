# SPDX-License-Identifier: Apache-2.0
# For scripts that run a compiled test of Go (run.sh, hostile.sh): its scratch folder, its end, its logs. To be sourced.

# begin_suite NAME: makes the folder $work, which goes when the script ends, and the suite with it.
begin_suite() {
  work=$(mktemp -d "${TMPDIR:-/tmp}/berth-$1.XXXXXX")
  suite=
  trap end_suite EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# build_clock: for tests that set the clock of the day of the programs they start (harness/clock.go).
build_clock() {
  export BERTH_E2E_CLOCK=$work/step_clock.so
  "${CC:-cc}" -shared -fPIC -O2 -Wall -Wextra -o "$BERTH_E2E_CLOCK" clock/step_clock.c
}

end_suite() {
  # The suite's own children die with it, by the kernel's hand.
  if [[ -n $suite ]] && kill -0 "$suite" 2>/dev/null; then
    kill -KILL "$suite" 2>/dev/null || true
    wait "$suite" 2>/dev/null || true
  fi
  rm -rf "$work"
}

# run_suite PROGRAM [ARGUMENTS]: its exit status is in $status.
run_suite() {
  status=0
  TMPDIR=$work "$@" &
  suite=$!
  wait "$suite" || status=$?
  suite=
}

# keep_logs FOLDER [FIND'S TESTS]: copies these files of the scratch folder.
keep_logs() {
  local folder=$1
  shift
  rm -rf "$folder"
  mkdir -p "$folder"
  (cd "$work" && find . -type f "$@" -exec cp --parents -t "$folder" {} +)
}
