#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# compare.sh BERTH_BINARY: berth and the real kube-scheduler by turns, with the same flags, on a fresh cluster each
# time, and a table of the medians. It takes the control plane that tests/e2e/controlplane.sh builds.
#
#   KUBERNETES=1.37     the version of control plane and kube-scheduler, and what berth follows; or 1.36
#   RUNS=3              runs of each
#   SERVER=kube-apiserver, or embedded for berth's own API server
#   WORKLOAD=basic NODES=1000 EXISTING=1000 PODS=5000 ORDER=live
#   RATE=0              pods a second, instead of as fast as the API server takes them
#   NULL=               1: by turns with bench's blind binder as well, which is the API server's own limit
#   SERVING=            1: by turns with berth-serving as well: with leader election and the secure port, whose metrics are
#                       read every 15 seconds; bare berth and kube-scheduler have neither
#   QUIET=30s           wait so long for an idle machine before each run
#   OUT=build/bench/cluster.jsonl   where each run's JSON line is appended
#
# The schedulers are commands with {kubeconfig} in them; BERTH_FLAGS is added to berth's.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
binary=${1:?usage: compare.sh BERTH_BINARY}
if [[ ! -x $binary || -d $binary ]]; then
  echo "bench: $binary is not a program; build berth first" >&2
  exit 2
fi
binary=$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")
runs=${RUNS:-3} server=${SERVER:-kube-apiserver} workload=${WORKLOAD:-basic} quiet=${QUIET:-30s}
out=${OUT:-$root/build/bench/cluster.jsonl}
case $server in
  kube-apiserver | embedded) ;;
  *)
    echo "bench: SERVER is kube-apiserver or embedded, not $server" >&2
    exit 2
    ;;
esac

kubernetes=${KUBERNETES:-1.37}
BIN=$("$root/tests/e2e/controlplane.sh" build "$kubernetes")
scratch=/dev/shm # etcd's files are not what is measured
[[ -w $scratch ]] || scratch=${TMPDIR:-/tmp}
WORK=$(mktemp -d "$scratch/berth-bench.XXXXXX")
export BIN WORK

# A port below the range of outgoing connections that nobody listens on, and the one after it.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 6000 * 2))
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && ! (exec 3<>"/dev/tcp/127.0.0.1/$((port + 1))") 2>/dev/null; then
      echo "$port"
      return
    fi
  done
}

embedded=
stop() {
  if [[ -n $embedded ]]; then
    kill -KILL "$embedded" 2>/dev/null || true
    wait "$embedded" 2>/dev/null || true
    embedded=
  fi
  "$here/cluster.sh" down
}
# Reads the metrics of the secure port $1 every 15 seconds, the first time after one.
scraping=
scrape() {
  while sleep "${pause:-1}"; do
    pause=15
    curl --silent --insecure --fail --output /dev/null "https://127.0.0.1:$1/metrics" && echo "$SECONDS" >>"$WORK/scrapes"
  done
}
measuring=
finish() {
  [[ -z $scraping ]] || kill -KILL "$scraping" 2>/dev/null || true
  # bench takes the scheduler that it started with it.
  [[ -z $measuring ]] || kill -KILL "$measuring" 2>/dev/null || true
  stop
  rm -rf "$WORK"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# start: a fresh API server; leaves bench's flags for it in $target.
target=()
start() {
  PORT=$(free_port) ETCD_PORT=$(free_port)
  export PORT ETCD_PORT
  if [[ $server == kube-apiserver ]]; then
    "$here/cluster.sh" up
    read -ra target < <("$here/cluster.sh" args)
    return
  fi
  "$binary" apiserver --listen "127.0.0.1:$PORT" >"$WORK/apiserver.log" 2>&1 &
  embedded=$!
  cat >"$WORK/kubeconfig" <<C
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:$PORT"}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
C
  local _
  for _ in $(seq 100); do
    if "$BIN/kubectl" --kubeconfig "$WORK/kubeconfig" --cache-dir "$WORK/kubectl" get --raw /version >/dev/null 2>&1; then
      target=(-kubeconfig "$WORK/kubeconfig" -content-type json -pids "apiserver=$embedded")
      return
    fi
    sleep 0.1
  done
  echo "bench: berth apiserver does not answer:" >&2
  tail -n 5 "$WORK/apiserver.log" >&2
  exit 1
}

(cd "$here" && CGO_ENABLED=0 go build -o "$WORK/bench" .)
sizes=(-workload "$workload" -order "${ORDER:-live}" -rate "${RATE:-0}")
[[ -z ${NODES:=1000} ]] || sizes+=(-nodes "$NODES")
[[ -z ${EXISTING:=1000} ]] || sizes+=(-existing "$EXISTING")
[[ -z ${PODS:=5000} ]] || sizes+=(-pods "$PODS")
kube_flags="--kube-api-qps 5000 --kube-api-burst 10000 --leader-elect=false --secure-port 0"
[[ $server == kube-apiserver ]] || kube_flags+=" --kube-api-content-type application/json"

lines=$WORK/lines.jsonl
labels=(berth kube-scheduler)
[[ -z ${NULL:-} ]] || labels+=(null)
[[ -z ${SERVING:-} ]] || labels=(berth-serving "${labels[@]}")
secure_port=$(free_port)
serving_flags="--secure-port $secure_port --authentication-kubeconfig {kubeconfig} --authorization-kubeconfig {kubeconfig}"
serving_flags+=" --authorization-always-allow-paths /healthz,/readyz,/livez,/metrics"
for ((run = 1; run <= runs; run++)); do
  for label in "${labels[@]}"; do
    case $label in
      berth) scheduler=(-scheduler-cmd "$binary run --kubeconfig {kubeconfig} --kubernetes-version $kubernetes --leader-elect=false ${BERTH_FLAGS:-}") ;;
      berth-serving) scheduler=(-scheduler-cmd "$binary run --kubeconfig {kubeconfig} --kubernetes-version $kubernetes $serving_flags ${BERTH_FLAGS:-}") ;;
      null) scheduler=(-scheduler null -null-events) ;;
      *) scheduler=(-scheduler-cmd "$BIN/kube-scheduler --kubeconfig {kubeconfig} $kube_flags") ;;
    esac
    echo "bench: run $run of $runs: $label on $server, Kubernetes $kubernetes" >&2
    start
    # In the background, so that a signal to this script does not wait for the run to end.
    "$WORK/bench" "${target[@]}" "${sizes[@]}" -clean=false -quiet "$quiet" -label "$label" \
      -scheduler-log "$WORK/$label.log" "${scheduler[@]}" >"$WORK/line" 2>"$WORK/bench.log" &
    measuring=$!
    if [[ $label == berth-serving ]]; then
      : >"$WORK/scrapes"
      scrape "$secure_port" &
      scraping=$!
    fi
    if ! wait "$measuring"; then
      measuring=
      echo "bench: the run failed:" >&2
      tail -n 5 "$WORK/bench.log" "$WORK/$label.log" >&2 || true
      exit 1
    fi
    measuring=
    if [[ -n $scraping ]]; then
      kill "$scraping"
      wait "$scraping" 2>/dev/null || true
      scraping=
      echo "bench: the metrics were read $(wc -l <"$WORK/scrapes") times" >&2
    fi
    cat "$WORK/line" >>"$lines"
    stop
  done
done
mkdir -p "$(dirname "$out")"
cat "$lines" >>"$out"
# The blind binder is no process of its own, and has no figures of one.
grep -v '"label":"null"' "$lines" | "$WORK/bench" -summary
[[ -z ${NULL:-} ]] || python3 "$here/table.py" table "$lines"
