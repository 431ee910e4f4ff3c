# SPDX-License-Identifier: Apache-2.0
"""berth simulate with `berth apiserver`: its output, that the same pods are then placed there, and that it writes
nothing.

With BERTH_WRITE_DOCS=1 the outputs of docs/simulate.md are rewritten.
"""

import collections
import json
import os
import re
import shlex
import subprocess
import unittest

from support import ROOT, Api, BerthTest, Process, berth_binary, clean_environment, node_of, pod, wait_until

PODS = "/api/v1/namespaces/default/pods"
TIME_LIMIT_S = 120.0
PAGE = ROOT / "docs/simulate.md"
CONSOLE = re.compile(r"^```console\n\$ (berth simulate[^\n]*)\n(.*?)^```$", re.S | re.M)

BY_GROUPS = ("--kubernetes-version", "1.37", "--feature-gates", "GenericWorkload=true")
BY_TREES = (*BY_GROUPS[:3], "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true")

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: nginx, resources: {requests: {cpu: 300m, memory: 1Gi}}}]
"""


class Simulate(BerthTest):
    def run_simulate(self, api: Api | None, *arguments, status: int = 0, stdin: str | None = None):
        """Standard output, and standard error."""
        where = ["--master", api.url] if api else []
        done = subprocess.run([berth_binary(), "simulate", *map(str, arguments), *where], capture_output=True, text=True,
                              errors="replace", timeout=TIME_LIMIT_S, env=clean_environment(), input=stdin or "", cwd=ROOT)
        self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        return done.stdout, done.stderr

    def versions(self, api: Api) -> dict[str, str]:
        """The versions that any write would change."""
        return {kind: {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in api.get(path)["items"]}
                for kind, path in (("pods", "/api/v1/pods"), ("nodes", "/api/v1/nodes"), ("events", "/api/v1/events"),
                                   ("deployments", "/apis/apps/v1/deployments"))}

    def test_then_apply(self):
        _, api = self.api_server(5)
        api.create(PODS, pod("filler", "2", nodeName="node-1"))
        wait_until("the node has started it", lambda: api.get(f"{PODS}/filler")["status"].get("phase") == "Running")
        deployment = DEPLOYMENT % 12
        lone = "---\n" + json.dumps(pod("lone", "500m", affinity={"nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "preference": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-4"]}]}}]}}))
        before = self.versions(api)
        out, err = self.run_simulate(api, "-f", "-", "-o", "json", stdin=deployment + lone)
        self.assertEqual(err, "")
        self.assertEqual(self.versions(api), before, "nothing was written")
        answer = json.loads(out)
        self.assertEqual(answer["pending"], 0)
        said = collections.Counter(item["node"] for item in answer["pods"] if item["name"] != "lone")
        self.assertEqual({item["node"] for item in answer["pods"] if item["name"] == "lone"}, {"node-4"})
        self.assertEqual({item["workload"]["kind"] for item in answer["pods"]}, {"Deployment", "Pod"})

        run = Process(self, "run", "--master", api.url, "--leader-elect=false")
        api.create("/apis/apps/v1/namespaces/default/deployments", deployment_of(12))
        wait_until("its pods are bound", lambda: len(api.pods()) == 13 and all(node_of(each) for each in api.pods()))
        names = {item["metadata"]["name"] for item in api.pods()} - {"filler"}
        self.assertEqual({name.rsplit("-", 1)[0] for name in names},
                         {item["name"].rsplit("-", 1)[0] for item in answer["pods"] if item["name"] != "lone"},
                         "pods are called as the ReplicaSet is")
        api.create(PODS, json.loads(lone.removeprefix("---\n")))
        wait_until("all are bound", lambda: all(node_of(each) for each in api.pods()))
        run.end()
        real = collections.Counter(node_of(each) for each in api.pods() if each["metadata"]["name"] not in ("filler", "lone"))
        # Equal nodes may be exchanged.
        self.assertEqual(real["node-1"], said["node-1"])
        self.assertEqual(sorted(real.values()), sorted(said.values()), (real, said))
        self.assertEqual(node_of(api.get(PODS + "/lone")), "node-4")

    def test_what_it_costs_without_twenty_nodes(self):
        _, api = self.api_server(0, "--no-controllers")
        for number in range(24):
            is_old = number < 20
            amounts = {"cpu": "4" if is_old else "12", "memory": "64Gi", "pods": "40"}
            api.create("/api/v1/nodes", {"metadata": {"name": f"n-{number}", "labels": {"pool": "old" if is_old else "new"},
                                                      "annotations": {"berth.dev/price": "0.20" if is_old else "0.50"}},
                                         "status": {"capacity": amounts, "allocatable": amounts}})
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}
        for number in range(40):
            each = pod(f"web-{number}", "1", nodeName=f"n-{number % 20}")
            each["metadata"]["ownerReferences"] = [owner]
            api.create(PODS, each)
        old = [node["metadata"]["name"] for node in api.get("/api/v1/nodes?labelSelector=pool%3Dold")["items"]]
        self.assertEqual(len(old), 20)
        taken = [word for name in old for word in ("--remove-node", name)]
        answer = json.loads(self.run_simulate(api, *taken, "-o", "json")[0])
        self.assertEqual((answer["before"]["price"], answer["before"]["priceInUse"]), ("6.00", "4.00"))
        self.assertEqual((answer["after"]["price"], answer["after"]["priceInUse"]), ("2.00", "2.00"))
        self.assertEqual((answer["pending"], len(answer["pods"])), (0, 40))
        table = self.run_simulate(api, *taken)[0]
        self.assertRegex(table, r"price of nodes in use +4\.00 +2\.00")
        # Without one of the others, too, the rest does not hold all of them.
        answer = json.loads(self.run_simulate(api, *taken, "--remove-node", "n-20", "-o", "json", status=3)[0])
        self.assertEqual((answer["after"]["price"], answer["pending"]), ("1.50", 4))

    def test_pods_are_filled_in_by_the_cluster(self):
        """Pods are completed by the cluster's PriorityClasses, RuntimeClasses and ResourceClaimTemplates; applying them
        gives the same placement."""
        _, api = self.api_server(2)
        api.create("/apis/scheduling.k8s.io/v1/priorityclasses", {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100})
        api.create("/apis/node.k8s.io/v1/runtimeclasses", {
            "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "boxed"}, "handler": "box",
            "overhead": {"podFixed": {"cpu": "1500m"}},
            "scheduling": {"nodeSelector": {"kubernetes.io/hostname": "node-2"}}})
        api.create(PODS, pod("low", "4", nodeName="node-1"))
        boxed = pod("boxed", "2", runtimeClassName="boxed", priorityClassName="high")
        path = self.file("boxed.json", json.dumps(boxed))
        answer = json.loads(self.run_simulate(api, "-f", path, "-o", "json")[0])
        self.assertEqual([item["node"] for item in answer["pods"]], ["node-2"])
        twice = self.file("twice.yaml", json.dumps(boxed) + "\n---\n" + json.dumps({**boxed, "metadata": {"name": "second"}}))
        self.assertIn("Insufficient cpu", self.run_simulate(api, "-f", twice, status=3)[0])

        large = self.file("large.json", json.dumps(pod("large", "4", priorityClassName="high")))
        api.create(PODS, {**boxed, "spec": {**boxed["spec"], "nodeName": "node-2"}})
        self.assertEqual(api.get(PODS + "/boxed")["spec"]["overhead"], {"cpu": "1500m"}, "as berth's own API server admits it")
        answer = json.loads(self.run_simulate(api, "-f", large, "-o", "json")[0])
        self.assertEqual([item["node"] for item in answer["pods"]], ["node-1"], "where low is evicted, and not boxed")

        snapshot = self.folder() / "cluster.zst"
        done = subprocess.run([berth_binary(), "snapshot", "-o", snapshot, "--master", api.url], capture_output=True, text=True,
                              timeout=TIME_LIMIT_S, env=clean_environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        of_file = json.loads(self.run_simulate(None, "-f", large, "-o", "json", "--snapshot", snapshot)[0])
        self.assertEqual(of_file["pods"], answer["pods"])

    def test_pod_groups(self):
        """A gang from a manifest, and one of the cluster, which a snapshot contains as well."""
        _, api = self.api_server(2)
        groups = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
        api.create(groups, {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "own"},
                            "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}})
        for number in range(3):
            api.create(PODS, pod(f"own-{number}", "3", schedulingGroup={"podGroupName": "own"}))
        gang = self.file("gang.yaml", (ROOT / "examples/simulate/training.yaml").read_text())
        before = self.versions(api)
        out, err = self.run_simulate(api, "-f", gang, "-o", "json", *BY_GROUPS, status=3)
        self.assertEqual(err, "")
        self.assertEqual(self.versions(api), before, "nothing was written")
        answer = json.loads(out)
        self.assertEqual({item["name"]: (item["scheduled"], item["pending"]) for item in answer["podGroups"]},
                         {"own": (0, 3), "training": (0, 4)})
        self.assertIn("minCount (4) cannot be satisfied: ", answer["podGroups"][1]["message"])

        # With room for three of them, the cluster's own gang comes first.
        more = ("--add-nodes", "1", "--node-like", "node-1")
        answer = json.loads(self.run_simulate(api, "-f", gang, "-o", "json", *BY_GROUPS, *more, status=3)[0])
        self.assertEqual([item["reason"] for item in answer["podGroups"]], ["Scheduled", "Unschedulable"])
        for anonymous in ([], ["--anonymize"]):
            snapshot = self.folder() / "cluster.zst"
            done = subprocess.run([berth_binary(), "snapshot", "-o", snapshot, "--master", api.url, *anonymous], text=True,
                                  capture_output=True, timeout=TIME_LIMIT_S, env=clean_environment())
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            like = ("--add-nodes", "1", "--node-like", more[-1]) if not anonymous else ()
            out, err = self.run_simulate(None, "-f", gang, "-o", "json", *BY_GROUPS, *like, "--snapshot", snapshot, status=3)
            self.assertEqual(err, "")
            of_file = json.loads(out)["podGroups"]
            if anonymous:
                own = next(item for item in of_file if item["name"] != "training")
                self.assertEqual((own["scheduled"], own["pending"], own["minCount"]), (0, 3, 3), "the gang is known by its other name")
            else:
                self.assertEqual(of_file, answer["podGroups"])

        # Without the gate each pod is scheduled by itself, and a line says so.
        out, err = self.run_simulate(api, "-f", gang, "-o", "json", status=3)
        self.assertRegex(err, r"^berth: warning: .*gang\.yaml:2: PodGroup default/training: pods are scheduled one by one, as "
                              r"Kubernetes 1\.36 does; with --kubernetes-version 1\.37 and --feature-gates GenericWorkload=true as a group\n$")
        self.assertEqual(json.loads(out)["podGroups"], [])
        _, err = self.run_simulate(api, "-f", gang, "--feature-gates", "GenericWorkload=true", status=2)
        self.assertIn("; the cluster is of 1.36: --kubernetes-version 1.37 decides as that version does", err)

    def test_composite_pod_groups(self):
        """A tree from a manifest, and one of the cluster, which a snapshot contains as well: one of its two gangs would
        fit."""
        _, api = self.api_server(2)
        ref = {"workloadRef": {"workloadName": "w", "templateName": "x"}}
        objects = []
        for tree in ("own", "new"):
            objects.append({"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "CompositePodGroup", "metadata": {"name": tree},
                            "spec": {"schedulingPolicy": {"gang": {"minGroupCount": 2}}, **ref}})
            for part, members in (("leader", 1), ("workers", 3)):
                name = f"{tree}-{part}"
                objects.append({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": name},
                                "spec": {"parentCompositePodGroupName": tree, "schedulingPolicy": {"gang": {"minCount": members}}, **ref}})
                objects += [{"apiVersion": "v1", "kind": "Pod", **pod(f"{name}-{number}", "3", schedulingGroup={"podGroupName": name})}
                            for number in range(members)]
        plurals = {"CompositePodGroup": "compositepodgroups", "PodGroup": "podgroups"}
        for item in objects[:len(objects) // 2]:
            api.create(PODS if item["kind"] == "Pod" else
                       f"/apis/{item['apiVersion']}/namespaces/default/{plurals[item['kind']]}", item)
        manifest = self.file("tree.yaml", "\n---\n".join(json.dumps(item) for item in objects[len(objects) // 2:]))

        def asked(cluster: Api | None, *arguments: str, gates=BY_TREES, status: int = 3) -> tuple[dict, str]:
            out, err = self.run_simulate(cluster, "-f", manifest, "-o", "json", *gates, *arguments, status=status)
            return json.loads(out), err

        def trees(answer: dict) -> dict:
            return {item["name"]: (item["placed"], item["waiting"]) for item in answer["compositePodGroups"]}

        answer, err = asked(api)
        self.assertEqual((err, trees(answer)), ("", {"own": (0, 2), "new": (0, 2)}))
        self.assertEqual({item["compositePodGroup"] for item in answer["podGroups"]}, {"own", "new"})
        # With two more nodes one gang fits: the new one, because the cluster's own is in back-off.
        more = ("--add-nodes", "2", "--node-like", "node-1")
        answer, _ = asked(api, *more, status=0)
        self.assertEqual(trees(answer), {"own": (0, 2), "new": (2, 0)})
        snapshot = self.folder() / "cluster.zst"
        subprocess.run([berth_binary(), "snapshot", "-o", snapshot, "--master", api.url], check=True, capture_output=True,
                       timeout=TIME_LIMIT_S, env=clean_environment())
        of_file, err = asked(None, *more, "--snapshot", snapshot, status=0)
        self.assertEqual((err, of_file["compositePodGroups"]), ("", answer["compositePodGroups"]))
        # Without the gate each group is scheduled by itself, and a line says so.
        answer, err = asked(api, gates=BY_GROUPS)
        self.assertIn("tree.yaml:1: CompositePodGroup default/new: its groups are placed each by itself", err)
        self.assertEqual(answer["compositePodGroups"], [])
        self.assertEqual(len(answer["podGroups"]), 4)

    def test_pending(self):
        _, api = self.api_server(2)
        path = self.file("web.yaml", DEPLOYMENT % 2 + "---\n" + json.dumps(pod("huge", "900")))
        out, _ = self.run_simulate(api, "-f", path, status=3)
        self.assertIn("1 pod of Pod default/huge stays pending:\n  0/2 nodes are available: 2 Insufficient cpu.", out)
        self.assertTrue(all(len(line) <= 100 for line in out.splitlines()), out)
        self.assertNotIn("\x1b", out)

    def test_output_forms(self):
        _, api = self.api_server(3)
        path = self.file("web.yaml", DEPLOYMENT % 4)
        document = json.loads(self.run_simulate(api, "-f", path, "-o", "json")[0])
        self.assertEqual(len(document["pods"]), 4)
        self.assertIn("pending: 0\n", self.run_simulate(api, "-f", path, "-o", "yaml")[0])
        wide = self.run_simulate(api, "-f", path, "-o", "wide")[0]
        for item in document["pods"]:
            self.assertRegex(wide, rf"(?m)^default/{item['name']} +new +{item['node']}\b")

    def test_bad_input(self):
        _, api = self.api_server(1)
        config = self.file("bad.yaml", "kind: KubeSchedulerConfiguration\napiVersion: kubescheduler.config.k8s.io/v1\nprofilez: []\n")
        cases = (
            (["--master", api.url], 2, r"nothing to simulate: want -f FILE, --remove-node NAME, --add-nodes N or --config FILE"),
            (["-f", "/no/such.yaml"], 2, r"/no/such\.yaml: no such file or directory"),
            (["-f", self.folder()], 2, r"no \.yaml, \.yml or \.json file in it"),
            (["-f", self.file("a.yaml", "a: [\n")], 2, r"a\.yaml: .*line \d"),
            (["-f", self.file("b.yaml", "\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {replicaz: 1}\n")], 2,
             r'b\.yaml:6: Deployment default/x: unknown field "spec\.replicaz"'),
            (["-f", self.file("c.yaml", json.dumps(pod("p", priorityClassName="none")))], 2,
             r"c\.yaml:1: Pod default/p: spec\.priorityClassName: no PriorityClass with name none was found"),
            (["--remove-node", "node-9"], 2, r'there is no node "node-9"; the nearest name is "node-1"'),
            (["--add-nodes", "3"], 2, r"--add-nodes requires --node-like"),
            (["--add-nodes", "3", "--node-like", "x"], 2, r'there is no node "x"'),
            (["--remove-node", "node-1", "--config", config], 2, r'--config .*profilez'),
            (["--remove-node", "node-1", "--compare", config], 2, r'--compare .*profilez'),
            (["--remove-node", "node-1", "--feature-gates", "GenericWorklod=true"], 2, r"the nearest is GenericWorkload"),
            (["-f", self.file("d.yaml", "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: g}\n"
                              "spec: {schedulingPolicy: {gang: {minCount: 0}}}\n"), *BY_GROUPS], 2,
             r"d\.yaml:1: PodGroup default/g: spec\.schedulingPolicy\.gang\.minCount: Required value"),
        )
        for arguments, status, message in cases:
            with self.subTest(arguments=arguments):
                out, err = self.run_simulate(None if "--master" in arguments else api, *arguments, status=status)
                self.assertEqual(out, "")
                self.assertRegex(err, message)
                self.assertEqual(err.count("\n"), 1, err)
        _, err = self.run_simulate(None, "--remove-node", "n", "--master", "http://127.0.0.1:1", status=1)
        self.assertRegex(err, r"refused")

    def test_what_is_not_simulated_is_said(self):
        _, api = self.api_server(1)
        cron = self.file("cron.yaml", "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: tidy}\n")
        config = self.file("config.yaml", """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {enabled: [{name: OurGoPlugin}]}}}]
