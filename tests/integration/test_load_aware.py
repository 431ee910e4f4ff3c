# SPDX-License-Identifier: Apache-2.0
"""LoadAware with a whole berth: measurements that are good, bad, slow or gone; metrics.k8s.io at the API server; a real
Prometheus."""

import http.client
import json
import socket
import socketserver
import threading
import time
import unittest
from datetime import datetime, timezone

from outside import (Metrics, OutsideServer, Reply, Service, create_pod, free_port, placed, program, ready_berth, refused)
from support import Api, BerthTest, Process, pod, wait_until

WITHOUT = "berth_load_aware_nodes_without_fresh_data"
REFUSED = "berth_load_aware_refused_measurements_total"
REQUESTS = "berth_outside_requests_total"


def profile(name: str, arguments: dict) -> dict:
    return {"schedulerName": name, "plugins": {"multiPoint": {"enabled": [{"name": "LoadAware", "weight": 1600}]}},
            "pluginConfig": [{"name": "LoadAware", "args": arguments}]}


def configuration(*profiles: dict) -> str:
    return json.dumps({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                       "leaderElection": {"leaderElect": False}, "profiles": list(profiles)})


def prometheus(url: str, **more) -> dict:
    """Arguments with short intervals."""
    return {"source": "prometheus", "interval": "1s", "timeout": "1s", "freshness": "4s", "futureTolerance": "2s",
            "hotThreshold": 80, "prometheus": {"url": url, "cpuQuery": "cpu", "nodeLabel": "node"}, **more}


def vector(shares: dict, at: float | None = None) -> str:
    """A response of Prometheus; `shares` are texts or numbers by node."""
    at = time.time() if at is None else at
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": [
        {"metric": {"node": node}, "value": [at, str(share)]} for node, share in shares.items()]}})


def use(**by_node) -> dict:
    return {name.replace("_", "-"): share for name, share in by_node.items()}


class MetricsApi:
    """A proxy for an API server that answers metrics.k8s.io itself, like an aggregated API."""

    PATH = "/apis/metrics.k8s.io/v1beta1/nodes"

    def __init__(self, test: unittest.TestCase, api: Api):
        self.items = []
        outer = self
        host, port = api.url.removeprefix("http://").split(":")

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                try:
                    self.serve()
                except (OSError, ValueError):
                    pass

            def serve(self):
                head = []
                while (line := self.rfile.readline()) and line not in (b"\r\n", b"\n"):
                    if not line.lower().startswith(b"connection:"):
                        head.append(line)
                if not head:
                    return
                if head[0].split()[1].decode().startswith(outer.PATH):
                    body = json.dumps({"kind": "NodeMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {},
                                       "items": outer.items}).encode()
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
                                     + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
                    return
                length = next((int(line.split(b":")[1]) for line in head if line.lower().startswith(b"content-length:")), 0)
                with socket.create_connection((host, int(port))) as upstream:
                    upstream.sendall(b"".join(head) + b"Connection: close\r\n\r\n" + self.rfile.read(length))
                    while data := upstream.recv(65536):
                        self.wfile.write(data)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *_):
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.api = Api(f"127.0.0.1:{self._server.server_address[1]}")
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        test.addCleanup(self._server.server_close)
        test.addCleanup(self._server.shutdown)


class Exporter:
    """A target that Prometheus scrapes: the utilisation of each node."""

    def __init__(self, test: unittest.TestCase, shares: dict):
        self.shares = shares
        self.server = OutsideServer(test)
        self.server.answers["/metrics"] = self._text

    def _text(self, _handler) -> Reply:
        lines = ["# TYPE machine_use gauge"]
        lines += [f'machine_use{{node="{node}"}} {share}' for node, share in self.shares.items()]
        return Reply("\n".join(lines) + "\n", headers={"Content-Type": "text/plain; version=0.0.4"})


