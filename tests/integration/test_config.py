# SPDX-License-Identifier: Apache-2.0
"""berth run --config: settings of the file take effect."""

import json
import time
import unittest

from fake_server import FakeApiServer, http, one_pod_and_room, status
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

BEGIN = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
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
        berth.wait_for("err", 'schedulers="?default-scheduler packer')
        packed = self.bind_one_by_one(api, "packed", "packer", 6)
        self.assertEqual(len(set(packed)), 1, f"packed: {packed}")
        spread = self.bind_one_by_one(api, "spread", "default-scheduler", 6)
        self.assertEqual(sorted(set(spread)), sorted({"n1", "n2", "n3", "n4"} - set(packed)), f"spread: {spread}, packed: {packed}")
        self.assertEqual(sorted(spread.count(node) for node in set(spread)), [2, 2, 2])
        # Each profile's events have its name.
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

    def test_a_limit_of_requests(self):
        berth, api = self.schedule(BEGIN + "clientConnection: {qps: 2, burst: 1}\nprofiles: [{}]\n")
        # Lists and watches of all kinds are requested first.
        api.create(PODS, pod("first"))
        wait_until("the first pod is bound", lambda: node_of(api.get(PODS + "/first")))
        begin = time.monotonic()
        for number in range(7):
            api.create(PODS, pod(f"p-{number}"))
        wait_until("all are bound", lambda: all(node_of(each) for each in api.pods()))
        # Six more bindings at two a second, after a first one that does not wait.
        self.assertGreater(time.monotonic() - begin, 2.5)
        self.assertEqual(berth.end(), 0, berth.lines("err"))

    def cluster_of_one_pod(self, to_binding: bytes = b"") -> FakeApiServer:
        """An API server with a node and a pod that fits there, and the response to each binding: none, by default."""
        items = one_pod_and_room()

        def first(method: str, path: str) -> bytes | None:
            if path == PODS + "/p" and method == "GET":
                return http("200 OK", json.dumps(items["/api/v1/pods"][0]).encode())
            return to_binding if path.endswith("/binding") else None

        return FakeApiServer(self, items, first)

    def test_back_off(self):
        server = self.cluster_of_one_pod(http("422 Unprocessable Entity", status(422, "Invalid", "no bindings today")))
        path = self.file("config.yaml", BEGIN + "podInitialBackoffSeconds: 3\npodMaxBackoffSeconds: 3\n")
        berth = Process(self, "run", "--master", server.url, "--config", str(path), "-v", "4")

        def began(attempt: int) -> float:
            clock = berth.wait_for("err", rf'(\d\d):(\d\d):(\d\d\.\d+) .*"Placed" .*attempt={attempt} ')
            return int(clock.group(1)) * 3600 + int(clock.group(2)) * 60 + float(clock.group(3))

        first, second, third = began(1), began(2), began(3)
        # The default is one second.
        self.assertGreater((second - first) % 86400, 2.5)
        # The default is twice the first wait.
        self.assertGreater((third - second) % 86400, 2.5)
        self.assertLess((third - second) % 86400, 5.9)
        self.assertEqual(berth.end(), 0, berth.lines("err"))

    def test_content_types(self):
        for content_type, begin in (("application/vnd.kubernetes.protobuf", b"k8s\0"), ("application/json", b"{")):
            with self.subTest(content_type):
                server = self.cluster_of_one_pod()
                path = self.file("config.yaml", BEGIN + f"clientConnection: {{contentType: {content_type}}}\n")
                berth = Process(self, "run", "--master", server.url, "--config", str(path))
                bindings = wait_until("the binding is posted", lambda: server.seen("POST .*/pods/p/binding"))
                self.assertTrue(bindings[0][1].startswith(begin), bindings[0][1])
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
