# SPDX-License-Identifier: Apache-2.0
"""ExternalHealth with a whole berth: sources that are good, bad, slow or gone; a real Alertmanager; a real Nagios."""

import json
import time
import unittest
import urllib.request
from datetime import datetime, timedelta, timezone

from outside import (Metrics, Nagios, OutsideServer, Reply, Service, create_pod, free_port, placed, program, ready_berth, refused,
                     with_share)
from support import Api, BerthTest, Process, pod

BAD = "berth_external_health_bad_nodes"
UNKNOWN = "berth_external_health_unknown_nodes"
STALE = "berth_external_health_data_stale"
REQUESTS = "berth_outside_requests_total"


def profile(name: str, arguments: dict) -> dict:
    return {"schedulerName": name, "plugins": {"multiPoint": {"enabled": [{"name": "ExternalHealth"}]}},
            "pluginConfig": [{"name": "ExternalHealth", "args": {"interval": "1s", "timeout": "1s", "staleAfter": "4s",
                                                                 **arguments}}]}


def configuration(*profiles: dict) -> str:
    return json.dumps({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                       "leaderElection": {"leaderElect": False}, "profiles": list(profiles)})


def inventory(url: str, **more) -> dict:
    return {"source": "json", "url": url, "json": {"items": "machines", "name": "host", "state": "state",
                                                   "goodStates": ["ok"], "reason": "why"}, **more}


def machines(**states: str) -> str:
    """The inventory's form of {"node_1": "ok", "node_2": "the message of a bad one"}."""
    return json.dumps({"machines": [{"host": name.replace("_", "-"), "state": "ok" if words == "ok" else "broken", "why": words}
                                    for name, words in states.items()]})


