# SPDX-License-Identifier: Apache-2.0
"""berth run --record and berth replay on whole processes: a cluster with preemption, volumes, an HTTP extender and a
scheduler that is killed, and every recording of it repeated. docs/replay.md shows outputs of this test;
BERTH_WRITE_DOCS=1 writes them anew.

BERTH_REPLAY_PODS=10000 BERTH_REPLAY_TIMES=10 is the large run; without them a small one."""

import json
import os
import random
import re
import shlex
import signal
import string
import subprocess
import threading
import time
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from outside import Metrics, OutsideServer, Reply, create_pod, placed, refused
from support import ROOT, Api, BerthTest, Process, berth_binary, clean_environment, node_of, pod, wait_until
from test_extender import Extender, names
from test_serving import SecurePort

PAGE = ROOT / "docs/replay.md"
CONSOLE = re.compile(r"```console\n\$ (berth replay[^\n]*)\n.*?```", re.DOTALL)
PODS = int(os.environ.get("BERTH_REPLAY_PODS", "600"))
TIMES = int(os.environ.get("BERTH_REPLAY_TIMES", "3"))
TIME_LIMIT_S = 600
LICENCE = "example.com/licence"


def replay(*arguments, status: int = 0) -> tuple[str, str]:
    done = subprocess.run([berth_binary(), "replay", *map(str, arguments)], capture_output=True, text=True,
                          timeout=TIME_LIMIT_S, env=clean_environment(), cwd=ROOT)
    if done.returncode != status:
        raise AssertionError(f"berth replay {arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout, done.stderr


def recordings(folder: Path) -> list[Path]:
    return sorted(folder.glob("berth-*.rec"))


class VolumeController(threading.Thread):
    """Makes volumes available, and binds a claim to the volume that the scheduler has reserved for it."""

    def __init__(self, test: unittest.TestCase, api: Api):
        super().__init__(daemon=True)
        self.api = api
        self.closing = threading.Event()
        self.bound = set()
        test.addCleanup(self.end)
        self.start()

    def end(self) -> None:
        self.closing.set()
        self.join(10)

    def run(self) -> None:
        while not self.closing.wait(0.2):
            for volume in self.api.get("/api/v1/persistentvolumes")["items"]:
                claim = volume["spec"].get("claimRef")
                name = volume["metadata"]["name"]
                if claim and name not in self.bound:
                    self.bound.add(name)
                    self.set_phase("/api/v1/persistentvolumes/" + name, "Bound")
                    path = f"/api/v1/namespaces/default/persistentvolumeclaims/{claim['name']}"
                    self.api.call("PATCH", path, {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
                                                  "spec": {"volumeName": name}}, Api.MERGE_PATCH)
                    self.set_phase(path, "Bound")

    def set_phase(self, path: str, phase: str) -> None:
        self.api.call("PATCH", path + "/status", {"status": {"phase": phase}}, Api.MERGE_PATCH)


class ReplayTest(BerthTest):
    def run_berth(self, api: Api, folder: Path, *more: str) -> Process:
        berth = Process(self, "run", "--master", api.url, "--leader-elect=false", "--record", str(folder), *more)
        berth.wait_for("err", "Starting")
        return berth

    def create_all(self, api: Api, objects: list[tuple[str, dict]]) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda each: api.create(*each), objects))

    def busy_cluster(self, nodes: int, pods: int) -> tuple[Api, str]:
        """A cluster, and the configuration of a scheduler with an extender for pods with a licence."""
        _, api = self.api_server(nodes)
        extender = Extender(self, filter=lambda body: {"NodeNames": names(body)[: max(3, len(names(body)) // 2)]},
                            prioritize=lambda body: [{"Host": name, "Score": i % 10} for i, name in enumerate(names(body))])
        config = self.file("config.yaml", json.dumps(
            {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
             "leaderElection": {"leaderElect": False}, "podMaxBackoffSeconds": 1,
             "extenders": [{"urlPrefix": extender.url, "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 1,
                            "nodeCacheCapable": True,
                            "managedResources": [{"name": LICENCE, "ignoredByScheduler": True}]}]}))
        api.create("/apis/storage.k8s.io/v1/storageclasses",
                   {"metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner",
                    "volumeBindingMode": "WaitForFirstConsumer"})
        node_names = sorted(api.ready_nodes())
        objects = []
        for i in range(pods // 10):
            objects.append(("/api/v1/persistentvolumes", {
                "metadata": {"name": f"volume-{i}"},
                "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local",
                         "local": {"path": "/data"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                             {"key": "kubernetes.io/hostname", "operator": "In", "values": [node_names[i % nodes]]}]}]}}}}))
            objects.append(("/api/v1/namespaces/default/persistentvolumeclaims", {
                "metadata": {"name": f"claim-{i}"},
                "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "local",
                         "resources": {"requests": {"storage": "1Gi"}}}}))
        self.create_all(api, objects)
        controller = VolumeController(self, api)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda i: controller.set_phase(f"/api/v1/persistentvolumes/volume-{i}", "Available"), range(pods // 10)))
        return api, str(config)

    @staticmethod
    def plain(i: int, cpu: str) -> tuple[str, dict]:
        body = pod(f"p-{i}", cpu)
        body["metadata"]["labels"] = {"app": f"app-{i % 7}"}
        body["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "nobody-reads-this" * 20}
        container = body["spec"]["containers"][0]
        container["env"] = [{"name": "PASSWORD", "value": "nobody-reads-this"}]
        container["args"] = ["nobody-reads-this"]
        if i % 10 == 1:
            container["resources"] = {"requests": {"cpu": cpu, LICENCE: "1"}, "limits": {LICENCE: "1"}}
        elif i % 10 == 2:
            body["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"claim-{i // 10}"}}]
        elif i % 10 == 3:
            body["spec"]["topologySpreadConstraints"] = [
                {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
                 "labelSelector": {"matchLabels": {"app": f"app-{i % 7}"}}}]
        elif i % 10 == 4:
            body["spec"]["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 10, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname",
                                                   "labelSelector": {"matchLabels": {"app": f"app-{i % 7}"}}}}]}}
        return "/api/v1/namespaces/default/pods", body

    def bound(self, api: Api, prefix: str) -> int:
        return sum(1 for each in api.pods() if each["metadata"]["name"].startswith(prefix) and node_of(each))

    @staticmethod
    def decisions(folder: Path) -> int:
        """The decisions in the newest recording, which may still be growing."""
        return int(re.search(r"(\d+) decisions?,", replay(folder)[0]).group(1))

    def test_a_busy_cluster(self):
        nodes = max(10, PODS // 50)
        api, config = self.busy_cluster(nodes, PODS)
        cpu = int(api.get("/api/v1/nodes")["items"][0]["status"]["allocatable"]["cpu"].rstrip("m") or 0)
        cpu_milli = cpu * 1000 if cpu < 1000 else cpu
        # The pods fill two thirds of the cluster.
        request = f"{cpu_milli * nodes * 2 // 3 // PODS}m"
        folder = self.folder()
        berth = self.run_berth(api, folder, "--config", config)
        third = PODS // 3
        self.create_all(api, [self.plain(i, request) for i in range(third)])
        wait_until("some are bound", lambda: self.bound(api, "p-") > third // 2, TIME_LIMIT_S)
        wait_until("and what was decided is in the recording", lambda: self.decisions(folder) > third // 2)
        berth.end(signal.SIGKILL)
        berth = self.run_berth(api, folder, "--config", config)
        self.create_all(api, [self.plain(i, request) for i in range(third, PODS)])
        wait_until("all are bound", lambda: self.bound(api, "p-") == PODS, TIME_LIMIT_S)
        self.assertEqual(berth.end(), 0)

        berth = self.run_berth(api, folder, "--config", config)
        important = max(5, nodes // 4)
        api.create("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "important"}, "value": 1000})
        self.create_all(api, [("/api/v1/namespaces/default/pods", pod(f"important-{i}", f"{cpu_milli // 2}m", priorityClassName="important"))
                              for i in range(important)])
        wait_until("the important ones are bound", lambda: self.bound(api, "important-") == important, TIME_LIMIT_S)
        self.assertLess(self.bound(api, "p-"), PODS, "somebody made room")
        berth.end()

        files = recordings(folder)
        self.assertEqual(len(files), 3)
        decisions = 0
        for file in files:
            first, err = replay(file, "--decisions")
            self.assertEqual(err, "")
            self.assertIn("Every decision is as it was recorded.\n", first)
            decisions += int(re.search(r"(\d+) decisions?,", first).group(1))
            for _ in range(TIMES - 1):
                self.assertEqual(replay(file, "--decisions"), (first, ""))
        self.assertGreater(decisions, PODS - third // 2, "all but those of the moment before the kill")
        bytes_a_pod = sum(file.stat().st_size for file in files) / PODS
        print(f"{PODS} pods, {decisions} decisions, {bytes_a_pod:.0f} bytes a pod", flush=True)
        for file in files:
            self.assertNotIn(b"nobody-reads-this", self.decompressed(file))

    @staticmethod
    def decompressed(file: Path) -> bytes:
        """All blocks of a recording."""
        data = file.read_bytes()
        stream, at = b"", 8
        while at + 16 <= len(data):
            size = int.from_bytes(data[at:at + 4], "little")
            stream += data[at + 16:at + 16 + size]
            at += 16 + size
        # The stream is truncated: zstd reports that after the complete part.
        out = subprocess.run(["zstd", "-dc"], input=stream, capture_output=True, timeout=60, check=False).stdout
        if not out:
            raise AssertionError("zstd makes nothing of the recording")
        return out

    def small_recording(self) -> Path:
        """Three nodes, and pods of which one fits nowhere."""
        _, api = self.api_server(3)
        folder = self.folder() / "recordings"
        berth = self.run_berth(api, folder, "--seed", "42")
        for i in range(4):
            api.create("/api/v1/namespaces/default/pods", pod(f"web-{i}", "500m"))
            wait_until("bound", lambda: self.bound(api, "web-") == i + 1)
        api.create("/api/v1/namespaces/default/pods", pod("giant", "1000"))
        wait_until("refused", lambda: any(c["type"] == "PodScheduled" and c["status"] == "False" for each in api.pods()
                                          for c in each["status"].get("conditions", [])))
        berth.end()
        return folder

    def test_explain_until_and_what_is_wrong(self):
        folder = self.small_recording()
        file = recordings(folder)[0]
        out, _ = replay(folder, "--explain", "default/giant")
        self.assertRegex(out, r"It was not placed: 0/3 nodes are available: 3 Insufficient cpu")
        self.assertIn("node-1", out)
        by_number = int(re.search(r"Decision (\d+) of the recording", out).group(1))
        self.assertEqual(replay(folder, "--explain", by_number)[0], out)
        out, _ = replay(folder, "--until", "0s")
        begun, ended = re.search(r"from (\S+) to (\S+): 0 turns", out).groups()
        self.assertEqual(begun, ended)
        out, _ = replay(folder, "--until", "1ms")
        self.assertIn(" 0 placed", out)
        out, _ = replay(folder, "--until", "1h")
        self.assertRegex(out, r"Then 4 pods are on 3 nodes, and 1 pod has none:\n  default/giant: 0/3 nodes")

        self.assertRegex(replay(folder, "--until", "soon", status=2)[1], r'--until: "soon" should be a time')
        self.assertRegex(replay(folder, "--explain", "default/nobody", status=1)[1], "there is no such decision")
        self.assertRegex(replay(self.folder(), status=1)[1], "holds no recording")
        self.assertRegex(replay(self.file("x.rec", "something"), status=1)[1], "is no recording of berth")
        data = file.read_bytes()
        cut = self.folder() / "berth-cut.rec"
        cut.write_bytes(data[:-7])
        out, err = replay(cut)
        self.assertIn("Every decision is as it was recorded.", out)
        self.assertRegex(err, r"^berth: warning: .*: its last block is cut off: replayed up to there\n$")
        # Another build: this program with one byte of its build id changed.
        other = self.folder() / "berth"
        build = re.search(rb"build id: \"([0-9a-f]+)\"", b"build id: \"" + self.build_id().encode() + b"\"").group(1).decode()
        program = Path(berth_binary()).read_bytes()
        raw = bytes.fromhex(build)
        self.assertIn(raw, program)
        other.write_bytes(program.replace(raw, raw[:-1] + bytes([raw[-1] ^ 1])))
        other.chmod(0o755)
        done = subprocess.run([str(other), "replay", str(file)], capture_output=True, text=True, timeout=TIME_LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "was written by another build of berth")

    @staticmethod
    def build_id() -> str:
        notes = subprocess.run(["readelf", "-n", berth_binary()], capture_output=True, text=True, check=True).stdout
        return re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)

    def test_a_question_about_the_cluster_as_it_was(self):
        folder = self.small_recording()
        body = self.file("question.json", json.dumps({"cpu": "500m", "require": 1}))
        now = json.loads(replay(folder, "--ask", "capacity", "--body", body, "-o", "json")[0])
        first = re.search(r"at (\S+Z), attempt 1", replay(folder, "--explain", "1")[0]).group(1)
        then = json.loads(replay(folder, "--until", first, "--ask", "capacity", "--body", body, "-o", "json")[0])
        self.assertEqual([now["nodes"], then["nodes"]], [3, 3])
        self.assertEqual(then["shapes"][0]["fits"] - now["shapes"][0]["fits"], 4, "none of web-0 to web-3 had a node yet")
        refused, _ = replay(folder, "--ask", "capacity", "--body", self.file("more.json", '{"cpu": "500m", "require": 100000}'), status=3)
        self.assertIn("FITS", refused)
        pending, _ = replay(folder, "--ask", "explain", "--body", self.file("pending.json", '{"pending": true}'), status=3)
        self.assertIn("Insufficient cpu", pending)
        manifest = json.dumps(pod("new", "500m"))
        simulate = self.file("simulate.json", json.dumps({"manifests": manifest}))
        spread = json.loads(replay(folder, "--ask", "simulate", "--body", simulate, "-o", "json")[0])
        packed = json.loads(replay(folder, "--ask", "simulate", "--body", simulate, "-o", "json", "--config",
                                   ROOT / "examples/simulate/packed.yaml")[0])
        node = [next(each["node"] for each in said["pods"] if each["name"] == "new") for said in (spread, packed)]
        on = Counter(re.findall(r"default/web-\d (node-\d)", replay(folder, "--decisions")[0]))
        self.assertEqual(on[node[0]], min(on.values()))
        self.assertEqual(on[node[1]], max(on.values()))
        for arguments, said in ((["--ask", "rebalance-plan"], "--ask"), (["--body", body], "--ask"), (["-o", "json"], "--ask"),
                                (["--ask", "headroom", "--body", self.file("bad.json", "[]")], "JSON object"),
                                (["--ask", "headroom", "--body", "/no/such.json"], "no such file"),
                                (["--ask", "headroom", "--body", self.file("x.json", '{"cpu": "1"}')], "no field of this question")):
            self.assertIn(said, replay(folder, *arguments, status=2)[1], arguments)

    def test_another_configuration(self):
        folder = self.small_recording()
        config = self.file("packed.yaml", """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - pluginConfig:
      - name: NodeResourcesFit
        args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 100}]}}
    plugins: {multiPoint: {disabled: [{name: NodeResourcesBalancedAllocation}, {name: PodTopologySpread}]}}
""")
        out, err = replay(folder, "--config", config)
        self.assertEqual(err, "")
        self.assertRegex(out, r"(?m)^ +RECORDED +AGAIN +packed\.yaml$")
        self.assertRegex(out, r"(?m)^placed +4 +4 +4$")
        self.assertRegex(out, r"(?m)^nodes in use at the end +3 +1$")
        self.assertIn("Every decision is as it was recorded.", out)
        bad = self.file("bad.yaml", "kind: Nonsense\n")
        self.assertRegex(replay(folder, "--config", bad, status=2)[1], "bad.yaml")

    def test_a_full_directory_ends_the_recording_and_not_the_scheduler(self):
        _, api = self.api_server(3)
        folder = self.folder()
        berth = self.run_berth(api, folder, "--record-bytes-max", "1048576", "--metrics-bind-address", "127.0.0.1:0")
        metrics = Metrics(berth)
        self.assertEqual(metrics.value("berth_recording_active"), 1)
        dice = random.Random(1)
        letters = string.ascii_letters + string.digits

        def noise() -> str:
            return "".join(dice.choices(letters, k=60))

        # Incompressible data, 150 KB per pod.
        for i in range(60):
            big = pod(f"big-{i}", "10m")
            big["metadata"]["labels"] = {noise(): noise() for _ in range(1200)}
            api.create("/api/v1/namespaces/default/pods", big)
            wait_until("bound", lambda: self.bound(api, f"big-{i}") == 1)
            if metrics.value("berth_recording_active") == 0:
                break
        metrics.wait_for(0, "berth_recording_active")
        said = berth.wait_for("err", "The recording has ended")
        self.assertIn("holds as much as --record-bytes-max allows", said.string)
        self.assertGreater(metrics.value("berth_recording_bytes_total"), 900_000)
        create_pod(api, pod("after", "10m"))
        placed(api, "after")
        self.assertEqual(berth.end(), 0)
        self.assertLess(recordings(folder)[0].stat().st_size, 2_000_000)
        out, err = replay(folder, "--decisions")
        self.assertEqual(err, "")
        self.assertIn("default/big-0 ", out)
        self.assertNotIn("default/after ", out)
        self.assertIn("Every decision is as it was recorded.", out)

    def test_a_failure_of_berth_leaves_all_that_led_to_it(self):
        _, api = self.api_server(3)
        folder = self.folder()
        berth = self.run_berth(api, folder)
        for i in range(20):
            create_pod(api, pod(f"a-{i}", "10m"))
        wait_until("bound", lambda: self.bound(api, "a-") == 20)
        os.kill(berth.pid, signal.SIGABRT)  # as a failed check does
        berth.wait_for("err", "beginning anew")
        create_pod(api, pod("b", "10m"))
        placed(api, "b")
        self.assertEqual(berth.end(), 0)
        first, second = recordings(folder)
        self.assertTrue(first.with_name(first.name + ".tail").exists())
        out, err = replay(first, "--decisions")
        self.assertEqual(err, "")
        for i in range(20):
            self.assertRegex(out, rf"(?m)^\d+ default/a-{i} node-")
        self.assertIn("Every decision is as it was recorded.", out)
        self.assertRegex(replay(second, "--decisions")[0], r"(?m)^1 default/b node-")

    def test_bad_flags(self):
        _, api = self.api_server()
        for arguments, said in {("--record", "/proc/nowhere"): r"^berth: --record: /proc/nowhere: ",
                                ("--record-bytes-max", "2000000"): r"--record-bytes-max: is for --record",
                                ("--record", "x", "--record-bytes-max", "1k"):
                                    r"--record-bytes-max.*should be a number of bytes, 1048576 at least"}.items():
            with self.subTest(arguments):
                done = subprocess.run([berth_binary(), "run", "--master", api.url, *arguments], capture_output=True, text=True,
                                      timeout=60, env=clean_environment())
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertRegex(done.stderr, "(?m)" + said)

    def test_all_that_policies_are_given(self):
        """A script that changes; outside data about health, load and prices; devices; pods chosen by an annotation; and
        questions to the running core."""
        _, api = self.api_server(4)
        outside = OutsideServer(self)

        def tell(bad: str, hot: str) -> None:
            outside.answers["/health"] = Reply(json.dumps({"machines": [
                {"host": f"node-{i}", "state": "broken" if f"node-{i}" == bad else "ok", "why": "smoke"} for i in range(1, 5)]}))
            outside.answers["/prometheus"] = lambda _: Reply(json.dumps({"status": "success", "data": {
                "resultType": "vector", "result": [{"metric": {"node": f"node-{i}"},
                                                    "value": [time.time(), "0.95" if f"node-{i}" == hot else "0.1"]}
                                                   for i in range(1, 5)]}}))

        tell("node-1", "node-2")
        for i in range(1, 5):
            self.assertEqual(api.call("PATCH", f"/api/v1/nodes/node-{i}", {"metadata": {"annotations": {
                "team.example.com/cost": str(i), "team.example.com/tier": "gold" if i == 3 else "tin",
                "nobody.example.com/text": "nobody-reads-this"}}}, Api.MERGE_PATCH)[0], 200)
        folder = self.folder()
        script = folder / "tier.lua"
        script.write_text('annotations = {"team/tier"}\nfunction filter(pod, node)\n'
                          '  return node.metadata.annotations["team.example.com/tier"] == pod.metadata.annotations["team/tier"], "no tier"\n'
                          "end\n")
        plugins = {"scripted": ("Script", {"file": "tier.lua"}),
                   "safe": ("ExternalHealth", {"source": "json", "url": outside.url + "/health", "interval": "1s",
                                               "json": {"items": "machines", "name": "host", "state": "state",
                                                        "goodStates": ["ok"], "reason": "why"}}),
                   "cool": ("LoadAware", {"source": "prometheus", "interval": "1s", "freshness": "30s", "hotThreshold": 80,
                                          "prometheus": {"url": outside.url + "/prometheus", "cpuQuery": "cpu",
                                                         "nodeLabel": "node"}}),
                   "cheap": ("BestPrice", {"annotations": ["team.example.com/cost"]})}
        config = folder / "config.yaml"
        config.write_text(json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False}, "profiles": [{"schedulerName": "default-scheduler"}] + [
                {"schedulerName": name, "plugins": {"multiPoint": {"enabled": [{"name": plugin, "weight": 1600}]}},
                 "pluginConfig": [{"name": plugin, "args": arguments}]} for name, (plugin, arguments) in plugins.items()]}))
        recorded = folder / "recordings"
        port = SecurePort(self, api.url, "--config", str(config), "--record", str(recorded), "--pods-by-annotation")
        stopped = threading.Event()
        asked = []

        def ask() -> None:
            while not stopped.wait(0.02):
                asked.append(port.ask("/explain/pods/default/waits")[0])

        asker = threading.Thread(target=ask, daemon=True)
        create_pod(api, pod("waits", "1000"))
        asker.start()
        where = {}

        def place(name: str, made: dict, **annotations: str) -> None:
            made["metadata"]["annotations"] = {key.replace("__", "/").replace("_", "."): value
                                               for key, value in annotations.items()}
            create_pod(api, made)
            where[name] = placed(api, name)

        for i in range(3):
            place(f"gold-{i}", pod(f"gold-{i}", scheduler="scripted"), team__tier="gold")
            place(f"safe-{i}", pod(f"safe-{i}", scheduler="safe"))
            place(f"cool-{i}", pod(f"cool-{i}", scheduler="cool"))
            place(f"cheap-{i}", pod(f"cheap-{i}", scheduler="cheap"))
            place(f"named-{i}", pod(f"named-{i}"), scheduler_alpha_kubernetes_io__name="cheap")
        self.assertEqual({where[f"gold-{i}"] for i in range(3)}, {"node-3"})
        self.assertEqual({where[f"{name}-{i}"] for name in ("cheap", "named") for i in range(3)}, {"node-1"})
        self.assertNotIn("node-1", {where[f"safe-{i}"] for i in range(3)})
        self.assertNotIn("node-2", {where[f"cool-{i}"] for i in range(3)})

        # All nodes change.
        tell("node-4", "node-3")
        script.write_text('annotations = {"team/tier"}\nfunction filter(pod, node)\n'
                          '  return node.metadata.name == "node-2", "not node-2"\nend\n')
        api.call("PATCH", "/api/v1/nodes/node-1", {"metadata": {"annotations": {"team.example.com/cost": "9"}}}, Api.MERGE_PATCH)
        wait_until("the new script counts",
                   lambda: re.search(r'berth_script_reloads_total\{.*result="success".*\} 1\n', port.ask("/metrics")[1]))
        place("new", pod("new", scheduler="scripted"))
        self.assertEqual(where["new"], "node-2")
        for i in range(3, 6):
            place(f"safe-{i}", pod(f"safe-{i}", scheduler="safe"))
            place(f"cheap-{i}", pod(f"cheap-{i}", scheduler="cheap"))
        self.assertEqual({where[f"cheap-{i}"] for i in range(3, 6)}, {"node-2"})

        # Two devices on node-3, for three pods.
        api.create("/apis/resource.k8s.io/v1/deviceclasses", {"metadata": {"name": "gpu"}, "spec": {"selectors": [
            {"cel": {"expression": 'device.driver == "gpu.example.com"'}}]}})
        api.create("/apis/resource.k8s.io/v1/resourceslices", {"metadata": {"name": "node-3-gpu"}, "spec": {
            "driver": "gpu.example.com", "nodeName": "node-3", "pool": {"name": "node-3", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}]}})
        for i in range(3):
            api.create("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", {"metadata": {"name": f"claim-{i}"}, "spec": {
                "devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}})
            create_pod(api, pod(f"gpu-{i}", resourceClaims=[{"name": "g", "resourceClaimName": f"claim-{i}"}]))
            if i < 2:
                self.assertEqual(placed(api, f"gpu-{i}"), "node-3")
        refused(api, "gpu-2", "cannot allocate all claims")

        wait_until("somebody has asked", lambda: asked.count(200) > 10)
        stopped.set()
        asker.join(10)
        self.assertEqual(port.berth.end(), 0)
        out, err = replay(recorded, "--decisions")
        self.assertEqual(err, "")
        self.assertIn("Every decision is as it was recorded.", out)
        for name, node in where.items():
            self.assertIn(f" default/{name} {node} ", out)
        for _ in range(TIMES - 1):
            self.assertEqual(replay(recorded, "--decisions"), (out, ""))
        # Explanations include outside data; with another configuration no data is requested.
        out, _ = replay(recorded, "--explain", "default/safe-0")
        self.assertRegex(out, r"node\(s\) called bad by json: smoke")

    @unittest.skipIf(os.environ.get("BERTH_IS_SLOW") == "1", "what has happened by a moment of the recording depends on how fast berth is")
    def test_the_page(self):
        """Times, and values that depend on them, are not compared."""
        folder = self.small_recording()
        (folder.parent / "packed.yaml").write_text(re.search(r"```yaml\n(apiVersion.*?)```", PAGE.read_text(), re.DOTALL).group(1))
        page = PAGE.read_text()
        (folder.parent / "question.json").write_text(re.search(r"```json\n(.*?)```", page, re.DOTALL).group(1))
        self.assertGreater(len(CONSOLE.findall(page)), 2)

        def real(match: re.Match) -> str:
            words = shlex.split(match.group(1))[1:]
            done = subprocess.run([berth_binary(), *words], capture_output=True, text=True, timeout=TIME_LIMIT_S,
                                  env=clean_environment(), cwd=folder.parent)
            self.assertEqual(done.returncode, 0, done.stderr)
            return f"```console\n$ {match.group(1)}\n{done.stdout}```"

        written = CONSOLE.sub(real, page)
        if os.environ.get("BERTH_WRITE_DOCS"):
            PAGE.write_text(written)
        else:
            self.assertEqual(masked(page), masked(written), "run with BERTH_WRITE_DOCS=1 to write docs/replay.md")


def masked(page: str) -> str:
    page = re.sub(r"\d{4}-?\d\d-?\d\dT\d\d:?\d\d:?\d\d(\.\d+)?Z", "TIME", page)
    page = re.sub(r"\d+ turns, \d+ inputs", "N turns, N inputs", page)
    return re.sub(r"(?m)^(wait until placed.*?) +\S+ +\S+ +\S+$", r"\1", page)


if __name__ == "__main__":
    unittest.main()
