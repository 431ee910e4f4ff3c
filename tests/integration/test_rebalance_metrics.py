# SPDX-License-Identifier: Apache-2.0
"""berth rebalance run --execute by measured load, with `berth apiserver` and `berth run`: a Prometheus that lies or
hangs moves nothing and the reason is logged, one that answers moves pods; a missing metrics-server is reported, too. A
node that is being emptied is cordoned first, and is left to its administrator as soon as somebody else cordons or
uncordons it."""

import json
import time
import unittest

from outside import OutsideServer, Reply
from support import Api, Process, free_port, pod, wait_until
from test_rebalance_run import QUICK, Gate, NodesTest, Refusal

HEAD = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n"
QUERY = "/p/api/v1/query"
CONSOLIDATE = """profiles:
- name: default
  pluginConfig: [{name: Consolidate, args: {keepNodes: 2}}]
  plugins: {balance: {enabled: [Consolidate]}}
"""
MARK = "berth.dev/consolidating"
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
        """Otherwise the scheduler, which does not know the load, would put the pod back on the node with the fewest of
        its kind."""
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
        self.gate.missing = "/apis/metrics.k8s.io"
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
        process = self.run_rebalance(CONSOLIDATE, "--execute")
        wait_until("a node is empty", lambda: sorted(len(self.on(f"node-{i}")) for i in (1, 2, 3)) == [0, 3, 3])
        self.wait_for_ready(6)
        self.wait_for_rounds(process, 2, "quiet")
        items = self.api.get("/api/v1/nodes")["items"]
        cordoned = [item for item in items if item["spec"].get("unschedulable")]
        self.assertEqual([item["metadata"]["name"] for item in cordoned], [f"node-{i}" for i in (1, 2, 3) if not self.on(f"node-{i}")])
        self.assertEqual(self.mark(cordoned[0]["metadata"]["name"]), (True, "true"))
        self.assertEqual(len(self.gate.evictions()), 2, "one in each of two rounds, as --moves-per-owner has it")
        first = next(write for write in self.gate.writes() if "/nodes/" in write or "eviction" in write)
        self.assertTrue(first.startswith("PATCH /api/v1/nodes/"), "it is cordoned before its first pod leaves")
        emptied = cordoned[0]["metadata"]["name"]
        self.cordon(emptied, False)
        process.wait_for("err", rf'"Somebody else has uncordoned it: it is not emptied for a while" node="{emptied}"')
        self.wait_for_rounds(process, 2, "quiet")
        is_cordoned, mark = self.mark(emptied)
        self.assertFalse(is_cordoned)
        self.assertRegex(mark, r"^after \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")

    def cordon(self, node: str, is_cordoned: bool) -> None:
        status, answer = self.api.call("PATCH", f"/api/v1/nodes/{node}?fieldManager=kubectl-cordon",
                                       {"spec": {"unschedulable": is_cordoned or None}}, Api.MERGE_PATCH)
        self.assertEqual(status, 200, answer)

    def mark(self, name: str) -> tuple[bool, str]:
        """Whether the node is cordoned, and what berth has logged about it."""
        node = self.api.get(f"/api/v1/nodes/{name}")
        return node["spec"].get("unschedulable", False), node["metadata"].get("annotations", {}).get(MARK, "")

    def test_a_node_that_is_cordoned_at_the_same_moment_is_not_taken_over(self):
        self.deployment("web", 6)
        theirs = []

        def cordon(node: str) -> None:
            if not theirs:
                theirs.append(node)
                self.cordon(node, True)

        self.gate.on_node = cordon
        process = self.run_rebalance(CONSOLIDATE, "--execute")
        process.wait_for("err", r'"Round" result="waiting" waitsFor="node node-[123] has changed since it was read"')
        self.assertEqual(self.gate.evictions(), [])
        self.wait_for_rounds(process, 2)
        self.assertEqual(self.mark(theirs[0]), (True, ""))

    def given_up(self, happens_meanwhile) -> tuple[Process, str]:
        """A node that berth has cordoned, and that cannot be emptied any more at its next look."""
        self.deployment("web", 6)
        self.gate.on_eviction = lambda name, forward: Refusal.answer()
        first = self.run_rebalance(CONSOLIDATE, "--execute")
        first.wait_for("err", r'"The API server refused an eviction"')
        first.end()
        node, = [f"node-{i}" for i in (1, 2, 3) if self.mark(f"node-{i}") == (True, "true")]
        happens_meanwhile(node)
        self.api.create("/api/v1/namespaces/default/pods", pod("bare", nodeName=node))
        wait_until("it runs", lambda: "bare" in self.on(node))
        return self.run_rebalance(CONSOLIDATE, "--execute"), node

    def test_what_is_given_up_is_uncordoned(self):
        process, node = self.given_up(lambda node: None)
        process.wait_for("err", rf'"Uncordoned: it is not emptied any more" node="{node}"')
        self.assertEqual(self.mark(node), (False, ""))

    def test_what_is_given_up_stays_cordoned_when_somebody_has_cordoned_it_again(self):
        def again(node: str) -> None:
            self.cordon(node, False)
            self.cordon(node, True)

        process, node = self.given_up(again)
        process.wait_for("err", rf'"It is not emptied any more, and stays cordoned: somebody else has cordoned it, too" node="{node}"')
        self.assertEqual(self.mark(node), (True, ""))


if __name__ == "__main__":
    unittest.main()
