# SPDX-License-Identifier: Apache-2.0
"""berth rebalance run --execute by what is measured, against `berth apiserver` beside `berth run`: a Prometheus that lies or
hangs moves nothing and says why, one that answers moves pods; metrics-server that is not there is said, too. And a node
that is emptied is cordoned first."""

import json
import time
import unittest

from outside import OutsideServer, Reply
from support import Api, Process, free_port, wait_until
from test_rebalance_run import QUICK, Gate, NodesTest

HEAD = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n"
QUERY = "/p/api/v1/query"
HOT, COOL = 0.9, 0.1


def vector(series: list[tuple[dict, float | str]]) -> Reply:
    result = [{"metric": labels, "value": [time.time(), str(value)]} for labels, value in series]
    return Reply(json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}))


def nodes(*values: float | str) -> Reply:
    return vector([({"instance": f"node-{i + 1}"}, value) for i, value in enumerate(values)])


class RebalanceMetrics(NodesTest):
    def setUp(self):
        super().setUp()
        self.gate = Gate(self, self.api)
        Process(self, "run", "--master", self.api.url, "--leader-elect=false")

    def run_rebalance(self, policy: str, *arguments: str) -> Process:
        return Process(self, "rebalance", "run", "--policy", str(self.file("policy.yaml", HEAD + policy)), "--master", self.gate.url,
                       "--leader-elect=false", *QUICK, *arguments)

    def shun(self, node: str) -> None:
        """Else the scheduler, which is not told, would put a pod back where there are fewest of its kind: then it stays."""
        taints = [{"key": "hot", "effect": "PreferNoSchedule"}]
        status, answer = self.api.call("PATCH", f"/api/v1/nodes/{node}", {"spec": {"taints": taints}}, Api.MERGE_PATCH)
        self.assertEqual(status, 200, answer)

    def test_low_node_utilization_by_prometheus(self):
        prometheus = OutsideServer(self)
        policy = f"""metricsProviders: [{{source: Prometheus, prometheus: {{url: "{prometheus.url}/p/"}}}}]
profiles:
- name: default
  pluginConfig:
  - name: LowNodeUtilization
    args:
      thresholds: {{MetricResource: 20}}
      targetThresholds: {{MetricResource: 60}}
      metricsUtilization: {{source: Prometheus, prometheus: {{query: "load > 0"}}}}
  plugins: {{balance: {{enabled: [LowNodeUtilization]}}}}
"""
        self.deployment("web", 6)
        self.shun("node-1")
        address = f"127.0.0.1:{free_port()}"
        prometheus.answers[QUERY] = lambda _: nodes(88, COOL, COOL)
        process = self.run_rebalance(policy, "--execute", "--metrics-bind-address", address)
        process.wait_for("err", r'"Round" result="waiting" waitsFor="Prometheus: \\"node-1\\" has the value 88')
        self.assertIn(QUERY + "?query=load%20%3E%200", prometheus.asked[0])

        def paused():
            return [item for item in self.api.get("/apis/events.k8s.io/v1/namespaces/kube-system/events")["items"]
                    if item["reason"] == "RebalancePaused"]

        wait_until("an event says so", lambda: len(paused()) == 1)
        self.assertIn("Nothing is moved: Prometheus: ", paused()[0]["note"])
        self.assertEqual(paused()[0]["regarding"]["name"], "berth-rebalancer")
        wait_until("a metric says so", lambda: self.waiting(address) == 1)
        prometheus.answers[QUERY] = lambda _: nodes("NaN", COOL, COOL)
        process.wait_for("err", r'waitsFor="Prometheus: a value is no finite number')
        prometheus.answers[QUERY] = Reply("", after=60)
        process.wait_for("err", r'waitsFor="Prometheus: .*(time|10s)', 30)
        self.assertEqual(self.gate.evictions(), [])

        def hot_once(_):
            prometheus.answers[QUERY] = lambda _: nodes(0.3, 0.3, 0.3)
            return nodes(HOT, COOL, COOL)

        prometheus.answers[QUERY] = hot_once
        process.wait_for("err", r'"Evicted" .*why="its node is too full, as it is measured: 90 %"', 30)
        self.wait_for_rounds(process, 2, "quiet")
        self.assertEqual(len(self.gate.evictions()), 1, "one, and then it is measured again")
        wait_until("it does not wait any more", lambda: self.waiting(address) == 0)
        self.wait_for_ready(6)

    def waiting(self, address: str) -> float:
        return self.metric(address, r'berth_rebalance_waiting{reason="metrics"}')

    def test_a_pod_moves_by_its_own_metric(self):
        prometheus = OutsideServer(self)
        self.deployment("web", 3)
        self.shun("node-1")
        failing = self.on("node-1")[0]

        def errors(_):
            return vector([({"namespace": "default", "pod": item["metadata"]["name"]},
                            HOT if item["metadata"]["name"] == failing else COOL) for item in self.ready("web")])

        prometheus.answers[QUERY] = errors
        process = self.run_rebalance(f"""metricsProviders: [{{source: Prometheus, prometheus: {{url: "{prometheus.url}/p/"}}}}]
profiles:
- name: default
  pluginConfig: [{{name: CustomMetric, args: {{query: errors, of: pod, above: 0.5}}}}]
  plugins: {{deschedule: {{enabled: [CustomMetric]}}}}
""", "--execute")
        process.wait_for("err", rf'"Evicted" pod="default/{failing}" .*strategy="CustomMetric"')
        self.wait_for_rounds(process, 2, "quiet")
        self.assertEqual(self.gate.evictions(), [failing])
        self.wait_for_ready(3, "web")
        self.assertEqual(self.on("node-1"), [], "the new one is elsewhere")

    def test_metrics_server_is_not_there(self):
        process = self.run_rebalance("""metricsProviders: [{source: KubernetesMetrics}]
profiles:
- name: default
  pluginConfig:
  - name: LowNodeUtilization
    args: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}, metricsUtilization: {source: KubernetesMetrics}}
  plugins: {balance: {enabled: [LowNodeUtilization]}}
""")
        process.wait_for("err", r'"Round" result="waiting" waitsFor="metrics-server: ')

    def test_a_node_is_cordoned_and_emptied(self):
        self.deployment("web", 6)
        self.assertEqual([len(self.on(f"node-{i}")) for i in (1, 2, 3)], [2, 2, 2])
        process = self.run_rebalance("""profiles:
- name: default
  pluginConfig: [{name: Consolidate, args: {keepNodes: 2}}]
  plugins: {balance: {enabled: [Consolidate]}}
""", "--execute")
        wait_until("a node is empty", lambda: sorted(len(self.on(f"node-{i}")) for i in (1, 2, 3)) == [0, 3, 3])
        self.wait_for_ready(6)
        self.wait_for_rounds(process, 2, "quiet")
        items = self.api.get("/api/v1/nodes")["items"]
        cordoned = [item for item in items if item["spec"].get("unschedulable")]
        self.assertEqual([item["metadata"]["name"] for item in cordoned], [f"node-{i}" for i in (1, 2, 3) if not self.on(f"node-{i}")])
        self.assertIn("berth.dev/consolidating", cordoned[0]["metadata"]["annotations"])
        self.assertEqual(len(self.gate.evictions()), 2, "one in each of two rounds, as --moves-per-owner has it")
        first = next(write for write in self.gate.writes() if "/nodes/" in write or "eviction" in write)
        self.assertTrue(first.startswith("PATCH /api/v1/nodes/"), "it is cordoned before its first pod leaves")


if __name__ == "__main__":
    unittest.main()
