# SPDX-License-Identifier: Apache-2.0
"""kubectl against the embedded cluster of berth demo --serve. Needs a kubectl on the machine; without one it says so and
passes, since ./dev e2e runs the same with a kubectl that it builds."""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from support import Api, BerthTest, Process, clean_environment, free_port, wait_until

KUBECTL = shutil.which("kubectl")
TIMEOUT_S = 60

POD = """apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  schedulerName: berth
  containers: [{name: c, image: "registry/c:1", resources: {requests: {cpu: 100m}}}]
"""
CONFIG_MAP = """apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: %s}
"""


@unittest.skipUnless(KUBECTL, "no kubectl here")
class Kubectl(BerthTest):
    @classmethod
    def setUpClass(cls):
        cls._helper = unittest.TestCase()
        cls.addClassCleanup(cls._helper.doCleanups)
        address = f"127.0.0.1:{free_port()}"
        cls.demo = Process(cls._helper, "demo", "--serve", "--listen", address)
        cls.demo.wait_for("out", re.escape(f"http://{address}"))
        cls.api = Api(address)
        cls.home = f"/tmp/berth-kubectl-{os.getpid()}"
        os.makedirs(cls.home, exist_ok=True)
        cls.addClassCleanup(shutil.rmtree, cls.home, True)

    def kubectl(self, *arguments: str, stdin: str = "", status: int = 0) -> str:
        environment = {**clean_environment(), "HOME": self.home, "KUBECONFIG": os.devnull}
        done = subprocess.run([KUBECTL, "--server", self.api.url, *arguments], input=stdin, capture_output=True, text=True,
                              timeout=TIMEOUT_S, env=environment)
        self.assertEqual(done.returncode, status, f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout + (done.stderr if status else "")

    def test_get(self):
        wide = self.kubectl("get", "nodes,pods", "-o", "wide")
        self.assertRegex(wide, r"(?m)^NAME +STATUS +ROLES +AGE +VERSION +INTERNAL-IP")
        self.assertEqual(len(re.findall(r"(?m)^node/node-\d+ +Ready", wide)), 5, wide)
        self.assertRegex(wide, r"(?m)^pod/nginx-\S+ +1/1 +Running +0 +\S+ +10\.\d+\.\d+\.\d+ +node-\d")
        self.assertRegex(self.kubectl("get", "deployments"), r"(?m)^nginx +\d+/\d+")
        names = self.kubectl("get", "nodes", "-o", "name").split()
        self.assertEqual(sorted(names), [f"node/node-{n}" for n in range(1, 6)])
        self.assertEqual(self.kubectl("get", "node", "node-1", "-o", "jsonpath={.metadata.name}"), "node-1")
        self.assertIn("NotFound", self.kubectl("get", "pod", "absent", status=1))

    def test_create_describe_label_annotate_delete(self):
        manifest = self.file("pod.yaml", POD)
        self.assertIn("pod/web created", self.kubectl("create", "-f", str(manifest)))
        self.assertIn("AlreadyExists", self.kubectl("create", "-f", str(manifest), status=1))
        self.assertIn("condition met", self.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=30s"))
        wait_until("the event is there", lambda: "Scheduled" in self.kubectl("describe", "pod", "web"))
        told = self.kubectl("describe", "pod", "web")
        self.assertRegex(told, r"(?m)^Node: +node-\d")
        self.assertRegex(told, r"Successfully assigned default/web to node-\d")
        self.assertIn("pod/web labeled", self.kubectl("label", "pod", "web", "tier=front"))
        self.assertIn("pod/web annotated", self.kubectl("annotate", "pod", "web", "note=hello"))
        metadata = json.loads(self.kubectl("get", "pod", "web", "-o", "json"))["metadata"]
        self.assertEqual((metadata["labels"]["tier"], metadata["annotations"]["note"]), ("front", "hello"))
        self.assertIn("web", self.kubectl("get", "pods", "-l", "tier=front", "-o", "name"))
        self.kubectl("label", "pod", "web", "tier-")
        self.assertEqual(self.kubectl("get", "pods", "-l", "tier=front", "-o", "name"), "")
        self.assertIn('pod "web" deleted', self.kubectl("delete", "pod", "web"))
        self.kubectl("get", "pod", "web", status=1)

    def test_apply_twice(self):
        manifest = self.file("settings.yaml", CONFIG_MAP % "red")
        self.assertIn("created", self.kubectl("apply", "-f", str(manifest)))
        self.assertIn("unchanged", self.kubectl("apply", "-f", str(manifest)))
        manifest.write_text(CONFIG_MAP % "blue")
        self.assertIn("configured", self.kubectl("apply", "-f", str(manifest)))
        self.assertEqual(self.kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.color}"), "blue")

    def test_apply_a_pod_twice(self):
        text = POD.replace("name: web,", "name: applied,")
        self.assertIn("created", self.kubectl("apply", "-f", "-", stdin=text))
        self.assertIn("unchanged", self.kubectl("apply", "-f", "-", stdin=text))
        self.kubectl("delete", "pod", "applied", "--wait=false")

    def test_refused_manifest(self):
        text = POD.replace("containers:", "containres:")
        self.assertRegex(self.kubectl("create", "-f", "-", stdin=text, status=1), "containres")

    def test_scale_and_rollout(self):
        self.assertIn("scaled", self.kubectl("scale", "deployment", "nginx", "--replicas", "12"))
        self.assertIn("successfully rolled out", self.kubectl("rollout", "status", "deployment/nginx", "--timeout=50s"))
        self.assertRegex(self.kubectl("get", "deployment", "nginx"), r"(?m)^nginx +12/12 +12 +12")
        pods = [p for p in self.api.pods() if p["metadata"]["name"].startswith("nginx-")]
        self.assertEqual({p["spec"].get("schedulerName") for p in pods}, {"berth"})
        self.kubectl("set", "image", "deployment/nginx", "nginx=nginx:1.28")
        self.assertIn("successfully rolled out", self.kubectl("rollout", "status", "deployment/nginx", "--timeout=50s"))
        images = self.kubectl("get", "pods", "-l", "app=nginx", "--field-selector=status.phase=Running", "-o",
                              "jsonpath={.items[*].spec.containers[0].image}")
        self.assertIn("nginx:1.28", images)
        self.kubectl("scale", "deployment", "nginx", "--replicas", "3")
        self.assertIn("successfully rolled out", self.kubectl("rollout", "status", "deployment/nginx", "--timeout=50s"))
        wait_until("three pods are left", lambda: len([p for p in self.api.pods() if p["metadata"]["name"].startswith("nginx-")]) == 3)

    def test_delete_a_pod_of_the_deployment(self):
        names = self.kubectl("get", "pods", "-l", "app=nginx", "-o", "name").split()
        self.kubectl("delete", names[0])
        wait_until("it is replaced", lambda: "successfully rolled out" in
                   self.kubectl("rollout", "status", "deployment/nginx", "--timeout=50s"))
        self.assertNotIn(names[0], self.kubectl("get", "pods", "-l", "app=nginx", "-o", "name").split())

    def test_cordon(self):
        self.assertIn("node/node-5 cordoned", self.kubectl("cordon", "node-5"))
        self.assertRegex(self.kubectl("get", "node", "node-5"), r"Ready,SchedulingDisabled")
        text = POD.replace("name: web,", "name: pinned,").replace("schedulerName: berth",
                                                                "schedulerName: berth\n  nodeSelector: {kubernetes.io/hostname: node-5}")
        self.kubectl("create", "-f", "-", stdin=text)
        wait_until("the pod waits, and it is said why", lambda: "were unschedulable" in self.kubectl("describe", "pod", "pinned"))
        self.assertIn("node/node-5 uncordoned", self.kubectl("uncordon", "node-5"))
        self.assertIn("condition met", self.kubectl("wait", "--for=condition=PodScheduled", "pod/pinned", "--timeout=50s"))
        self.assertEqual(self.kubectl("get", "pod", "pinned", "-o", "jsonpath={.spec.nodeName}"), "node-5")
        self.kubectl("delete", "pod", "pinned")

    def test_help_of_the_server(self):
        self.assertIn("deployments", self.kubectl("api-resources"))
        self.assertIn("events.k8s.io/v1", self.kubectl("api-versions"))
        self.assertRegex(self.kubectl("get", "events"), r"Scheduled")
        self.assertRegex(self.kubectl("version"), r"Server Version: v1\.\d+")


if __name__ == "__main__":
    if not KUBECTL:
        print("no kubectl on this machine: nothing was tested here; ./dev e2e runs the same with a kubectl of its own")
        sys.exit(0)
    unittest.main()
