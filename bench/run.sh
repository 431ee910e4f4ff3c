#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev bench: what berth costs, alone, beside another revision, and beside kube-scheduler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/dev/functions.sh
source tools/dev/functions.sh

usage() {
  cat <<'TEXT'
./dev bench              the core alone, then the whole program beside kube-scheduler (needs Go 1.26)
./dev bench core|others|bad [...]    the core alone, with its targets (--nodes 100000, --verify; docs/benchmarks.md)
./dev bench policies [...]           what each policy of deploy/config costs a pod, beside the default profile (--runs R)
./dev bench grow                     whether bad input costs more than its share
./dev bench compare REV [...]        the core of another revision and that of this tree, by turns
./dev bench cluster | table [...]    beside kube-scheduler alone: one workload | all of them, with their targets
./dev bench gangs [...]              gangs on the real control plane of 1.37, whose API server is killed: berth, then kube-scheduler
                                     (--gangs, --nodes, --rate, --seed; docs/pod-groups.md)
./dev bench simulate [...]              how long `berth simulate` takes on 5,000 nodes and 50,000 pods, with its targets
./dev bench rebalance [...]          plans for the whole cluster beside CBC's optimum (coinor-cbc), and their time, with targets
./dev bench buy [...]                prices of berth buy beside the optimum, which CBC finds (--count N)
./dev bench buy karpenter [...]      berth buy beside Karpenter's scheduler, same pods and instance types (--cases, --pods; needs Go)
./dev bench buy autoscaler --source FOLDER   beside cluster-autoscaler's BenchmarkBinpackingEstimate (needs Go and a checkout)
./dev bench descheduler [...]        berth run --rebalance beside descheduler 0.36 on the real control plane (needs Go 1.26;
                                     bench/descheduler)
./dev bench promises [...]           what an answer to a ProvisioningRequest costs, and whether promises hold when more is asked for than
                                     there is, with targets (--requests, --instructions; docs/provisioning-requests.md);
                                     `promises served`: how long its client waits, with a target (--requests, --rate), or, with
                                     --contend, whether promises hold through a restart while others want the room
./dev bench explain [...]            what questions to a running scheduler cost the pods it schedules, with a target
./dev bench page [...]               what 50 open pages cost berth run at 500 pods a second, and how long pods wait, with targets
                                     (--readers, --rate, --instructions)
./dev bench recording [...]             what `berth run --record` costs a pod, by turns with runs without it, with its target
./dev bench embedded [...]           pods created over HTTP on berth's own API server, and bound, with its target
./dev bench soak [-minutes M] [-plot FILE.svg]   pods come and go for an hour while requests fail: whether anything grows
./dev bench plot                     cost a pod against the number of nodes, for docs/benchmarks.md
TEXT
}

# Another revision's core under this tree's berth-bench, so that both are asked the same; under its own where that does
# not compile. In a working tree of its own, whose paths ccache takes as relative: what is equal is compiled once.
bench_of() {
  local revision tree
  revision=$(git rev-parse --verify --quiet "$1^{commit}") || {
    echo "./dev bench compare $1: no such revision" >&2
    exit 2
  }
  tree=$PWD/build/bench/tree-${revision:0:12}
  [ -e "$tree/CMakeLists.txt" ] || git worktree add --quiet --detach --force "$tree" "$revision"
  rm -rf "$tree/apps/bench"
  cp -r apps/bench "$tree/apps/"
  (
    export CCACHE_BASEDIR=$tree
    cd "$tree"
    # Its own packages: it may need some that this tree does without.
    { ./dev setup && cmake --preset release; } >configure.log 2>&1 || {
      cat configure.log
      exit 1
    }
    cmake --build build/release --target berth-bench || {
      say "berth-bench as it was then"
      rm -rf apps/bench
      git restore apps/bench
      cmake --build build/release --target berth-bench
    }
  ) >&2
  echo "$tree/build/release/bin/berth-bench"
}

