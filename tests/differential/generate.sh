#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# generate.sh BERTH_CONFORMANCE --seeds A..B [...]: makes cases nobody has seen, lets the real kube-scheduler answer them
# and berth decide them, and compares. `./dev conformance --seeds A..B` calls this; see usage below.
#
# Cases that pass are deleted; the others stay in build/conformance/FAMILY/SEED.json.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
batch_cases_max=100 # a batch is generated, compared and deleted as a whole: this bounds the room on disk
number_max=1000000  # keeps the arithmetic of seeds far away from overflow
chance_tries=12     # how often kube-scheduler is asked again about a case that differs

usage() {
  cat <<'TEXT'
./dev conformance --seeds A..B [--families F,F|all] [--count N] [--nodes MIN..MAX] [--pods MIN..MAX]
                  [--existing MIN..MAX] [--jobs J] [--kubernetes 1.34|1.35|1.36|1.37|1.38]
  --seeds     the generator's seeds, first and last
  --families  which kinds of cases (all of them but podgroups, groupclaims and compositegroups, which take longer: docs/pod-groups.md)
  --count     cases of each family for one seed (1); seed S then stands for the generator's (S-1)*N+1 to S*N
  --nodes, --pods, --existing   nodes, pending pods and running pods of a case, instead of the family's own numbers
  --jobs      how many batches at a time (one a processor)
  --kubernetes   the kube-scheduler that answers (1.36)
Before, what upstream's sources say of that version (default plugins, feature gates, flags, metrics, texts) is compared with
tests/differential/upstream/VERSION.txt.
TEXT
}

fail() {
  echo "./dev conformance: $*" >&2
  exit 2
}