extenders: [{urlPrefix: "http://127.0.0.1:1/x", filterVerb: filter}]
""")
        _, err = self.run_simulate(api, "-f", cron, status=2)
        self.assertIn("nothing to simulate", err)
        _, err = self.run_simulate(api, "-f", cron, "--add-nodes", "1", "--node-like", "node-1", "--config", config)
        self.assertRegex(err, r"cron\.yaml:1: CronJob tidy: batch/v1 CronJob is not simulated")
        self.assertIn('plugin "OurGoPlugin" is unknown here: its part of the decision is missing', err)
        self.assertIn("extender http://127.0.0.1:1/x is not asked: its part of the decision is missing", err)

    def test_the_page(self):
        _, api = self.api_server(0, "--no-controllers")  # the pods are as on the page
        api.create_all(ROOT / "examples/clusters/simulate.yaml")
        page = PAGE.read_text()
        self.assertGreater(len(CONSOLE.findall(page)), 2)

        def real(match: re.Match) -> str:
            words = shlex.split(match.group(1))[2:]
            done = subprocess.run([berth_binary(), "simulate", *words, "--master", api.url], capture_output=True, text=True,
                                  timeout=TIME_LIMIT_S, env=clean_environment(), cwd=ROOT)
            self.assertIn(done.returncode, (0, 3), done.stderr)
            self.assertTrue(all(len(line) <= 100 for line in done.stdout.splitlines()), done.stdout)
            return f"```console\n$ {match.group(1)}\n{done.stdout}```"

        written = CONSOLE.sub(real, page)
        if os.environ.get("BERTH_WRITE_DOCS"):
            PAGE.write_text(written)
        else:
            self.assertEqual(page, written, "run with BERTH_WRITE_DOCS=1 to write docs/simulate.md")


def deployment_of(replicas: int) -> dict:
    """DEPLOYMENT as JSON, because Python's library has no YAML."""
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
                     "template": {"metadata": {"labels": {"app": "web"}},
                                  "spec": {"containers": [{"name": "c", "image": "nginx",
                                                           "resources": {"requests": {"cpu": "300m", "memory": "1Gi"}}}]}}}}


if __name__ == "__main__":
    unittest.main()