class LoadAware(BerthTest):
    def berth(self, api: Api, *profiles: dict) -> tuple[Process, Metrics]:
        return ready_berth(self, api, self.file("config.json", configuration(*profiles)))

    def test_the_least_used_node_and_what_changes_it(self):
        _, api = self.api_server(3)
        outside = OutsideServer(self)
        shares = use(node_1=0.7, node_2=0.1, node_3=0.95)
        outside.answers["/"] = lambda _: Reply(vector(shares))
        berth, metrics = self.berth(api, profile("load", prometheus(outside.url)))
        metrics.wait_for(0, WITHOUT, profile="load")
        create_pod(api, pod("first", scheduler="load"))
        self.assertEqual(placed(api, "first"), "node-2")
        self.assertIn("/api/v1/query?query=cpu", outside.asked)

        shares.update(use(node_1=0.99, node_2=0.98, node_3=0.97))
        asked = len(outside.asked)
        wait_until("berth has heard of it", lambda: len(outside.asked) > asked + 1)
        create_pod(api, pod("waits", scheduler="load"))
        message = refused(api, "waits", "hotter than 80%")
        # The first pod comes on top of the 98 %.
        self.assertTrue(message.startswith("0/3 nodes are available: 1 node(s) hotter than 80%: cpu at 100%, 1 node(s) hotter "
                                           "than 80%: cpu at 97%, 1 node(s) hotter than 80%: cpu at 99%. "), message)
        begin = time.monotonic()
        shares.update(use(node_1=0.2))
        self.assertEqual(placed(api, "waits"), "node-1")
        self.assertLess(time.monotonic() - begin, 45, "tried again when the data change, not at the flush")

        outside.answers["/"] = Reply("down", 500)
        metrics.wait_for(3, WITHOUT, profile="load")
        create_pod(api, pod("blind", scheduler="load"))
        placed(api, "blind")
        self.assertEqual(berth.end(), 0)

    def test_bad_measurements_stop_nothing(self):
        _, api = self.api_server(3)
        outside = OutsideServer(self)
        good = use(node_1=0.5, node_2=0.5, node_3=0.1)
        cases = {
            # name: answer, nodes without fresh data, whether requests fail, reasons that are counted
            "slow": (Reply(vector(good), after=30), 3, True, []),
            "error": (Reply("oops", 500), 3, True, []),
            "html": (Reply("<html>login</html>"), 3, True, []),
            "torn": (Reply(vector(good)[:60]), 3, True, []),
            "refused": (Reply('{"status":"error","errorType":"bad_data","error":"no such function"}', 200), 3, True, []),
            "half": (lambda _: Reply(vector(use(node_1=0.5))), 2, False, []),
            "future": (lambda _: Reply(vector(good, time.time() + 3600)), 3, False, ["future"]),
            "old": (lambda _: Reply(vector(good, time.time() - 3600)), 3, False, []),
            "nan": (lambda _: Reply(vector(use(node_1="NaN", node_2="-0.5", node_3="+Inf"))), 3, False,
                    ["not_a_number", "negative"]),
            "percent": (lambda _: Reply(vector(use(node_1=50, node_2=50, node_3=10))), 3, False, ["implausible"]),
        }
        for name, (answer, *_) in cases.items():
            outside.answers[f"/{name}/"] = answer
        berth, metrics = self.berth(api, *[profile(name, prometheus(f"{outside.url}/{name}")) for name in cases])
        for name, (_, without, fails, reasons) in cases.items():
            with self.subTest(name):
                metrics.wait_for(without, WITHOUT, profile=name)
                metrics.wait_for(lambda count: count > 0, REQUESTS, profile=name, plugin="LoadAware",
                                 result="error" if fails else "success")
                for reason in reasons:
                    metrics.wait_for(lambda count: count > 0, REFUSED, profile=name, reason=reason)
                create_pod(api, pod(f"p-{name}", scheduler=name))
                placed(api, f"p-{name}")
                if fails:
                    berth.wait_for("err", f"No data from outside.*/{name}/")
                    lines = [line for line in berth.lines("err") if "No data from outside" in line and f"/{name}/" in line]
                    self.assertEqual(len(lines), 1, lines)
        self.assertEqual(berth.end(), 0)

    def test_metrics_of_the_api_server(self):
        _, api = self.api_server(2)
        proxy = MetricsApi(self, api)

        def measured(node: str, cpu: str) -> dict:
            return {"metadata": {"name": node}, "timestamp": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                    "window": "10s", "usage": {"cpu": cpu, "memory": "100Mi"}}

        proxy.items = [measured("node-1", "3500000000n"), measured("node-2", "250m")]
        _, metrics = self.berth(proxy.api, profile("load", {"interval": "1s"}))
        metrics.wait_for(0, WITHOUT, profile="load")
        create_pod(api, pod("p", scheduler="load"))
        self.assertEqual(placed(api, "p"), "node-2")

    def test_annotations_of_nodes(self):
        _, api = self.api_server(2)
        for node, percent in (("node-1", "90"), ("node-2", "20.5%")):
            status, answer = api.call("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"annotations": {
                "berth.dev/cpu-usage": percent, "berth.dev/memory-usage": "10"}}}, Api.MERGE_PATCH)
            self.assertEqual(status, 200, answer)
        _, metrics = self.berth(api, profile("load", {"source": "annotations", "interval": "1s", "hotThreshold": 85}))
        metrics.wait_for(0, WITHOUT, profile="load")
        create_pod(api, pod("p", scheduler="load"))
        self.assertEqual(placed(api, "p"), "node-2")
        api.call("PATCH", "/api/v1/nodes/node-2", {"metadata": {"annotations": {"berth.dev/cpu-usage": "99"}}}, Api.MERGE_PATCH)
        api.call("PATCH", "/api/v1/nodes/node-1", {"metadata": {"annotations": {"berth.dev/cpu-usage": "86"}}}, Api.MERGE_PATCH)
        create_pod(api, pod("q", scheduler="load"))
        refused(api, "q", r"cpu at 86%, .*cpu at 99%|cpu at 99%, .*cpu at 86%|hotter than 85%")
        api.call("PATCH", "/api/v1/nodes/node-1", {"metadata": {"annotations": {"berth.dev/cpu-usage": "3"}}}, Api.MERGE_PATCH)
        self.assertEqual(placed(api, "q"), "node-1")
        api.call("PATCH", "/api/v1/nodes/node-1", {"metadata": {"annotations": {"berth.dev/cpu-usage": "a lot"}}},
                 Api.MERGE_PATCH)
        metrics.wait_for(1, REFUSED, profile="load", reason="not_a_number")
        metrics.wait_for(1, WITHOUT, profile="load")

    def test_a_real_prometheus(self):
        binary = program(self, "prometheus", "/usr/bin/prometheus")
        exporter = Exporter(self, use(node_1=0.6, node_2=0.2, node_3=0.9))
        folder = self.folder()
        port = free_port()
        (folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n"
            f"- job_name: machines\n  static_configs: [{{targets: ['{exporter.server.url.removeprefix('http://')}']}}]\n")
        service = Service(self, folder / "prometheus.log", binary, f"--config.file={folder}/prometheus.yml",
                          f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn")
        service.wait_for_http(f"http://127.0.0.1:{port}/-/ready")

        _, api = self.api_server(3)
        asked = prometheus(f"http://127.0.0.1:{port}", freshness="10s")
        asked["prometheus"]["cpuQuery"] = 'max by (node) (machine_use{job="machines"})'
        wrong = prometheus(f"http://127.0.0.1:{port}")
        wrong["prometheus"]["cpuQuery"] = "max by (node (machine_use)"
        berth, metrics = self.berth(api, profile("load", asked), profile("wrong", wrong))
        metrics.wait_for(0, WITHOUT, profile="load")
        create_pod(api, pod("first", scheduler="load"))
        self.assertEqual(placed(api, "first"), "node-2")

        exporter.shares = use(node_1=0.95, node_2=0.96, node_3=0.05)

        def knows() -> bool:
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            client.request("GET", "/api/v1/query?query=machine_use%3C0.1")
            answer = json.loads(client.getresponse().read())
            client.close()
            return [series["metric"]["node"] for series in answer["data"]["result"]] == ["node-3"]

        wait_until("Prometheus has scraped it", knows)
        done = metrics.value(REQUESTS, profile="load", result="success")
        metrics.wait_for(lambda count: count > done + 1, REQUESTS, profile="load", result="success")
        create_pod(api, pod("second", scheduler="load"))
        self.assertEqual(placed(api, "second"), "node-3")

        # Prometheus answers an invalid query with status 400.
        metrics.wait_for(lambda count: count > 0, REQUESTS, profile="wrong", result="error")
        create_pod(api, pod("third", scheduler="wrong"))
        placed(api, "third")

        service.end()
        metrics.wait_for(3, WITHOUT, profile="load")
        create_pod(api, pod("fourth", scheduler="load"))
        placed(api, "fourth")
        self.assertEqual(berth.end(), 0)


if __name__ == "__main__":
    unittest.main()
