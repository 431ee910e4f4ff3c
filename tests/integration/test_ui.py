# SPDX-License-Identifier: Apache-2.0
"""berth's page: `berth ui` of a cluster and of a snapshot, that of `berth cluster`, and that of the secure port."""

import gzip
import http.client
import itertools
import json
import re
import struct
import time
import unittest
import urllib.parse
from pathlib import Path

from support import ROOT, Api, BerthTest, Process, node_of, pod, wait_until
from test_explain_port import Reviews, kubeconfig
from test_serving import SecurePort

PODS = "/api/v1/namespaces/default/pods"
LINK = r"The page, for one browser: (http://\S+)"


class Page:
    """The API of a page, read with the cookie that its link gives."""

    def __init__(self, link: str):
        self.url = urllib.parse.urlsplit(link)
        self.cookie = ""
        status, headers, _ = self.send("GET", f"{self.url.path}?{self.url.query}")
        assert status == 200, status
        self.cookie = headers["Set-Cookie"].split(";")[0]

    def send(self, method: str, path: str, body: str | None = None, headers: dict | None = None):
        connection = http.client.HTTPConnection(self.url.netloc, timeout=60)
        sent = {**({"Cookie": self.cookie} if self.cookie else {}), **(headers or {})}
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, answer.headers, data

    def get(self, path: str) -> dict:
        status, _, data = self.send("GET", "/ui/api/v1/" + path)
        if status != 200:
            raise AssertionError(f"GET {path}: {status} {data!r}")
        return json.loads(data)

    def post(self, path: str, body: dict) -> tuple[int, dict]:
        status, _, data = self.send("POST", "/ui/api/v1/" + path, json.dumps(body))
        return status, json.loads(data)

    def fleet(self) -> dict:
        return columns(self.send("GET", "/ui/api/v1/fleet")[2])

    def events(self, last: str):
        """A connection that reads events, and the function that returns the next one."""
        connection = http.client.HTTPConnection(self.url.netloc, timeout=60)
        connection.request("GET", "/ui/api/v1/events", headers={"Cookie": self.cookie, "Last-Event-ID": last})
        answer = connection.getresponse()
        assert answer.headers["Content-Type"] == "text/event-stream"

        def next_event() -> dict:
            event = {}
            while True:
                line = answer.readline().decode().rstrip("\n")
                if not line and event:
                    return event
                key, _, value = line.partition(": ")
                if key:
                    event[key] = value

        return connection, next_event