setup build
what=${1:-}
[ $# -gt 0 ] && shift
case $what in
  help | -h | --help) usage ;;
  "")
    build release berth berth-bench >&2
    python3 bench/core.py run build/release/bin/berth-bench --out build/bench/core.jsonl || say "not all targets are met"
    exec bench/cluster/compare.sh build/release/bin/berth
    ;;
  policies)
    build release berth-bench >&2
    exec python3 bench/policies.py build/release/bin/berth-bench deploy/config/*.yaml "$@"
    ;;
  grow)
    build release berth-bench >&2
    exec python3 bench/core.py grow build/release/bin/berth-bench "$@"
    ;;
  core | others | bad)
    build release berth-bench >&2
    exec python3 bench/core.py run build/release/bin/berth-bench --set "$what" --out build/bench/core.jsonl "$@"
    ;;
  compare)
    revision=${1:?usage: ./dev bench compare REV [--nodes N] [--runs R] [--only WORKLOAD,...]}
    shift
    build release berth-bench >&2
    before=$(bench_of "$revision")
    exec python3 bench/core.py compare "$before" build/release/bin/berth-bench "$@"
    ;;
  plot)
    build release berth-bench >&2
    python3 bench/core.py sweep build/release/bin/berth-bench --out build/bench/sweep.jsonl "$@"
    clusters=(--cluster bench/cluster/baseline-kube-scheduler-1.36.3-2core.jsonl)
    [ ! -e build/bench/cluster.jsonl ] || clusters+=(--cluster build/bench/cluster.jsonl)
    exec python3 bench/core.py plot --core build/bench/sweep.jsonl "${clusters[@]}" --out docs/cost-per-pod.svg
    ;;
  soak)
    build release berth >&2
    (cd bench/soak && CGO_ENABLED=0 go build -o ../../build/soak-bench .)
    exec build/soak-bench "$@" build/release/bin/berth
    ;;
  simulate)
    build release berth >&2
    exec python3 bench/simulate.py build/release/bin/berth "$@"
    ;;
  buy)
    setup bench
    build release berth >&2
    case ${1:-} in
      karpenter | autoscaler) exec python3 -B bench/buy/peers.py build/release/bin/berth "$@" ;;
    esac
    exec python3 bench/buy/against_cbc.py build/release/bin/berth "$@"
    ;;
  rebalance)
    setup bench
    build release berth >&2
    exec python3 bench/rebalance.py build/release/bin/berth "$@"
    ;;
  descheduler)
    build release berth >&2
    controlplane=$(tests/e2e/controlplane.sh build 1.36)
    mkdir -p build/bench
    # Without cgo they share their compiled packages with the control plane.
    (cd tests/differential/descheduler && CGO_ENABLED=0 go build -o ../../../build/bench/descheduler sigs.k8s.io/descheduler/cmd/descheduler)
    (cd bench/descheduler && CGO_ENABLED=0 go build -o ../../build/bench/descheduler-bench .)
    # The machine may have other work.
    exec nice -n 5 build/bench/descheduler-bench -bin "$controlplane" -descheduler "$PWD/build/bench/descheduler" \
      -berth "$PWD/build/release/bin/berth" "$@"
    ;;
  promises)
    if [ "${1:-}" = served ]; then
      shift
      build release berth >&2
      exec python3 bench/promises_served.py build/release/bin/berth "$@"
    fi
    build release berth-promise-bench >&2
    exec python3 bench/promises.py build/release/bin/berth-promise-bench "$@"
    ;;
  explain)
    build release berth >&2
    exec python3 bench/explain.py build/release/bin/berth "$@"
    ;;
  page)
    build release berth >&2
    exec python3 bench/page.py build/release/bin/berth "$@"
    ;;
  recording)
    build release berth >&2
    exec python3 bench/recording.py build/release/bin/berth "$@"
    ;;
  embedded)
    build release berth-bench-embedded >&2
    exec build/release/bin/berth-bench-embedded --min 10000 "$@"
    ;;
  gangs)
    build release berth >&2
    mkdir -p build/bench
    export BERTH_E2E_GANGS="--out $PWD/build/bench/gangs.jsonl $*"
    exec tests/e2e/run.sh build/release/bin/berth --kubernetes 1.37 -run 'TestGangsBesideKubeScheduler$' -timeout 60m
    ;;
  cluster)
    build release berth >&2
    exec bench/cluster/compare.sh build/release/bin/berth
    ;;
  table)
    build release berth >&2
    exec python3 bench/cluster/table.py run build/release/bin/berth "$@"
    ;;
  *)
    echo "./dev bench $what: no such benchmark" >&2
    usage >&2
    exit 2
    ;;
esac
