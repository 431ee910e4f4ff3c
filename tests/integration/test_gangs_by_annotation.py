# SPDX-License-Identifier: Apache-2.0
"""Gangs by annotation, and the reservation for a waiting one, with `berth run` and the configuration of
docs/pod-groups.md."""

import re
import subprocess
import unittest

from support import ROOT, Api, BerthTest, Process, berth_binary, clean_environment, node_of, pod, wait_until

PODS = "/api/v1/namespaces/default/pods"
PAGE = ROOT / "docs/pod-groups.md"
TIME_LIMIT_S = 60


def node(name: str, cpu: str) -> dict:
    amounts = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}}


def member(name: str, min_count: str, cpu: str = "1", group: str = "g") -> dict:
    body = pod(name, cpu, scheduler="gangs")
    body["metadata"]["annotations"] = {"berth.dev/pod-group": group, "berth.dev/min-count": min_count}
    return body


def scheduled_condition(body: dict) -> str:
    for condition in body.get("status", {}).get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return condition["message"]
    return ""


class GangsByAnnotation(BerthTest):
    def begin(self, more: str = "") -> Api:
        _, api = self.api_server(0, "--no-controllers")
        for name in ("n1", "n2"):
            api.create("/api/v1/nodes", node(name, "4"))
        text = re.search(r"^```yaml\n(apiVersion: kubescheduler.*?PodGroupAnnotations}\n)```$", PAGE.read_text(), re.S | re.M).group(1)
        text = text.replace("{name: PodGroupAnnotations}\n", "{name: PodGroupAnnotations}\n" + more) + "leaderElection: {leaderElect: false}\n"
        self.configuration = str(self.file("config.yaml", text))
        self.berth = Process(self, "run", "--master", api.url, "--config", self.configuration)
        self.berth.wait_for("err", "Starting")
        return api

    def bound(self, api: Api) -> set[str]:
        return {each["metadata"]["name"] for each in api.pods() if node_of(each)}

    def test_whole_or_not_at_all(self):
        api = self.begin()
        for name in ("a", "b"):
            api.create(PODS, member(name, "3"))
        api.create(PODS, member("bad", "three"))
        api.create(PODS, pod("alone", scheduler="gangs"))
        wait_until("the single pod is bound", lambda: "alone" in self.bound(api))
        message = wait_until("the bad one is told", lambda: scheduled_condition(api.get(f"{PODS}/bad")))
        self.assertEqual(message, 'annotation berth.dev/min-count: "three" should be a whole number from 1 to 2147483647')
        self.assertEqual(self.bound(api), {"alone"})
        api.create(PODS, member("c", "3"))
        wait_until("the gang is bound", lambda: self.bound(api) == {"alone", "a", "b", "c"})
        # After its correction, it is the fourth member.
        status, _ = api.call("PATCH", f"{PODS}/bad", {"metadata": {"annotations": {"berth.dev/min-count": "3"}}}, Api.MERGE_PATCH)
        self.assertEqual(status, 200)
        wait_until("it is bound", lambda: "bad" in self.bound(api))

    def test_explained(self):
        api = self.begin()
        names = ("a", "b", "c")
        for name in names:
            api.create(PODS, member(name, "3", "3"))
        wait_until("they are told", lambda: all(scheduled_condition(api.get(f"{PODS}/{name}")) for name in names))

        def explain(status: int, *more: str) -> tuple[str, str]:
            done = subprocess.run([berth_binary(), "explain", "podgroup", "g", "--master", api.url, *more], capture_output=True,
                                  text=True, timeout=TIME_LIMIT_S, env=clean_environment(), stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, status, (done.stdout, done.stderr))
            return done.stdout, done.stderr

        self.assertIn("or the plugin PodGroupAnnotations in --config", explain(2)[1])
        configured = ("--config", self.configuration)
        out, _ = explain(3, *configured)
        self.assertIn("PodGroup:   default/g\nPolicy:     gang, minCount 3, priority 0\n", out)
        self.assertIn("Room:       for 2 of the 3 that are needed\n", out)
        api.create("/api/v1/nodes", node("n3", "4"))
        wait_until("the gang is bound", lambda: self.bound(api) == set(names))
        self.assertIn("Placed:     all of its pods\n", explain(0, *configured)[0])

    def test_room_is_kept(self):
        api = self.begin("          - {name: PodGroupReservation}\n"
                         "    pluginConfig:\n"
                         "      - name: PodGroupReservation\n"
                         "        args: {after: 1s}\n")
        for number in range(6):
            api.create(PODS, pod(f"run-{number}", "1", nodeName="n1" if number < 4 else "n2"))
        for name in ("a", "b"):
            api.create(PODS, member(name, "2", "3"))

        def nominated() -> set[str]:
            return {each["status"].get("nominatedNodeName", "") for each in api.pods() if each["metadata"]["name"] in ("a", "b")}

        wait_until("both are nominated", lambda: nominated() == {"n1", "n2"})
        api.create(PODS, pod("small", "2", scheduler="gangs"))
        message = wait_until("the small one is told", lambda: scheduled_condition(api.get(f"{PODS}/small")))
        self.assertEqual(message.split(". ")[0], "0/2 nodes are available: 2 Insufficient cpu")
        for number in (0, 1, 2, 4):
            api.call("DELETE", f"{PODS}/run-{number}", {"gracePeriodSeconds": 0})
        wait_until("the gang is bound", lambda: {"a", "b"} <= self.bound(api))
        self.assertNotIn("small", self.bound(api))


if __name__ == "__main__":
    unittest.main()
