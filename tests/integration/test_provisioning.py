# SPDX-License-Identifier: Apache-2.0
"""berth run --provisioning-requests with `berth apiserver`: room that was promised is kept from other pods, also after the
scheduler was killed, its recording repeats it, and where the kind is missing pods are scheduled all the same."""

import subprocess
import unittest

from support import Api, BerthTest, Process, berth_binary, node_of, pod, wait_until

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
REQUESTS = "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests"
TEMPLATES = "/api/v1/namespaces/default/podtemplates"
PODS = "/api/v1/namespaces/default/pods"
CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"

# As far as this test needs it.
DEFINITION = {
    "metadata": {"name": "provisioningrequests.autoscaling.x-k8s.io"},
    "spec": {
        "group": "autoscaling.x-k8s.io", "scope": "Namespaced",
        "names": {"plural": "provisioningrequests", "singular": "provisioningrequest", "kind": "ProvisioningRequest", "listKind": "ProvisioningRequestList"},
        "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                      "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def consumer(name: str) -> dict:
    made = pod(name, "1")
    made["metadata"]["annotations"] = {CONSUMES: "r"}
    return made


class Provisioning(BerthTest):
    def run_berth(self, *more: str) -> Process:
        return Process(self, "run", "--master", self.api.url, "--leader-elect=false", "--provisioning-requests", "berth", *more)

    def ask(self, count: int) -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
        self.api.create(TEMPLATES, {"metadata": {"name": "main"}, "template": {"spec": {"containers": [container]}}})
        self.api.create(REQUESTS, {
            "apiVersion": "autoscaling.x-k8s.io/v1", "kind": "ProvisioningRequest", "metadata": {"name": "r"},
            "spec": {"provisioningClassName": "check-capacity.autoscaling.x-k8s.io", "parameters": {"processorInstance": "berth"},
                     "podSets": [{"count": count, "podTemplateRef": {"name": "main"}}]}})

    def condition(self, kind: str) -> dict:
        conditions = self.api.get(f"{REQUESTS}/r").get("status", {}).get("conditions", [])
        return next((each for each in conditions if each["type"] == kind), {})

    def bound(self, prefix: str) -> list[str]:
        return [each["metadata"]["name"] for each in self.api.pods() if each["metadata"]["name"].startswith(prefix) and node_of(each)]

    def refused(self, name: str) -> bool:
        conditions = self.api.get(f"{PODS}/{name}").get("status", {}).get("conditions", [])
        return any(each["type"] == "PodScheduled" and each["status"] == "False" for each in conditions)

    def add_node(self, name: str, cpu: str) -> None:
        amounts = {"cpu": cpu, "memory": "8Gi", "pods": "20"}
        self.api.create("/api/v1/nodes", {"metadata": {"name": name}, "status": {"allocatable": amounts, "capacity": amounts}})

    def test_promised_room_is_kept(self):
        _, self.api = self.api_server()
        self.api.create(DEFINITIONS, DEFINITION)
        self.add_node("a", "4")
        recordings = self.folder() / "recordings"
        first = self.run_berth("--record", str(recordings))
        self.ask(3)
        wait_until("the request is provisioned", lambda: self.condition("Provisioned").get("status") == "True")
        self.assertEqual(self.condition("Provisioned")["reason"], "CapacityIsFound")
        for i in range(3):
            self.api.create(PODS, pod(f"rival-{i}", "1"))
        wait_until("one rival is bound", lambda: len(self.bound("rival-")) == 1)
        wait_until("the others are refused", lambda: sum(self.refused(f"rival-{i}") for i in range(3)) == 2)
        self.api.create(PODS, consumer("p-0"))
        wait_until("a pod of the request is bound", lambda: self.bound("p-") == ["p-0"])
        first.kill()

        second = self.run_berth()
        self.api.create(PODS, pod("late", "1"))
        wait_until("a late one is refused", lambda: self.refused("late"))
        for i in (1, 2):
            self.api.create(PODS, consumer(f"p-{i}"))
        wait_until("all pods of the request are bound", lambda: len(self.bound("p-")) == 3)
        self.assertEqual(len(self.bound("rival-")), 1)
        status, answer = self.api.call("DELETE", f"{PODS}/p-0?gracePeriodSeconds=0")
        self.assertEqual(status, 200, answer)
        wait_until("room that was used is free afterwards", lambda: len(self.bound("rival-")) + len(self.bound("late")) == 2)
        self.assertEqual(second.end(), 0)

        done = subprocess.run([berth_binary(), "replay", str(recordings)], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_without_the_kind(self):
        _, self.api = self.api_server()
        self.add_node("a", "4")
        process = self.run_berth()
        self.api.create(PODS, pod("p", "1"))
        wait_until("the pod is bound", lambda: self.bound("p"))
        said = lambda: [line for line in process.lines("err") if "provisioningrequests" in line]
        wait_until("it is said that the kind is missing", said)
        self.assertEqual(len(said()), 1, said())
        # The kind comes later; berth looks for it every minute or two.


if __name__ == "__main__":
    unittest.main()
