# SPDX-License-Identifier: Apache-2.0
"""berth cluster: its kubeconfig, TLS and tokens, and the file in which its objects are kept."""

import base64
import hmac
import itertools
import json
import re
import shutil
import signal
import ssl
import subprocess
import threading
import unittest
import urllib.error
import urllib.request

from support import Api, BerthTest, Process, clean_environment, pod, wait_until

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


class Cluster(BerthTest):
    def cluster(self, *flags: str) -> tuple[Process, Api]:
        """`berth cluster` without TLS and token, with its nodes ready."""
        process = Process(self, "cluster", "--listen", "127.0.0.1:0", "--nodes", "2", *flags)
        api = Api(process.wait_for("out", r"http://(127\.0\.0\.1:\d+)").group(1))
        wait_until("all nodes are ready", lambda: len(api.ready_nodes()) == 2)
        return process, api

    def test_places_pods_and_writes_a_kubeconfig(self):
        config = self.folder() / "kubeconfig"
        process, api = self.cluster("--write-kubeconfig", str(config))
        api.create(PODS, pod("plain"))
        api.create(PODS, pod("own", scheduler="berth"))
        wait_until("both run", lambda: [p["status"].get("phase") for p in api.pods()] == ["Running"] * 2)
        self.assertIn("server: " + api.url, config.read_text())
        self.assertEqual(config.stat().st_mode & 0o777, 0o600)
        # The kubeconfig's user is allowed to run a scheduler.
        self.assertEqual(Process(self, "run", "--kubeconfig", str(config), "--once").wait(), 0)
        self.assertEqual(process.end(), 0, process.lines("err"))

    def test_on_all_interfaces_the_address_is_one_that_clients_can_use(self):
        process = Process(self, "cluster", "--listen", "0.0.0.0:0", "--nodes", "1", "--write-kubeconfig", str(self.folder() / "kubeconfig"))
        api = Api(process.wait_for("out", r"The cluster is at http://(127\.0\.0\.1:\d+) ").group(1))
        wait_until("the node is ready", lambda: len(api.ready_nodes()) == 1)

    GANG = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "train"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 5}}}}

    def gang(self, *flags: str) -> tuple[Api, str]:
        """A cluster with room for four of the five members of a gang; returns the warning of its creation."""
        _, api = self.cluster("--write-kubeconfig", str(self.folder() / "kubeconfig"), *flags)
        request = urllib.request.Request(api.url + "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups", method="POST",
                                         data=json.dumps(self.GANG).encode(), headers={"Content-Type": "application/json"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
            warning = answer.headers.get("Warning", "")
        for i in range(5):
            api.create(PODS, pod(f"train-{i}", "2", schedulingGroup={"podGroupName": "train"}))
        return api, warning

    def test_a_gang_goes_whole_or_not_at_all(self):
        api, warning = self.gang("--kubernetes-version", "1.37")
        self.assertEqual(warning, "")
        self.assertEqual(api.get("/version")["gitVersion"], "v1.37.0+berth")
        self.assertEqual(api.get("/api/v1/nodes")["items"][0]["status"]["nodeInfo"]["kubeletVersion"], "v1.37.0")
        path = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups/train"
        wait_until("the gang is refused", lambda: api.get(path).get("status", {}).get("conditions"))
        self.assertEqual([p["spec"].get("nodeName") for p in api.pods()], [None] * 5)
        api.call("PATCH", path, {"spec": {"schedulingPolicy": {"gang": {"minCount": 4}}}}, Api.MERGE_PATCH)
        wait_until("four of four run", lambda: sum(p["status"].get("phase") == "Running" for p in api.pods()) == 4)

    def test_pods_of_a_group_that_is_none_get_a_warning(self):
        """In 1.36 the scheduler ignores groups; with 1.37 they can be enabled."""
        api, warning = self.gang()
        self.assertEqual(warning, '299 - "PodGroup default/train: pods are scheduled one by one, as Kubernetes 1.36 does; with '
                                  '--kubernetes-version 1.37 and --feature-gates GenericWorkload=true as a group"')
        self.assertEqual(api.get("/version")["gitVersion"], "v1.36.0+berth")
        wait_until("four of five run", lambda: sum(p["status"].get("phase") == "Running" for p in api.pods()) == 4)
        _, warning = self.gang("--kubernetes-version", "1.37", "--feature-gates", "GenericWorkload=false")
        self.assertIn("pods are scheduled one by one; with --feature-gates GenericWorkload=true as a group", warning)

    def test_flags_that_are_wrong(self):
        for flags, said in [(["--feature-gates", "NoSuchGate=true"], "NoSuchGate"),
                            (["--kubernetes-version", "1.33"], "--kubernetes-version"),
                            (["--nodes", "1000001"], "1000000")]:
            process = Process(self, "cluster", *flags)
            self.assertEqual(process.wait(20), 2, flags)
            self.assertIn(said, process.lines("err")[0])

    def test_metrics_for_load_aware(self):
        """The policy reads the embedded server's own metrics: a node that reports high load gets no pod."""
        config = self.file("load-aware.yaml", json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False}, "profiles": [{
                "schedulerName": "load-aware", "plugins": {"multiPoint": {"enabled": [{"name": "LoadAware", "weight": 1600}]}},
                "pluginConfig": [{"name": "LoadAware", "args": {"source": "metrics.k8s.io", "hotThreshold": 85, "interval": "1s"}}]}]}))
        _, api = self.cluster("--config", str(config), "--write-kubeconfig", str(self.folder() / "kubeconfig"))
        api.call("PATCH", "/api/v1/nodes/node-1", {"metadata": {"annotations": {"berth.dev/cpu-usage": "97"}}}, Api.MERGE_PATCH)
        numbers = itertools.count()

        def refuses_node_1() -> bool:
            """Whether a pod for node-1 is pending, once it has been decided."""
            name = f"there-{next(numbers)}"
            api.create(PODS, pod(name, nodeSelector={"kubernetes.io/hostname": "node-1"}))
            made = lambda: api.get(f"{PODS}/{name}")
            wait_until("it is placed or refused", lambda: made()["spec"].get("nodeName") or made()["status"].get("conditions"))
            return any("hotter than 85%: cpu at 97%" in c.get("message", "") for c in made()["status"].get("conditions", []))

        wait_until("node-1 is refused", refuses_node_1)

    def test_a_cron_job_makes_jobs(self):
        _, api = self.cluster("--write-kubeconfig", str(self.folder() / "kubeconfig"))
        template = {"spec": {"template": {"metadata": {"annotations": {"berth.dev/run-seconds": "0"}},
                                          "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}
        api.create("/apis/batch/v1/namespaces/default/cronjobs",
                   {"metadata": {"name": "often"}, "spec": {"schedule": "@every 1s", "jobTemplate": template}})
        status = lambda: api.get("/apis/batch/v1/namespaces/default/cronjobs/often").get("status", {})
        wait_until("one of its Jobs has succeeded", lambda: status().get("lastSuccessfulTime"))
        api.call("DELETE", "/apis/batch/v1/namespaces/default/cronjobs/often")
        wait_until("its Jobs go with it", lambda: not api.get("/apis/batch/v1/namespaces/default/jobs")["items"])

    def test_tls_and_a_token(self):
        config = self.folder() / "kubeconfig"
        process = Process(self, "cluster", "--listen", "127.0.0.1:0", "--nodes", "1", "--tls", "--token", "random",
                          "--write-kubeconfig", str(config))
        url = process.wait_for("out", r"(https://127\.0\.0\.1:\d+)").group(1)
        text = config.read_text()
        token = re.search(r'token: "(\S+)"', text).group(1)
        authority = re.search(r"certificate-authority-data: (\S+)", text).group(1)
        pem = subprocess.run(["base64", "-d"], input=authority, capture_output=True, text=True, check=True).stdout
        trusting = ssl.create_default_context(cadata=pem)

        def status(path: str, headers: dict) -> int:
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusting))
            try:
                with opener.open(urllib.request.Request(url + path, headers=headers), timeout=30) as answer:
                    return answer.status
            except urllib.error.HTTPError as error:
                with error:
                    return error.code

        self.assertEqual(status("/api/v1/nodes", {"Authorization": "Bearer " + token}), 200)
        self.assertEqual(status("/api/v1/nodes", {}), 401)
        self.assertEqual(status("/api/v1/nodes", {"Authorization": "Bearer wrong"}), 401)
        self.assertEqual(status("/readyz", {}), 200)
        # Another scheduler, and kubectl if it is installed, can connect with the file.
        self.assertEqual(Process(self, "run", "--kubeconfig", str(config), "--once").wait(), 0)
        if kubectl := shutil.which("kubectl"):
            done = subprocess.run([kubectl, "--kubeconfig", str(config), "auth", "can-i", "create", "pods"], capture_output=True,
                                  text=True, timeout=60, env={**clean_environment(), "HOME": str(self.folder())})
            self.assertEqual((done.stdout, done.returncode), ("yes\n", 0), done.stderr)
        self.assertEqual(process.end(), 0, process.lines("err"))

    def test_nobody_can_sign_a_token_but_the_server(self):
        process = Process(self, "cluster", "--listen", "127.0.0.1:0", "--nodes", "1", "--token", "secret", "--seed", "7",
                          "--write-kubeconfig", str(self.folder() / "kubeconfig"))
        api = Api(process.wait_for("out", r"http://(127\.0\.0\.1:\d+)").group(1))
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        admin = {"Authorization": "Bearer secret"}
        self.assertEqual(api.call("POST", accounts, {"metadata": {"name": "robot"}}, headers=admin)[0], 201)
        token = api.call("POST", accounts + "/robot/token", {}, headers=admin)[1]["status"]["token"]
        read = lambda token: api.call("GET", "/api/v1/nodes", headers={"Authorization": "Bearer " + token})[0]
        self.assertEqual(read(token), 200)
        text = token.rpartition(".")[0]
        for key in (b"seed 7", b"", b"secret"):
            signature = base64.urlsafe_b64encode(hmac.digest(key, text.encode(), "sha256")).decode().rstrip("=")
            self.assertEqual(read(f"{text}.{signature}"), 401, key)

    def test_comes_back_with_each_write_that_was_answered(self):
        data = self.folder() / "objects.db"
        flags = ("--data", str(data), "--write-kubeconfig", str(self.folder() / "kubeconfig"))
        answered: dict[str, str] = {}
        version = 0
        for life in range(3):
            process, api = self.cluster(*flags)
            there = {m["metadata"]["name"]: m["data"]["n"] for m in api.get(MAPS)["items"]}
            self.assertEqual({name: there.get(name) for name in answered}, answered, f"life {life}")
            self.assertGreater(int(api.get(MAPS)["metadata"]["resourceVersion"]), version)
            done = threading.Event()

            def write(worker: int) -> None:
                for number in range(10_000):
                    name = f"m-{life}-{worker}-{number}"
                    try:
                        api.create(MAPS, {"metadata": {"name": name}, "data": {"n": str(number)}})
                    except (OSError, AssertionError):
                        return
                    answered[name] = str(number)
                    if len(answered) > 200 * (life + 1):
                        done.set()

            writers = [threading.Thread(target=write, args=(worker,)) for worker in range(3)]
            for writer in writers:
                writer.start()
            self.assertTrue(done.wait(60))
            process.end(signal.SIGKILL)
            for writer in writers:
                writer.join(60)
            version = len(answered)
        process, api = self.cluster(*flags)
        there = {m["metadata"]["name"]: m["data"]["n"] for m in api.get(MAPS)["items"]}
        self.assertEqual({name: there.get(name) for name in answered}, answered)
        # Custom resources and running pods are restored, too; resource versions from before the end are too old.
        self.assertEqual(len(api.ready_nodes()), 2)
        stale = api.call("GET", MAPS + "?watch=true&resourceVersion=2&timeoutSeconds=1")[1]
        self.assertEqual(stale["object"]["code"], 410)
        self.assertEqual(process.end(), 0)

    def test_custom_resources_come_back(self):
        data = self.folder() / "objects.db"
        flags = ("--data", str(data), "--write-kubeconfig", str(self.folder() / "kubeconfig"))
        process, api = self.cluster(*flags)
        api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
            "metadata": {"name": "boats.example.org"},
            "spec": {"group": "example.org", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
                     "versions": [{"name": "v1", "served": True, "storage": True,
                                   "schema": {"openAPIV3Schema": {"type": "object", "properties": {"crew": {"type": "integer"}}}}}]}})
        boats = "/apis/example.org/v1/namespaces/default/boats"
        api.create(boats, {"metadata": {"name": "b"}, "crew": 3})
        process.end(signal.SIGKILL)
        _, api = self.cluster(*flags)
        self.assertEqual(api.get(boats + "/b")["crew"], 3)

    def test_bad_files_and_flags(self):
        damaged = self.file("damaged.db", "no database, but long enough to be one" * 100)
        cases = ((("--data", str(damaged)), "it is not a data file of berth cluster"),
                 (("--data", "/nonexistent/file"), "/nonexistent/file: "),
                 (("--token", "a b"), "--token"),
                 (("--nodes-file", "/nonexistent"), "/nonexistent"))
        for flags, want in cases:
            with self.subTest(flags):
                process = Process(self, "cluster", "--listen", "127.0.0.1:0", "--write-kubeconfig",
                                  str(self.folder() / "kubeconfig"), *flags)
                self.assertNotEqual(process.wait(), 0)
                errors = process.lines("err")
                self.assertEqual(len(errors), 1, errors)
                self.assertIn(want, errors[0])

    def test_one_process_at_a_time(self):
        data = self.folder() / "objects.db"
        self.cluster("--data", str(data), "--write-kubeconfig", str(self.folder() / "a"))
        second = Process(self, "cluster", "--listen", "127.0.0.1:0", "--data", str(data), "--write-kubeconfig",
                         str(self.folder() / "b"))
        self.assertNotEqual(second.wait(), 0)
        self.assertIn(f"{data}: another process uses it", second.lines("err")[0])


if __name__ == "__main__":
    unittest.main()
