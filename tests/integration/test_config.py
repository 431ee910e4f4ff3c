# SPDX-License-Identifier: Apache-2.0
"""berth run --config: what the file says is what happens to the pods."""

import unittest

from support import Api, BerthTest, Process, node_of, pod, wait_until

PODS = "/api/v1/namespaces/default/pods"

TWO_PROFILES = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: default-scheduler
- schedulerName: packer
  plugins:
    score:
      disabled: [{name: NodeResourcesBalancedAllocation}]
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]
"""

ONLY_CHEAP = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: price, operator: In, values: [cheap]}]}]
"""


class Configuration(BerthTest):
    def schedule(self, configuration: str) -> tuple[Process, Api]:
        _, api = self.api_server()
        for number in range(1, 5):
            api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node",
                                         "metadata": {"name": f"n{number}", "labels": {"price": "cheap" if number == 3 else "dear"}},
                                         "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"}}})
        path = self.file("config.yaml", configuration)
        berth = Process(self, "run", "--master", api.url, "--config", str(path), "--seed", "3")
        berth.wait_for("err", "Starting")
        return berth, api

    def bind_one_by_one(self, api, prefix: str, scheduler: str, count: int) -> list[str]:
        nodes = []
        for number in range(count):
            name = f"{prefix}-{number}"
            body = pod(name, scheduler=scheduler)
            body["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "500m", "memory": "512Mi"}
            api.create(PODS, body)
            nodes.append(wait_until(f"{name} is bound", lambda: node_of(api.get(f"{PODS}/{name}"))))
        return nodes

    def test_two_profiles(self):
        berth, api = self.schedule(TWO_PROFILES)
        self.assertTrue(berth.find("err", 'schedulers="?default-scheduler packer'), berth.lines("err"))
        packed = self.bind_one_by_one(api, "packed", "packer", 6)
        self.assertEqual(len(set(packed)), 1, f"packed: {packed}")
        spread = self.bind_one_by_one(api, "spread", "default-scheduler", 6)
        self.assertEqual(sorted(set(spread)), sorted({"n1", "n2", "n3", "n4"} - set(packed)), f"spread: {spread}, packed: {packed}")
        self.assertEqual(sorted(spread.count(node) for node in set(spread)), [2, 2, 2])
        # Each profile signs its events.
        wait_until("12 events", lambda: len(self.reporters(api)) == 12)
        self.assertEqual(sorted(self.reporters(api)), ["default-scheduler"] * 6 + ["packer"] * 6)
        api.create(PODS, pod("stranger", scheduler="berth"))
        self.bind_one_by_one(api, "last", "packer", 1)
        self.assertEqual(node_of(api.get(PODS + "/stranger")), "", "no profile has its name")
        self.assertEqual(berth.end(), 0, berth.lines("err"))

    def reporters(self, api) -> list[str]:
        events = api.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
        return [event["reportingController"] for event in events if event["reason"] == "Scheduled"]

    def test_arguments_of_a_plugin(self):
        berth, api = self.schedule(ONLY_CHEAP)
        self.assertEqual(set(self.bind_one_by_one(api, "p", "default-scheduler", 4)), {"n3"})
        self.assertEqual(berth.end(), 0, berth.lines("err"))

    def test_scheduler_name(self):
        _, api = self.api_server(1)
        berth = Process(self, "run", "--master", api.url, "--scheduler-name", "mine")
        api.create(PODS, pod("default"))
        api.create(PODS, pod("mine", scheduler="mine"))
        wait_until("mine is bound", lambda: node_of(api.get(PODS + "/mine")))
        self.assertEqual(node_of(api.get(PODS + "/default")), "")
        self.assertEqual(berth.end(), 0, berth.lines("err"))


if __name__ == "__main__":
    unittest.main()