class ExternalHealth(BerthTest):
    def berth(self, api: Api, *profiles: dict) -> tuple[Process, Metrics]:
        return ready_berth(self, api, self.file("config.json", configuration(*profiles)))

    def test_the_words_of_the_source_and_what_changes_them(self):
        _, api = self.api_server(2)
        outside = OutsideServer(self)
        outside.answers["/"] = Reply(machines(node_1="the fan is\nbroken \x1b[31m", node_2="ok"))
        berth, metrics = self.berth(api, profile("safe", inventory(outside.url)))
        metrics.wait_for(1, BAD, profile="safe")
        for name in ("a", "b", "c"):
            create_pod(api, pod(name, scheduler="safe"))
            self.assertEqual(placed(api, name), "node-2")

        outside.answers["/"] = Reply(machines(node_1="the fan is\nbroken \x1b[31m", node_2="on fire"))
        metrics.wait_for(2, BAD, profile="safe")
        create_pod(api, pod("waits", scheduler="safe"))
        self.assertRegex(refused(api, "waits", "called bad"),
                         r"^0/2 nodes are available: 1 node\(s\) called bad by json: on fire, "
                         r"1 node\(s\) called bad by json: the fan is broken \?\[31m\. ")
        begin = time.monotonic()
        outside.answers["/"] = Reply(machines(node_1="ok", node_2="on fire"))
        self.assertEqual(placed(api, "waits"), "node-1")
        self.assertLess(time.monotonic() - begin, 45, "tried again when the data change, not at the flush")
        self.assertEqual(berth.end(), 0)

    def test_bad_sources_stop_nothing(self):
        _, api = self.api_server(2)
        outside = OutsideServer(self)
        good = machines(node_1="ok", node_2="ok")
        answers = {
            "slow": Reply(good, after=30),
            "error": Reply("oops", 500),
            "html": Reply("<html>login</html>"),
            "torn": Reply(good[:30]),
            "empty": Reply("{}"),
        }
        for name, answer in answers.items():
            outside.answers[f"/{name}"] = answer
        outside.answers["/half"] = Reply(machines(node_2="ok"))
        fallbacks = ("open", "closed")
        berth, metrics = self.berth(
            api, *[profile(f"{name}-{way}", inventory(f"{outside.url}/{name}", onStale=way)) for name in answers
                   for way in fallbacks],
            *[profile(f"half-{way}", inventory(f"{outside.url}/half", onUnknown=way)) for way in fallbacks])
        for name in answers:
            for way in fallbacks:
                with self.subTest(f"{name} {way}"):
                    scheduler = f"{name}-{way}"
                    metrics.wait_for(1, STALE, profile=scheduler)
                    metrics.wait_for(lambda count: count > 0, REQUESTS, profile=scheduler, result="error")
                    create_pod(api, pod(scheduler, scheduler=scheduler))
                    if way == "open":
                        placed(api, scheduler)
                    else:
                        refused(api, scheduler, r"^0/2 nodes are available: 2 node\(s\) without fresh word from json\.")
        for way in fallbacks:
            metrics.wait_for(1, UNKNOWN, profile=f"half-{way}")
            create_pod(api, pod(f"half-{way}", scheduler=f"half-{way}"))
            self.assertIn(placed(api, f"half-{way}"), ("node-2",) if way == "closed" else ("node-1", "node-2"))
        # With good answers, the nodes that failed closed are used again.
        for name in answers:
            outside.answers[f"/{name}"] = Reply(good)
        for name in answers:
            placed(api, f"{name}-closed")
        self.assertEqual(berth.end(), 0)

    def test_a_real_alertmanager(self):
        binary = program(self, "prometheus-alertmanager", "/usr/bin/prometheus-alertmanager")
        folder = self.folder()
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        (folder / "alertmanager.yml").write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
        service = Service(self, folder / "alertmanager.log", *with_share(binary, "/usr/share/prometheus/alertmanager"), binary,
                          f"--config.file={folder}/alertmanager.yml",
                          f"--storage.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}",
                          "--cluster.listen-address=", "--log.level=warn")
        service.wait_for_http(f"{url}/-/ready")

        def post(path: str, body) -> dict | None:
            request = urllib.request.Request(url + path, data=json.dumps(body).encode(),
                                             headers={"Content-Type": "application/json"}, method="POST")
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
                text = answer.read()
                return json.loads(text) if text else None

        def at(minutes: float) -> str:
            return (datetime.now(timezone.utc) + timedelta(minutes=minutes)).isoformat()

        def alert(node: str, severity: str, is_over: bool = False) -> None:
            post("/api/v2/alerts", [{"labels": {"alertname": "DiskFails", "instance": f"{node}:9100", "severity": severity},
                                     "annotations": {"summary": f"a disk of {node} has bad sectors"}, "startsAt": at(-5),
                                     "endsAt": at(-1 if is_over else 10)}])

        _, api = self.api_server(2)
        _, metrics = self.berth(api, profile("safe", {"source": "alertmanager", "url": url,
                                                      "alertmanager": {"severities": ["critical"]}}))
        metrics.wait_for(0, STALE, profile="safe")
        alert("node-1", "critical")
        alert("node-2", "warning")
        metrics.wait_for(1, BAD, profile="safe")
        create_pod(api, pod("a", scheduler="safe"))
        self.assertEqual(placed(api, "a"), "node-2")

        alert("node-2", "critical")
        metrics.wait_for(2, BAD, profile="safe")
        create_pod(api, pod("b", scheduler="safe"))
        self.assertIn("1 node(s) called bad by alertmanager: DiskFails: a disk of node-2 has bad sectors",
                      refused(api, "b", "called bad"))
        # With a silence, the node may be used again.
        post("/api/v2/silences", {"matchers": [{"name": "instance", "value": "node-1:9100", "isRegex": False}],
                                  "startsAt": at(0), "endsAt": at(10), "createdBy": "me", "comment": "known"})
        self.assertEqual(placed(api, "b"), "node-1")
        alert("node-2", "critical", is_over=True)
        metrics.wait_for(0, BAD, profile="safe")

    def test_a_real_nagios(self):
        nagios = Nagios(self, self.folder(), ["node-1", "node-2"])
        _, api = self.api_server(3)
        asked = {"source": "nagios", "url": nagios.url, "basicAuthFile": str(nagios.password_file), "staleAfter": "10s"}
        stranger = {**asked}
        del stranger["basicAuthFile"]
        berth, metrics = self.berth(api, profile("open", asked), profile("closed", {**asked, "onUnknown": "closed"}),
                                    profile("stranger", {**stranger, "onStale": "closed"}))
        metrics.wait_for(0, STALE, profile="closed")
        metrics.wait_for(1, UNKNOWN, profile="closed")
        nagios.set("node-2", False, "PING CRITICAL - Packet loss = 100%")
        metrics.wait_for(1, BAD, profile="closed")
        create_pod(api, pod("a", scheduler="closed"))
        self.assertEqual(placed(api, "a"), "node-1", "node-2 is down, node-3 is unknown to Nagios")

        nagios.set("node-1", False, "CRITICAL - Host Unreachable (10.0.0.1)")
        metrics.wait_for(2, BAD, profile="closed")
        create_pod(api, pod("b", scheduler="closed"))
        self.assertRegex(refused(api, "b", "called bad"),
                         r"^0/3 nodes are available: 1 node\(s\) called bad by nagios: CRITICAL - Host Unreachable "
                         r"\(10\.0\.0\.1\), 1 node\(s\) called bad by nagios: PING CRITICAL - Packet loss = 100%, "
                         r"1 node\(s\) unknown to nagios\. ")
        create_pod(api, pod("c", scheduler="open"))
        self.assertEqual(placed(api, "c"), "node-3")
        nagios.set("node-2", True, "PING OK")
        self.assertEqual(placed(api, "b"), "node-2")

        # Without the password the request fails.
        metrics.wait_for(lambda count: count > 0, REQUESTS, profile="stranger", result="error")
        create_pod(api, pod("d", scheduler="stranger"))
        refused(api, "d", "without fresh word from nagios")

        # The CGI still answers when the daemon is gone, with ever older data.
        nagios.service.kill()
        metrics.wait_for(1, STALE, profile="closed")
        self.assertEqual(metrics.value(REQUESTS, profile="closed", result="error"), 0)
        berth.wait_for("err", "No fresh word about nodes")
        self.assertEqual(berth.end(), 0)


if __name__ == "__main__":
    unittest.main()
