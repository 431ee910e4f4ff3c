#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cluster.sh up|down|args: a fresh etcd and kube-apiserver on loopback, for bench.
#
# BIN: the folder with etcd, kube-apiserver and kubectl (tests/e2e/controlplane.sh build prints it).
# WORK: a scratch folder, best on a tmpfs. PORT, ETCD_PORT, APISERVER_ARGS: optional.
set -euo pipefail

: "${BIN:?}" "${WORK:?}"
PORT=${PORT:-16443} ETCD_PORT=${ETCD_PORT:-12379}

down() {
  local name id
  for name in apiserver etcd; do
    [[ -f $WORK/$name.pid ]] || continue
    id=$(<"$WORK/$name.pid")
    kill -KILL "$id" 2>/dev/null || true
    # Whoever started it may not have reaped it yet: a zombie has let go of its port.
    while [[ -d /proc/$id ]] && ! grep -q '^State:.Z' "/proc/$id/status" 2>/dev/null; do sleep 0.05; done
    rm -f "$WORK/$name.pid"
  done
  rm -rf "$WORK/etcd"
}

up() {
  down
  mkdir -p "$WORK/certs" "$WORK/etcd"
  chmod 700 "$WORK/etcd"
  if [[ ! -f $WORK/sa.key ]]; then
    openssl genrsa -out "$WORK/sa.key" 2048 2>/dev/null
  fi
  echo 'bench-token,admin,1000,system:masters' >"$WORK/tokens.csv"
  cat >"$WORK/kubeconfig" <<C
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:$PORT", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: bench-token}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
C
  local client=http://127.0.0.1:$ETCD_PORT peer=http://127.0.0.1:$((ETCD_PORT + 1))
  setsid "$BIN/etcd" --name bench --data-dir "$WORK/etcd" --unsafe-no-fsync --quota-backend-bytes 8589934592 --snapshot-count 100000 --log-level warn \
    --listen-client-urls "$client" --advertise-client-urls "$client" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "bench=$peer" \
    >"$WORK/etcd.log" 2>&1 &
  echo $! >"$WORK/etcd.pid"
  # Neither authorization nor limits: what is measured is the scheduler, and nothing here may hold it back.
  # shellcheck disable=SC2086 # APISERVER_ARGS is a list
  setsid "$BIN/kube-apiserver" --etcd-servers "$client" --bind-address 127.0.0.1 --advertise-address 127.0.0.1 --secure-port "$PORT" --cert-dir "$WORK/certs" \
    --service-cluster-ip-range 10.0.0.0/16 --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$WORK/sa.key" --service-account-signing-key-file "$WORK/sa.key" \
    --token-auth-file "$WORK/tokens.csv" --authorization-mode AlwaysAllow --disable-admission-plugins ServiceAccount,TaintNodesByCondition,Priority \
    --max-requests-inflight 0 --max-mutating-requests-inflight 0 --enable-priority-and-fairness=false --endpoint-reconciler-type none --allow-privileged --profiling=false ${APISERVER_ARGS:-} \
    >"$WORK/apiserver.log" 2>&1 &
  echo $! >"$WORK/apiserver.pid"
  local _
  for _ in $(seq 150); do
    if "$BIN/kubectl" --kubeconfig "$WORK/kubeconfig" --cache-dir "$WORK/kubectl" get --raw /readyz >/dev/null 2>&1; then
      sleep 1
      return
    fi
    sleep 0.3
  done
  echo "the API server did not get ready; see $WORK/apiserver.log" >&2
  exit 1
}

case ${1:-} in
  up) up ;;
  down) down ;;
  args) echo "-kubeconfig $WORK/kubeconfig -pids apiserver=$(<"$WORK/apiserver.pid"),etcd=$(<"$WORK/etcd.pid")" ;;
  *)
    echo "usage: BIN=... WORK=... $0 up|down|args" >&2
    exit 2
    ;;
esac