def columns(frame: bytes) -> dict:
    """The columns of a fleet frame by name, strings resolved, and its directory."""
    assert frame[:4] == b"BFLT"
    version, length, begin = struct.unpack_from("<III", frame, 4)
    assert version == 4
    directory = json.loads(frame[16:16 + length])
    codes = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "f64": "d", "d32": "I"}
    read = {}
    for column in directory["columns"]:
        stored = column.get("stored", column["length"])  # the others repeat them
        values = struct.unpack_from(f"<{stored}{codes[column['type']]}", frame, begin + column["offset"])
        read[column["name"]] = values * (column["length"] // stored if stored else 0)
    for column in directory["columns"]:
        if column["type"] == "d32":  # each is the difference to the one before it
            read[column["name"]] = tuple(number % 2**32 for number in itertools.accumulate(read[column["name"]]))
    text = bytes(read["string.bytes"])
    offsets = read["string.offset"]
    strings = [text[a:b].decode() for a, b in zip(offsets, offsets[1:])]
    for name in ("node.name", "pod.name", "owner.name"):
        read[name] = [strings[number] for number in read[name]]
    return {**read, "directory": directory}


class Ui(BerthTest):
    def ui(self, *flags: str) -> tuple[Process, Page]:
        process = Process(self, "ui", *flags)
        return process, Page(process.wait_for("out", LINK).group(1))

    def test_of_a_cluster_whichever_scheduler_runs_there(self):
        _, api = self.api_server(2)
        api.create(PODS, pod("large", "64"))
        process, page = self.ui("--master", api.url)
        status = wait_until("all is listed", lambda: next((s for s in [page.get("status")] if s["pods"] == 1), None))
        self.assertEqual((status["mode"], status["scheduler"], status["nodes"]), ("live", "other", 2))
        waiting = page.get("pending")["classes"]
        self.assertEqual([(c["sample"]["name"], c["reasons"][0]["text"], c["reasons"][0]["nodes"]) for c in waiting],
                         [("large", "Insufficient cpu", 2)])
        self.assertEqual(page.get("pods/default/large")["state"], "Refused")
        fleet = page.fleet()
        self.assertEqual(fleet["pod.name"], ["large"])
        self.assertEqual(len(fleet["node.name"]), 2)

        directory = fleet["directory"]
        connection, next_event = page.events(f"{directory['epoch']}-{directory['revision']}-0")
        self.addCleanup(connection.close)
        self.assertEqual(next_event()["event"], "hello")
        api.create(PODS, pod("small"))
        while (event := next_event())["event"] != "fleet":
            pass
        change = json.loads(event["data"])
        self.assertEqual(change["base"], directory["revision"])
        self.assertIn("frame", change)

        status, answer = page.post("simulate", {"manifests": json.dumps(pod("new", "1"))})
        self.assertEqual((status, answer["pods"][0]["name"]), (200, "new"))
        self.assertEqual(page.post("can-drain", {"nodes": ["nowhere"]})[0], 422)
        self.assertEqual(page.post("can-drain", {"nodes": [fleet["node.name"][0]]})[0], 200)
        self.assertEqual(page.post("headroom", {})[0], 200)
        self.assertEqual(page.send("POST", "/ui/api/v1/simulate", "x" * (9 << 20))[0], 413)
        self.assertEqual(page.send("GET", "/ui/api/v1/decisions")[0], 404)
        self.assertEqual(process.end(), 0, process.lines("err"))

    def test_only_the_link_opens_it(self):
        _, api = self.api_server(1)
        process = Process(self, "ui", "--master", api.url)
        link = process.wait_for("out", LINK).group(1)
        page = Page(link)
        self.assertEqual(page.send("GET", "/ui/")[0], 200)
        path = "/ui/api/v1/status"
        for headers in ({"Cookie": ""}, {"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            self.assertEqual(page.send("GET", path, headers=headers)[0], 403, headers)
        page.cookie = ""
        self.assertEqual(page.send("GET", "/ui/?" + page.url.query)[0], 403, "the key works once")
        self.assertEqual(Process(self, "ui", "--master", api.url, "--listen", "0.0.0.0:0").wait(), 2)

    def test_the_files_are_those_that_were_built(self):
        _, api = self.api_server(1)
        _, page = self.ui("--master", api.url)
        status, headers, index = page.send("GET", "/ui/")
        self.assertEqual(status, 200)
        self.assertIn("script-src 'self'", headers["Content-Security-Policy"])
        self.assertNotIn("unsafe", headers["Content-Security-Policy"])
        if b"built without its page" in index or not (ROOT / "web/dist").is_dir():
            self.skipTest("this berth was built without its page, or elsewhere")
        for file in re.findall(rb'(?:href|src)="([\w.]+)"', index):
            status, _, data = page.send("GET", "/ui/" + file.decode())
            self.assertEqual((status, data), (200, (ROOT / "web/dist" / file.decode()).read_bytes()), file)
            status, headers, packed = page.send("GET", "/ui/" + file.decode(), headers={"Accept-Encoding": "gzip"})
            self.assertEqual((headers["Content-Encoding"], gzip.decompress(packed)), ("gzip", data))

    def test_of_a_snapshot(self):
        _, api = self.api_server(2)
        api.create(PODS, pod("large", "64"))
        file = str(self.folder() / "snapshot")
        self.assertEqual(Process(self, "snapshot", "--master", api.url, "-o", file).wait(), 0)
        _, page = self.ui("--snapshot", file)
        status = page.get("status")
        self.assertEqual((status["mode"], status["nodes"], status["pending"]), ("snapshot", 2, 1))
        self.assertNotIn("events", status["features"])
        self.assertEqual(page.get("pending")["classes"][0]["sample"]["name"], "large")
        self.assertEqual(page.fleet()["pod.name"], ["large"])

    def test_of_a_recording(self):
        _, api = self.api_server(2)
        folder = str(self.folder())
        run = Process(self, "run", "--master", api.url, "--leader-elect=false", "--record", folder)
        for name in ("first", "second"):
            api.create(PODS, pod(name))
            wait_until(f"{name} is bound", lambda: node_of(api.get(f"{PODS}/{name}")))  # pylint: disable=cell-var-from-loop
        api.create(PODS, pod("large", "64"))
        wait_until("it is refused", lambda: api.get(f"{PODS}/large").get("status", {}).get("conditions"))
        self.assertEqual(run.end(), 0)

        _, page = self.ui("--recording", folder)
        status = page.get("status")
        self.assertEqual((status["mode"], status["pods"], status["pending"]), ("recording", 3, 1))
        timeline = page.get("timeline")
        self.assertEqual(timeline["at"], timeline["to"])
        self.assertEqual(status["asOf"], timeline["at"])
        waiting = wait_until("the core answers", lambda: page.get("pending")["classes"])
        self.assertEqual((waiting[0]["sample"]["name"], waiting[0]["reasons"][0]["plugin"]), ("large", "NodeResourcesFit"))
        placed = next(d for d in page.get("decisions")["decisions"] if d["name"] == "first")
        before = placed["time"]
        status, then = page.post("timeline", {"at": before})
        self.assertEqual((status, then["at"]), (200, before))
        names = set(page.fleet()["pod.name"])
        self.assertIn("first", names)
        self.assertNotIn("large", names)
        self.assertEqual([d["name"] for d in page.get("decisions")["decisions"]][:1], ["first"])
        self.assertEqual(page.post("timeline", {"at": "2999-01-01T00:00:00Z"})[1]["at"], timeline["to"])
        self.assertEqual(set(page.fleet()["pod.name"]), {"first", "second", "large"})
        self.assertEqual(page.post("timeline", {"at": "noon"})[0], 422)
        self.assertEqual(page.post("simulate", {"manifests": json.dumps(pod("new", "1"))})[0], 200)

    def test_of_a_scheduler_in_the_same_process(self):
        process = Process(self, "cluster", "--listen", "127.0.0.1:0", "--nodes", "2", "--write-kubeconfig", "")
        api = Api(process.wait_for("out", r"http://(127\.0\.0\.1:\d+)").group(1))
        page = Page(process.wait_for("out", LINK).group(1))
        wait_until("all nodes are ready", lambda: len(api.ready_nodes()) == 2)
        api.create(PODS, pod("small"))
        api.create(PODS, pod("large", "64"))
        decisions = wait_until("both are decided", lambda: {d["name"]: d for d in page.get("decisions")["decisions"]}.keys()
                               >= {"small", "large"} and page.get("decisions"))["decisions"]
        placed = next(d for d in decisions if d["name"] == "small" and d["node"])
        self.assertEqual(placed["node"], wait_until("it is bound", lambda: node_of(api.get(f"{PODS}/small"))))
        waiting = wait_until("it waits in the queue", lambda: [c for c in page.get("pending")["classes"] if c.get("queue")])[0]
        self.assertEqual(page.get("pending")["by"], "scheduler")
        self.assertEqual((waiting["sample"]["name"], waiting["reasons"][0]["plugin"]), ("large", "NodeResourcesFit"))
        self.assertGreaterEqual(waiting["attempts"], 1)
        self.assertIn("NodeAdd", waiting["waitsFor"])
        said = wait_until("the scheduler answers", lambda: self.explained(page, "default/large"))
        self.assertEqual(said["live"]["decision"]["seed"], str(said["live"]["decision"]["seed"]))
        self.assertEqual(process.end(), 0, process.lines("err"))

    def explained(self, page: Page, name: str) -> dict | None:
        status, _, data = page.send("GET", f"/ui/api/v1/pods/{name}")
        return json.loads(data) if status == 200 else None

    def test_on_the_secure_port(self):
        _, api = self.api_server(2)
        reviews = Reviews(self, r"/ui/api/.*")
        config = str(self.file("reviews", kubeconfig(reviews.url)))
        port = SecurePort(self, api.url, f"--authentication-kubeconfig={config}", f"--authorization-kubeconfig={config}",
                          open_to_all=False)
        self.assertEqual(port.ask("/ui/")[0], 200, "a file of the page, which holds no data")
        self.assertIn(port.ask("/ui/api/v1/status")[0], (401, 403))
        self.assertEqual(port.ask("/ui/api/v1/status", token="somebody")[0], 401)
        api.create(PODS, pod("large", "64"))

        def status():
            code, body = port.ask("/ui/api/v1/status", token="jane")
            self.assertEqual(code, 200, body)
            shown = json.loads(body)
            return shown if shown["pods"] == 1 and shown["connected"] else None

        shown = wait_until("the watch, which began with the first request, has listed all", status)
        self.assertEqual((shown["scheduler"], shown["nodes"]), ("berth", 2))

        def refused():
            code, body = port.ask("/ui/api/v1/pending", token="jane")
            self.assertEqual(code, 200, body)
            return [c for c in json.loads(body)["classes"] if c["state"] == "Refused" and c.get("queue")]

        self.assertEqual(wait_until("it is refused", refused)[0]["sample"]["name"], "large")
        self.assertIn(("jane", "get", "/ui/api/v1/status"), reviews.asked)
        self.assertEqual(port.ask("/ui/api/v1/simulate", "POST", "jane", b"{}")[0], 403, "jane may get, and not post")

    def test_reports(self):
        _, api = self.api_server(2, "--no-controllers")  # which would delete pods of a ReplicaSet that there is not
        for number in range(2):
            owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
            twin = pod(f"web-{number}", nodeName=api.ready_nodes()[0])
            api.create(PODS, {**twin, "metadata": {**twin["metadata"], "ownerReferences": [owner]}})
        report = self.file("shadow.json", json.dumps({"decisions": 3, "matches": {}, "differences": []}))
        _, page = self.ui("--master", api.url, "--shadow-report", str(report))
        status = wait_until("all is listed", lambda: next((s for s in [page.get("status")] if s["pods"] == 2 and s["nodes"] == 2), None))
        self.assertLessEqual({"rebalance", "shadow"}, set(status["features"]))
        self.assertEqual(page.get("shadow")["decisions"], 3)
        policy = ("apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n- name: p\n"
                  "  pluginConfig: [{name: RemoveDuplicates, args: {}}]\n  plugins: {balance: {enabled: [RemoveDuplicates]}}\n")
        status, plan = page.post("rebalance", {"policy": policy})
        self.assertEqual(status, 200, plan)
        self.assertEqual(plan["kind"], "RebalancePlan")
        command = Process(self, "rebalance", "plan", "--policy", str(self.file("policy.yaml", policy)), "--master", api.url, "-o", "json")
        self.assertEqual(command.wait(), 0)
        said = json.loads("\n".join(command.lines("out")))
        self.assertEqual((plan["moves"], plan["staying"]), (said["moves"], said["staying"]))
        self.assertEqual(page.post("rebalance", {"policy": "kind: Pod"})[0], 422)

    def test_nobody_pays_for_a_page_that_nobody_opens(self):
        _, api = self.api_server(2)
        api.create(PODS, pod("first"))
        port = SecurePort(self, api.url)
        wait_until("the scheduler works", lambda: node_of(api.get(f"{PODS}/first")))
        rested = wait_until("it rests", lambda: rests(port.berth.pid))
        self.assertEqual(port.ask("/ui/")[0], 200)
        self.assertEqual(port.ask("/ui/app.js")[0] in (200, 404), True)
        self.assertEqual(held(port.berth.pid, port.port), rested, "the page's files cost nothing")
        self.assertEqual(port.ask("/ui/api/v1/status")[0], 200)
        # Its own watch ends when it has listed all, and what it hears then is the scheduler's: its threads stay.
        wait_until("the page works", lambda: held(port.berth.pid, port.port)[0] > rested[0])
        without = Process(self, "run", "--master", api.url, "--leader-elect=false", "--scheduler-name=other")
        without.wait_for("err", "Starting Kubernetes Scheduler")
        self.assertEqual(wait_until("the one without a port rests", lambda: rests(without.pid))[1], rested[1], "connections")


def held(pid: int, own_port: int = 0) -> tuple[int, int]:
    """How many threads a process has, and how many connections to others, without those that others made to its port."""
    inodes = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.add(re.sub(r"socket:\[(\d+)\]", r"\1", str(file.readlink())))
        except FileNotFoundError:
            pass
    connections = 0
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        is_established, local = fields[3] == "01", int(fields[1].split(":")[1], 16)
        connections += is_established and fields[9] in inodes and local != own_port
    return len(list(Path(f"/proc/{pid}/task").iterdir())), connections


def rests(pid: int) -> tuple[int, int] | None:
    """What it holds, when it holds the same for a while."""
    seen = [held(pid)]
    for _ in range(10):
        time.sleep(0.05)
        seen.append(held(pid))
    return seen[0] if len(set(seen)) == 1 and seen[0][1] > 0 else None


if __name__ == "__main__":
    unittest.main()
