# SPDX-License-Identifier: Apache-2.0
"""HTTP extenders on a whole berth and the embedded API server: filter, prioritize, bind, and extenders that misbehave."""

import json
import socketserver
import ssl
import subprocess
import threading
import time
import unittest

from outside import Metrics, QuietHandler, QuietServer, create_pod, find_pod, placed, refused
from support import Api, BerthTest, Certificates, Process, berth_binary, clean_environment, pod, wait_until

REQUESTS = "berth_extender_requests_total"


class Extender:
    """An extender by functions: verbs[verb](body) returns a value that is written as JSON, bytes as the whole body, or
    a number as a status without body. Ended with the test."""

    def __init__(self, test: unittest.TestCase, tls: ssl.SSLContext | None = None, **verbs):
        self.verbs = verbs
        self.asked = []  # (path, body)
        self.connections = 0
        self.closing = threading.Event()
        outer = self

        class Handler(QuietHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self):
                outer.connections += 1
                super().setup()

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append((self.path, body))
                answer = outer.verbs[self.path.rsplit("/", 1)[1]](body)
                status, headers = 200, {"Content-Type": "application/json"}
                if isinstance(answer, tuple):
                    status, headers, answer = answer
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.reply(status, headers, data)

        server = QuietServer(Handler)
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}/scheduler"
        server.start(test, self.closing)

    def questions(self, verb: str, name: str) -> list[dict]:
        """The requests about the pod with this name."""
        return [body for path, body in self.asked if path.endswith("/" + verb) and name in (body.get("Pod", {}).get("metadata", {}).get("name"), body.get("PodName"))]


def names(body: dict) -> list[str]:
    if body["NodeNames"] is not None:
        return body["NodeNames"]
    return [node["metadata"]["name"] for node in body["Nodes"]["items"] or []]


def keep(*wanted: str, **more):
    """A filter that leaves these nodes, in the form of the request."""

    def answer(body: dict) -> dict:
        left = [name for name in names(body) if name in wanted]
        if body["NodeNames"] is not None:
            return {"NodeNames": left, **more}
        return {"Nodes": {"items": [node for node in body["Nodes"]["items"] if node["metadata"]["name"] in left]}, **more}

    return answer