# is_chance FAMILY CASE: kube-scheduler, asked again about the same case, answers something else. The oracle asks several times
# before it gives an answer (docs/new-kubernetes-version.md), which chance agrees with now and then.
is_chance() {
  local family=$1 case=$2 seed again try
  seed=$((10#$(basename "$case" .json)))
  again=$(mktemp -d "$work/again.XXXXXX")
  for ((try = 0; try < chance_tries; try++)); do
    # shellcheck disable=SC2086 # the sizes are words
    "$oracle" gen -family "$family" -seed "$seed" -count 1 $sizes -out "$again" >/dev/null 2>&1 || true
    if ! cmp -s "$case" "$again/$family/$(basename "$case")"; then
      rm -rf "$again"
      return 0
    fi
    rm -rf "${again:?}/$family"
  done
  rm -rf "$again"
  return 1
}

# batch FAMILY FIRST COUNT: one line "FAMILY passed failed unanswered chance" into results/, failing cases into $kept/FAMILY.
batch() {
  local family=$1 first=$2 count=$3 folder status=0 answered failed unanswered chance=0 case
  folder=$work/$family-$first
  mkdir "$folder"
  # shellcheck disable=SC2086 # the sizes are words
  "$oracle" gen -family "$family" -seed "$first" -count "$count" $sizes -out "$folder" 2>"$folder/errors" || true
  answered=$(find "$folder/$family" -name '*.json' | wc -l)
  unanswered=$(find "$folder/$family" -name '*.failed' | wc -l)
  if ((answered + unanswered != count)); then
    cat "$folder/errors" >&2
    echo "conformance: the oracle made $answered of $count cases of $family from seed $first" >&2
    exit 255 # xargs ends
  fi
  failed=0
  if ((answered > 0)); then
    "$conformance" --failed "$folder/failed" "$folder/$family" >"$folder/report" 2>&1 || status=$?
    if ((status > 1)); then
      # It ended without a verdict: one case after the other tells which one it was.
      : >"$folder/failed"
      for case in "$folder/$family"/*.json; do
        "$conformance" "$case" >>"$folder/report" 2>&1 || echo "$case" >>"$folder/failed"
      done
    fi
    local differing
    mapfile -t differing <"$folder/failed"
    : >"$folder/failed"
    for case in "${differing[@]}"; do
      if is_chance "$family" "$case"; then
        ((++chance))
      else
        echo "$case" >>"$folder/failed"
      fi
    done
    failed=$(wc -l <"$folder/failed")
    if ((chance > 0 && failed > 0)); then
      xargs -d '\n' "$conformance" <"$folder/failed" >"$folder/report" 2>&1 || true
    fi
  fi
  if ((failed + unanswered > 0)); then
    mkdir -p "$kept/$family"
    xargs -r -d '\n' mv -t "$kept/$family" <"$folder/failed"
    find "$folder/$family" -name '*.failed' -exec mv -t "$kept/$family" {} +
    if ((failed > 0)); then grep -m 3 '^  ' "$folder/report" | cut -c 1-600 >"$work/results/$family-$first.report" || true; fi
    if ((unanswered > 0)); then cat "$folder/errors" >>"$work/results/$family-$first.report"; fi
  fi
  echo "$family $((answered - failed - chance)) $failed $unanswered $chance" >"$work/results/$family-$first.line"
  rm -rf "$folder"
}

if [[ ${1:-} == --batch ]]; then
  batch "$2" "$3" "$4"
  exit
fi

[[ $# -ge 1 && -x $1 ]] || fail "the first argument is the program berth-conformance"
conformance=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift

range() { # OPTION VALUE: two numbers, or the end
  [[ $2 =~ ^([0-9]{1,7})(\.\.([0-9]{1,7}))?$ ]] || fail "$1 $2: want MIN..MAX, as in 1..20"
  low=$((10#${BASH_REMATCH[1]})) high=$((10#${BASH_REMATCH[3]:-${BASH_REMATCH[1]}}))
  ((low >= 1 && low <= high && high <= number_max)) || fail "$1 $2: want 1 <= MIN <= MAX <= $number_max"
}

seeds='' kubernetes=1.36 families=all count=1 jobs=$(nproc) sizes='' asked=''
while (($# > 0)); do
  option=$1
  case $option in
    -h | --help)
      usage
      exit
      ;;
    --seeds | --families | --count | --nodes | --pods | --existing | --jobs | --kubernetes) ;;
    *) fail "$option: no such argument; with --seeds there are --families, --count, --nodes, --pods, --existing, --jobs and --kubernetes" ;;
  esac
  (($# > 1)) || fail "$option: a value is missing"
  value=$2
  shift 2
  case $option in
    --seeds) range --seeds "$value" && seeds=$value first=$low last=$high ;;
    --families) families=$value ;;
    --kubernetes)
      [[ $value =~ ^1\.[0-9]{1,3}$ ]] || fail "--kubernetes $value: want a version such as 1.37"
      kubernetes=$value
      ;;
    --count) range --count "$value" && [[ $low == "$high" ]] && count=$low || fail "--count $value: want one number" ;;
    --jobs) range --jobs "$value" && [[ $low == "$high" ]] && jobs=$low || fail "--jobs $value: want one number" ;;
    *)
      range "$option" "$value"
      sizes+=" -${option#--} $low..$high"
      asked+=" $option $low..$high"
      ;;
  esac
done
[[ -n $seeds ]] || fail "--seeds A..B is missing"
((last * count <= number_max)) || fail "--seeds $seeds --count $count: more than $number_max seeds"

oracle=$("$here/oracle.sh" oracle "$kubernetes")
(cd "$here/upstream" && go test . >&2 && go run . "$kubernetes")
all=$("$oracle" families | awk '{print $1}')
if [[ $families == all ]]; then
  chosen=$(grep -vxE 'podgroups|groupclaims|compositegroups' <<<"$all")
else
  chosen=$(tr ',' '\n' <<<"$families" | awk 'NF && !seen[$0]++')
  for family in $chosen; do
    grep -qxF -- "$family" <<<"$all" || fail "--families $family: no such family; there are $(tr '\n' ' ' <<<"$all")"
  done
  [[ -n $chosen ]] || fail "--families: a name is missing"
fi

kept=$root/build/conformance
rm -rf "$kept"
mkdir -p "$kept"
work=$(mktemp -d "${TMPDIR:-/tmp}/berth-conformance.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir "$work/results"

from=$(((first - 1) * count + 1)) to=$((last * count))
began=$SECONDS
export oracle conformance sizes kept work
for family in $chosen; do
  for ((seed = from; seed <= to; seed += batch_cases_max)); do
    left=$((to - seed + 1))
    echo "$family $seed $((left < batch_cases_max ? left : batch_cases_max))"
  done
done | xargs -P "$jobs" -L 1 "$here/generate.sh" --batch || {
  echo "conformance: ended early" >&2
  exit 1
}

status=0
# A line a family, in the order asked for, and the sum.
cat "$work"/results/*.line | awk -v order="$(tr '\n' ' ' <<<"$chosen")" '
  {passed[$1] += $2; failed[$1] += $3; unanswered[$1] += $4; chance[$1] += $5}
  function say(name, p, f, u, c) {
    printf "%-24s %6d passed, %d failed%s%s\n", name, p, f, u ? ", " u " without an answer" : "",
      c ? ", " c " that kube-scheduler answers by chance" : ""
  }
  END {
    n = split(order, names, " ")
    for (i = 1; i <= n; i++) {
      name = names[i]
      say(name, passed[name], failed[name], unanswered[name], chance[name])
      p += passed[name]; f += failed[name]; u += unanswered[name]; c += chance[name]
    }
    say("total", p, f, u, c)
    exit f + u > 0
  }' || status=1
echo "seeds $from..$to in $((SECONDS - began)) s"
if ((status != 0)); then
  for family in $chosen; do
    [[ -d $kept/$family ]] || continue
    cases=("$kept/$family"/*)
    case=${cases[0]}
    echo
    echo "$family:"
    cat "$work/results/$family"-*.report >"$work/report" && head -n 3 "$work/report"
    seed=$((10#$(basename "$case" | cut -d. -f1)))
    echo "  again: ./dev conformance ${case#"$root"/}"
    echo "  afresh: ./dev conformance --seeds $seed..$seed --families $family$asked --kubernetes $kubernetes"
  done
fi
exit $status
