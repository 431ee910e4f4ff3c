# SPDX-License-Identifier: Apache-2.0
"""Which pods berth takes: by scheduler name, by the old annotation, by namespace; and `berth run --once`."""

import re
import signal
import unittest

from support import Api, BerthTest, Process, free_port, node_of, pod, wait_until

ANNOTATION = "scheduler.alpha.kubernetes.io/name"


def annotated(name: str, by: str, **more) -> dict:
    made = pod(name, **more)
    made["metadata"]["annotations"] = {ANNOTATION: by}
    return made


class Choosing(BerthTest):
    @classmethod
    def setUpClass(cls):
        cls.server = Process(cls, "apiserver", "--listen", "127.0.0.1:0", "--nodes", "2")
        address = cls.server.wait_for("out", r"http://(127\.0\.0\.1:\d+)").group(1)
        cls.api = Api(address)
        wait_until("all nodes are ready", lambda: len(cls.api.ready_nodes()) == 2)
        for name in ("team-a", "team-b"):
            cls.api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    @classmethod
    def addCleanup(cls, function, *arguments):  # the server lives as long as the class
        cls.addClassCleanup(function, *arguments)

    def create(self, made: dict, namespace: str = "default") -> str:
        return self.api.create(f"/api/v1/namespaces/{namespace}/pods", made)["metadata"]["uid"]

    def remove_all(self, *namespaces: str) -> None:
        for namespace in namespaces or ("default",):
            for made in self.api.pods(namespace):
                self.api.call("DELETE", f"/api/v1/namespaces/{namespace}/pods/{made['metadata']['name']}?gracePeriodSeconds=0")

    def run_berth(self, *arguments: str) -> Process:
        return Process(self, "run", "--master", self.api.url, *arguments)

    def once(self, *arguments: str) -> Process:
        process = self.run_berth("--once", *arguments)
        process.wait(60)
        return process

    def node_of(self, name: str, namespace: str = "default") -> str:
        return node_of(self.api.get(f"/api/v1/namespaces/{namespace}/pods/{name}"))

    def events(self, uid: str) -> list[str]:
        return [event["reason"] for event in self.api.get("/apis/events.k8s.io/v1/events")["items"]
                if event.get("regarding", {}).get("uid") == uid]

    def test_once_places_all(self):
        uids = [self.create(pod(f"once-{i}", scheduler="once")) for i in range(20)]
        process = self.once("--scheduler-name", "once")
        self.assertEqual(process.wait(), 0, process.lines("err"))
        self.assertEqual(process.lines("out"), [])
        for i, uid in enumerate(uids):
            self.assertTrue(self.node_of(f"once-{i}"))
            self.assertEqual(self.events(uid), ["Scheduled"], "its event is sent before the end")
        self.remove_all()

    def test_once_with_nothing_to_do(self):
        process = self.once("--scheduler-name", "nothing")
        self.assertEqual((process.wait(), process.lines("out")), (0, []))

    def test_once_reports_those_that_were_not_placed(self):
        self.create(pod("small", scheduler="once"))
        large = self.create(pod("large", cpu="64", scheduler="once"))
        gated = pod("gated", scheduler="once", schedulingGates=[{"name": "example.com/wait"}])
        self.create(gated)
        self.create(pod("of-another", scheduler="another"))
        process = self.once("--scheduler-name", "once")
        self.assertEqual(process.wait(), 1, process.lines("err"))
        lines = process.lines("out")
        self.assertEqual(len(lines), 2, lines)
        self.assertRegex(lines[0], r"^default/gated: .*example\.com/wait")
        self.assertRegex(lines[1], r"^default/large: 0/2 nodes are available: 2 Insufficient cpu\.")
        self.assertTrue(self.node_of("small"))
        self.assertEqual(self.events(large), ["FailedScheduling"])
        conditions = self.api.get("/api/v1/namespaces/default/pods/large")["status"]["conditions"]
        self.assertEqual([(c["type"], c["status"], c["reason"]) for c in conditions], [("PodScheduled", "False", "Unschedulable")])
        self.remove_all()

    def test_once_gives_up_those_that_fail_again_and_again(self):
        config = self.file("broken.yaml", """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: broken
  plugins: {multiPoint: {enabled: [{name: Script}]}}
  pluginConfig:
  - name: Script
    args: {source: 'function filter(pod, node) if pod.metadata.name == "bad" then error("cannot say") end return true end'}
""")
        self.create(pod("good", scheduler="broken"))
        self.create(pod("bad", scheduler="broken"))
        process = self.once("--config", str(config), "--once-patience", "3")
        self.assertEqual(process.wait(), 1, process.lines("err"))
        lines = process.lines("out")
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r"^default/bad: .*cannot say")
        self.assertTrue(self.node_of("good"))
        self.remove_all()

    def test_once_ends_with_a_signal(self):
        process = Process(self, "run", "--once", "--master", f"http://127.0.0.1:{free_port()}")
        process.wait_for("err", "Waiting for the API server's version")
        self.assertEqual(process.end(signal.SIGTERM), 1)
        self.assertIn("berth: ended before the cluster's objects had been listed", process.lines("err"))

    def test_once_ends_without_an_api_server(self):
        process = Process(self, "run", "--once", "--once-patience", "1", "--master", f"http://127.0.0.1:{free_port()}")
        self.assertEqual(process.wait(30), 1)
        self.assertIn("berth: ended before the cluster's objects had been listed", process.lines("err"))

    def test_v_4_logs_each_decision(self):
        self.create(pod("told", scheduler="told"))
        self.create(pod("too-large", cpu="64", scheduler="told"))
        process = self.once("--scheduler-name", "told", "-v=4", "--seed", "1")
        self.assertEqual(process.wait(), 1)
        said = "\n".join(process.lines("err"))
        self.assertRegex(said, r'Placed" pod="default/told" node="node-[12]" why="best of 2 feasible nodes, score \d+"')
        self.assertRegex(said, r'Not placed" pod="default/too-large" node="" why="0/2 nodes are available: 2 Insufficient cpu\.')
        self.remove_all()

    def test_by_annotation(self):
        self.create(annotated("old-way", "hightower"))
        self.create(annotated("two-names", "hightower", scheduler="somebody"))
        self.create(annotated("of-another", "another"))
        process = self.once("--scheduler-name", "hightower")
        self.assertEqual(process.wait(), 0)
        self.assertEqual(self.node_of("old-way"), "", "without the flag it belongs to default-scheduler")
        process = self.once("--scheduler-name", "hightower", "--pods-by-annotation")
        self.assertEqual(process.wait(), 0, process.lines("out"))
        self.assertTrue(self.node_of("old-way"))
        self.assertEqual([self.node_of("two-names"), self.node_of("of-another")], ["", ""])
        self.remove_all()

    def test_namespaces(self):
        for namespace in ("default", "team-a", "team-b"):
            self.create(pod("p", scheduler="choosy"), namespace)
        process = self.once("--scheduler-name", "choosy", "--namespaces", "team-a,team-c")
        self.assertEqual(process.wait(), 0, process.lines("out"))
        placed = [bool(self.node_of("p", namespace)) for namespace in ("default", "team-a", "team-b")]
        self.assertEqual(placed, [False, True, False])
        process = self.once("--scheduler-name", "choosy")
        self.assertEqual(process.wait(), 0, process.lines("out"))
        self.assertTrue(self.node_of("p") and self.node_of("p", "team-b"), "every namespace by default")
        self.remove_all("default", "team-a", "team-b")

    def test_namespaces_that_are_none(self):
        for given in ("", "a,,b", "Team", "a b", "a,", "x" * 64):
            with self.subTest(given):
                process = Process(self, "run", "--master", self.api.url, "--namespaces", given)
                self.assertEqual(process.wait(20), 2)
                lines = process.lines("err")
                self.assertEqual(len(lines), 1, lines)
                self.assertTrue(re.search("--namespaces", lines[0]), lines)


if __name__ == "__main__":
    unittest.main()