class ExtenderTest(BerthTest):
    def start(self, api: Api, *extenders: dict, ready: bool = True) -> Process:
        path = self.file("config.yaml", json.dumps(
            {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
             "leaderElection": {"leaderElect": False}, "podMaxBackoffSeconds": 1, "extenders": list(extenders)}))
        berth = Process(self, "run", "--config", str(path), "--master", api.url, "--metrics-bind-address", "127.0.0.1:0")
        if ready:
            berth.wait_for("err", "Starting")
        return berth

    def test_filter_and_prioritize_whole_objects(self):
        _, api = self.api_server(nodes=4)
        nodes = sorted(api.ready_nodes())
        extender = Extender(self, filter=keep(*nodes[:3], FailedNodes={nodes[3]: "no license"}),
                            prioritize=lambda body: [{"Host": nodes[1], "Score": 10}, {"Host": nodes[0], "Score": 1}])
        self.start(api, {"urlPrefix": extender.url + "/", "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 10})
        create_pod(api, {**pod("p"), "metadata": {"name": "p", "labels": {"app": "x"}, "annotations": {"note": "a<b"}}})
        self.assertEqual(placed(api, "p"), nodes[1])

        asked = extender.questions("filter", "p")[0]
        self.assertEqual(sorted(asked), ["NodeNames", "Nodes", "Pod"])
        self.assertIsNone(asked["NodeNames"])
        self.assertEqual(sorted(names(asked)), nodes)
        self.assertEqual(sorted(names(extender.questions("prioritize", "p")[0])), nodes[:3])
        sent = asked["Pod"]
        self.assertNotIn("kind", sent)
        self.assertNotIn("managedFields", sent["metadata"])
        self.assertEqual(sent["metadata"]["annotations"], {"note": "a<b"})
        self.assertEqual(sent["spec"]["containers"], find_pod(api, "p")["spec"]["containers"])
        for node in asked["Nodes"]["items"]:
            real = api.get("/api/v1/nodes/" + node["metadata"]["name"])
            for part in ("name", "uid", "labels"):
                self.assertEqual(node["metadata"][part], real["metadata"][part])
            self.assertEqual(node["status"]["capacity"], real["status"]["capacity"])
            self.assertEqual(node["status"]["allocatable"], real["status"]["allocatable"])
            self.assertTrue(node["status"]["conditions"])
        self.assertLessEqual(extender.connections, 2, "connections are kept")

    def test_names_alone_and_managed_resources(self):
        _, api = self.api_server(nodes=3)
        nodes = sorted(api.ready_nodes())
        extender = Extender(self, filter=keep(nodes[2]))
        self.start(api, {"urlPrefix": extender.url, "filterVerb": "filter", "nodeCacheCapable": True,
                         "managedResources": [{"name": "example.com/seat", "ignoredByScheduler": True}]})
        # No node has a seat, which only the extender knows.
        wants = pod("wants")
        wants["spec"]["containers"][0]["resources"] = {"requests": {"example.com/seat": "1"}, "limits": {"example.com/seat": "1"}}
        create_pod(api, wants)
        self.assertEqual(placed(api, "wants"), nodes[2])
        self.assertEqual(sorted(extender.questions("filter", "wants")[0]["NodeNames"]), nodes)
        create_pod(api, pod("plain"))
        placed(api, "plain")
        self.assertEqual(extender.questions("filter", "plain"), [])

    def test_bind(self):
        _, api = self.api_server(nodes=2)

        def bind(body: dict) -> dict:
            status, said = api.call("POST", f"/api/v1/namespaces/{body['PodNamespace']}/pods/{body['PodName']}/binding",
                                    {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": body["PodName"], "uid": body["PodUID"]},
                                     "target": {"kind": "Node", "name": body["Node"]}})
            return {"Error": "" if status in (200, 201) else json.dumps(said)}

        extender = Extender(self, bind=bind)
        self.start(api, {"urlPrefix": extender.url, "bindVerb": "bind"})
        create_pod(api, pod("p"))
        node = placed(api, "p")
        asked = extender.questions("bind", "p")
        self.assertEqual(asked, [{"PodName": "p", "PodNamespace": "default", "PodUID": find_pod(api, "p")["metadata"]["uid"], "Node": node}])
        wait_until("its Scheduled event", lambda: [e for e in api.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
                                                   if e["reason"] == "Scheduled" and e["regarding"]["name"] == "p"])

    def test_extenders_that_misbehave(self):
        """Each failure is one line on the pod and in the log; when the extender works again the pod is placed."""
        _, api = self.api_server(nodes=2)
        nodes = sorted(api.ready_nodes())
        extender = Extender(self, filter=keep(*nodes))
        berth = self.start(api, {"urlPrefix": extender.url, "filterVerb": "filter", "nodeCacheCapable": True, "httpTimeout": "1s"})
        url = extender.url + "/filter"

        def hang(_):
            extender.closing.wait(30)
            return {"NodeNames": nodes}

        cases = [
            ("status", lambda _: (500, {}, b"oops"), f"^failed filter with extender at URL {url}, code 500$"),
            ("redirect", lambda _: (307, {"Location": "/elsewhere"}, b""), f"^failed filter with extender at URL {url}, code 307$"),
            ("its-own-error", lambda _: {"NodeNames": nodes, "Error": "out of licenses"}, "^out of licenses$"),
            ("unknown-node", lambda _: {"NodeNames": ["nobody"]},
             f'^extender "{extender.url}" claims a filtered node "nobody" which is not found in the input node list$'),
            ("no-json", lambda _: b"<html>hello</html>", f"^the answer of {url} cannot be used: no JSON: "),
            ("empty", lambda _: b"", f"^the answer of {url} cannot be used: "),
            ("wrong-type", lambda _: {"NodeNames": "a"}, f"^the answer of {url} cannot be used: the answer's NodeNames must be a list of strings$"),
            ("nobody", lambda _: {"NodeNames": [], "FailedNodes": {name: "not today" for name in nodes}}, "^0/2 nodes are available: 2 not today[.]"),
            ("hangs", hang, f'^Post "{url}": '),
        ]
        for name, answer, pattern in cases:
            with self.subTest(name):
                extender.verbs["filter"] = answer
                create_pod(api, pod(name))
                message = refused(api, name, pattern)
                self.assertNotIn("\n", message)
                # keys in any case, as Go reads them
                extender.verbs["filter"] = lambda body: {"nodenames": body["NodeNames"]}
                if name == "nobody":  # any event wakes it
                    create_pod(api, pod("event", nodeName=nodes[0]))
                placed(api, name)
        berth.wait_for("err", 'An extender fails" extender=')
        Metrics(berth).wait_for(lambda value: value >= len(cases) - 1, REQUESTS, verb="filter", result="error")

    def test_a_slow_drip_costs_the_time_out(self):
        _, api = self.api_server(nodes=1)
        closing = threading.Event()
        self.addCleanup(closing.set)

        class Drip(socketserver.BaseRequestHandler):
            def handle(self):
                try:
                    self.request.recv(65536)
                    self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{")
                    while not closing.wait(0.1):
                        self.request.sendall(b" ")
                except OSError:
                    pass

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        server = Server(("127.0.0.1", 0), Drip)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        berth = self.start(api, {"urlPrefix": f"http://127.0.0.1:{server.server_address[1]}", "filterVerb": "filter",
                                 "httpTimeout": "500ms", "ignorable": True})
        create_pod(api, pod("p"))
        placed(api, "p")
        berth.wait_for("err", "An extender that may be ignored fails")

    def test_an_extender_that_is_not_there(self):
        _, api = self.api_server(nodes=1)
        berth = self.start(api, {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter"})
        create_pod(api, pod("p"))
        refused(api, "p", r'^Post "http://127\.0\.0\.1:1/filter": .*(refused|connect)')
        self.assertEqual(berth.end(), 0)

    def test_the_end_while_an_extender_is_asked(self):
        _, api = self.api_server(nodes=1)
        extender = Extender(self, filter=lambda body: extender.closing.wait(30) or {})
        berth = self.start(api, {"urlPrefix": extender.url, "filterVerb": "filter", "httpTimeout": "60s"})
        create_pod(api, pod("p"))
        wait_until("the extender is asked", lambda: extender.asked)
        began = time.monotonic()
        self.assertEqual(berth.end(), 0)
        self.assertLess(time.monotonic() - began, 15, "nobody waits for the answer")
        self.assertNotIn("nodeName", find_pod(api, "p")["spec"])

    def test_pods_that_no_extender_cares_about_need_none(self):
        """As in kube-scheduler, a pod that waits for an extender delays others until the time-out."""
        _, api = self.api_server(nodes=1)
        extender = Extender(self, filter=lambda body: extender.closing.wait(2) and {} or {"NodeNames": body["NodeNames"]})
        self.start(api, {"urlPrefix": extender.url, "filterVerb": "filter", "nodeCacheCapable": True, "httpTimeout": "500ms",
                         "managedResources": [{"name": "example.com/seat", "ignoredByScheduler": True}]})
        wants = pod("wants")
        wants["spec"]["containers"][0]["resources"] = {"requests": {"example.com/seat": "1"}, "limits": {"example.com/seat": "1"}}
        create_pod(api, wants)
        wait_until("the extender is asked", lambda: extender.asked)
        create_pod(api, pod("plain"))
        placed(api, "plain")
        refused(api, "wants", "^Post ")

    def test_tls(self):
        _, api = self.api_server(nodes=2)
        nodes = sorted(api.ready_nodes())
        folder = self.folder()
        authority = Certificates(folder)
        authority.sign("extender", "IP:127.0.0.1")
        authority.sign("berth")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "extender.crt", folder / "extender.key")
        context.load_verify_locations(folder / "ca.crt")
        context.verify_mode = ssl.CERT_REQUIRED
        extender = Extender(self, tls=context, filter=keep(nodes[1]))
        self.start(api, {"urlPrefix": extender.url, "filterVerb": "filter", "enableHTTPS": True, "nodeCacheCapable": True,
                         "tlsConfig": {"caFile": str(folder / "ca.crt"), "certFile": str(folder / "berth.crt"), "keyFile": str(folder / "berth.key")}})
        create_pod(api, pod("p"))
        self.assertEqual(placed(api, "p"), nodes[1])

    def test_a_certificate_that_nobody_vouches_for(self):
        _, api = self.api_server(nodes=1)
        folder = self.folder()
        authority = Certificates(folder)
        authority.sign("extender", "IP:127.0.0.1")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "extender.crt", folder / "extender.key")
        extender = Extender(self, tls=context, filter=lambda body: {"NodeNames": body["NodeNames"]})
        self.start(api, {"urlPrefix": extender.url, "filterVerb": "filter", "nodeCacheCapable": True})
        create_pod(api, pod("p"))
        refused(api, "p", f'^Post "{extender.url}/filter": .*certificate')
        self.assertEqual(extender.asked, [])

    def test_configurations_that_are_refused(self):
        cases = [
            ({"urlPrefix": "ftp://x", "filterVerb": "f"}, 'extender "ftp://x": '),
            ({"urlPrefix": "", "filterVerb": "f"}, 'extender "": '),
            ({"urlPrefix": "http://x", "prioritizeVerb": "p"}, "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"),
            ({"urlPrefix": "https://x", "filterVerb": "f", "tlsConfig": {"caFile": "/nowhere/ca.crt"}}, 'extender "https://x": /nowhere/ca.crt: No such file or directory'),
            ({"urlPrefix": "https://x", "filterVerb": "f", "tlsConfig": {"caData": "%"}}, 'extender "https://x": tlsConfig.caData: '),
            ({"urlPrefix": "https://x", "filterVerb": "f", "tlsConfig": {"insecure": True, "caData": "Y2E="}},
             'extender "https://x": specifying a root certificates file with the insecure flag is not allowed'),
        ]
        for extender, want in cases:
            with self.subTest(want):
                path = self.file("config.yaml", json.dumps({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                                                            "leaderElection": {"leaderElect": False}, "extenders": [extender]}))
                done = subprocess.run([berth_binary(), "run", "--config", str(path), "--master", "http://127.0.0.1:1"], capture_output=True,
                                      text=True, timeout=30, env=clean_environment())
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertIn(want.lower(), done.stderr.lower())


if __name__ == "__main__":
    unittest.main()
