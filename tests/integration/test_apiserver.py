# SPDX-License-Identifier: Apache-2.0
"""The parts of a cluster as processes of their own: berth apiserver, berth run and berth kubelets over HTTP.

410 is not here: it takes a history of 100,000 events, which the server's unit tests make smaller.
"""

import signal
import socket
import unittest

from support import Api, BerthTest, Process, node_of, pod, wait_until

PODS = "/api/v1/namespaces/default/pods"


class ApiServer(BerthTest):
    def test_malformed_requests_get_status_objects(self):
        _, api = self.api_server()
        api.create(PODS, pod("there"))
        api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
        old = api.get(PODS + "/there")
        api.call("PATCH", PODS + "/there", {"metadata": {"labels": {"a": "b"}}}, Api.MERGE_PATCH)
        large = b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","annotations":{"a":"' + b"x" * (4 << 20) + b'"}}}'
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "there"}, "target": {"kind": "Node", "name": "n"}}
        self.assertEqual(api.call("POST", PODS + "/there/binding", binding)[0], 201)
        cases = [
            (400, "BadRequest", "no JSON", "POST", PODS, b"{", Api.JSON),
            (400, "BadRequest", "half a document", "POST", PODS, b'{"apiVersion":"v1","kind":"Pod","metadata":', Api.JSON),
            (400, "BadRequest", "another kind", "POST", PODS, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}}, Api.JSON),
            (400, "BadRequest", "no object", "POST", PODS, b"[]", Api.JSON),
            (400, "BadRequest", "another namespace", "POST", PODS,
             {**pod("x"), "metadata": {"name": "x", "namespace": "kube-system"}}, Api.JSON),
            (400, "BadRequest", "name unlike the path's", "PUT", PODS + "/there", pod("other"), Api.JSON),
            (400, "BadRequest", "limit that is no number", "GET", PODS + "?limit=many", None, ""),
            (400, "BadRequest", "label selector", "GET", PODS + "?labelSelector=a+near+b", None, ""),
            (400, "BadRequest", "field selector", "GET", PODS + "?fieldSelector=spec.color%3Dred", None, ""),
            (400, "BadRequest", "continue token", "GET", PODS + "?limit=1&continue=nonsense", None, ""),
            (400, "BadRequest", "patch that is no patch", "PATCH", PODS + "/there", b"7", Api.JSON + "-patch+json"),
            (404, "NotFound", "no such pod", "GET", PODS + "/absent", None, ""),
            (404, "NotFound", "no such resource", "GET", "/api/v1/namespaces/default/boats", None, ""),
            (404, "NotFound", "no such group", "GET", "/apis/example.org/v1/boats", None, ""),
            (404, "NotFound", "no such namespace", "POST", "/api/v1/namespaces/absent/pods", pod("x"), Api.JSON),
            (404, "NotFound", "binding of no pod", "POST", PODS + "/absent/binding",
             {**binding, "metadata": {"name": "absent"}}, Api.JSON),
            (400, "BadRequest", "binding of another pod", "POST", PODS + "/absent/binding", binding, Api.JSON),
            (405, "MethodNotAllowed", "post to an object", "POST", PODS + "/there", pod("there"), Api.JSON),
            (405, "MethodNotAllowed", "put to a collection", "PUT", PODS, pod("there"), Api.JSON),
            (409, "AlreadyExists", "the same name", "POST", PODS, pod("there"), Api.JSON),
            (409, "Conflict", "an old version", "PUT", PODS + "/there", old, Api.JSON),
            (409, "Conflict", "bound already", "POST", PODS + "/there/binding", binding, Api.JSON),
            (409, "Conflict", "another uid", "DELETE", PODS + "/there", {"preconditions": {"uid": "another"}}, Api.JSON),
            (413, "RequestEntityTooLarge", "more than 3 MiB", "POST", PODS, large, Api.JSON),
            (415, "UnsupportedMediaType", "plain text", "POST", PODS, b"name: x", "text/plain"),
            (415, "UnsupportedMediaType", "patch of no known type", "PATCH", PODS + "/there", b"{}", Api.JSON),
            (422, "Invalid", "no container", "POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"},
                                                            "spec": {"containers": []}}, Api.JSON),
            (422, "Invalid", "a name that is none", "POST", PODS, pod("Not_A_Name"), Api.JSON),
        ]
        for code, reason, name, method, path, body, content_type in cases:
            with self.subTest(f"{code} {name}"):
                got, answer = api.call(method, path, body, content_type)
                self.assertEqual(got, code, answer)
                self.assertIsInstance(answer, dict)
                self.assertEqual((answer.get("kind"), answer.get("apiVersion")), ("Status", "v1"))
                self.assertEqual((answer.get("status"), answer.get("code"), answer.get("reason")), ("Failure", code, reason), answer)
                self.assertTrue(answer.get("message"), answer)
        self.assertEqual(len(api.pods()), 1, "none of these was stored")

    def test_no_http_at_all(self):
        server, api = self.api_server()
        host, port = api.url.removeprefix("http://").split(":")
        for name, data in (("noise", b"\x00\x01\x02\x03 nothing\r\n\r\n"), ("no version", b"GET /api\r\n\r\n"),
                           ("bad length", b"POST /api/v1/nodes HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n")):
            with self.subTest(name), socket.create_connection((host, int(port)), timeout=20) as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                answer = b""
                while chunk := connection.recv(65536):
                    answer += chunk
                if answer:  # closing the connection without an answer is allowed, too
                    self.assertRegex(answer, rb"^HTTP/1\.[01] 400 ")
                    self.assertIn(b'"kind":"Status"', answer)
        self.assertTrue(api.is_up())
        self.assertFalse(server.has_ended())

    def test_a_list_in_pages(self):
        _, api = self.api_server()
        for name in ("a", "b", "c"):
            api.create(PODS, pod(name))
        page = api.get(PODS + "?limit=1")
        token = page["metadata"]["continue"]
        rest = api.get(f"{PODS}?limit=5&continue={token}")
        self.assertEqual([item["metadata"]["name"] for item in page["items"] + rest["items"]], ["a", "b", "c"])

    def test_a_scheduler_of_its_own_process(self):
        server, api = self.api_server(3)
        for number in range(20):
            api.create(PODS, pod(f"before-{number}"))
        berth = Process(self, "run", "--master", api.url, "--seed", "1")
        wait_until("all are bound", lambda: all(node_of(p) for p in api.pods()))
        api.create(PODS, pod("after"))
        api.create(PODS, pod("large", cpu="1000"))
        api.create(PODS, pod("another", scheduler="somebody-else"))

        def settled():
            pods = {p["metadata"]["name"]: p for p in api.pods()}
            conditions = {c["type"]: c for c in pods["large"]["status"].get("conditions", [])}
            return node_of(pods["after"]) and conditions.get("PodScheduled", {}).get("status") == "False" and pods

        pods = wait_until("one is bound and one is not", settled)
        self.assertEqual(node_of(pods["another"]), "")
        condition = [c for c in pods["large"]["status"]["conditions"] if c["type"] == "PodScheduled"][0]
        self.assertEqual(condition["reason"], "Unschedulable")
        self.assertEqual(condition["message"], "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: "
                                               "0/3 nodes are available: 3 Preemption is not helpful for scheduling.")

        def scheduled():
            events = api.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
            return sorted(e["regarding"]["name"] for e in events if e["reason"] == "Scheduled")

        wait_until("an event for each", lambda: scheduled() == sorted([f"before-{n}" for n in range(20)] + ["after"]))
        wait_until("the kubelets run them", lambda: sum(p["status"].get("phase") == "Running" for p in api.pods()) == 21)
        # The waiting pod is bound once a node has room.
        api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "huge"},
                                     "status": {"allocatable": {"cpu": "2000", "memory": "64Gi", "pods": "110"}}})
        wait_until("the large pod is bound", lambda: node_of(api.get(PODS + "/large")) == "huge")
        self.assertEqual(berth.end(signal.SIGINT), 0, berth.lines("err"))
        self.assertEqual(server.end(signal.SIGTERM), 0, server.lines("err"))

    def test_dependents_of_a_custom_resource(self):
        """As operators use it (kopf.adopt, controller-runtime's Owns): when the owner is deleted, its dependents are,
        too."""
        _, api = self.api_server(1)
        api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
            "metadata": {"name": "boats.example.io"},
            "spec": {"group": "example.io", "scope": "Namespaced", "names": {"plural": "boats", "singular": "boat", "kind": "Boat"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                         "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}})
        boats, maps = "/apis/example.io/v1/namespaces/default/boats", "/api/v1/namespaces/default/configmaps"
        boat = api.create(boats, {"apiVersion": "example.io/v1", "kind": "Boat", "metadata": {"name": "boat"}})
        owner = {"apiVersion": "example.io/v1", "kind": "Boat", "name": "boat", "uid": boat["metadata"]["uid"],
                 "controller": True, "blockOwnerDeletion": True}
        api.create(maps, {"metadata": {"name": "sails", "ownerReferences": [owner]}})
        api.create(PODS, {**pod("crew"), "metadata": {"name": "crew", "ownerReferences": [owner]}})
        status, answer = api.call("DELETE", boats + "/boat?propagationPolicy=Foreground")
        self.assertEqual((status, answer["kind"], answer["metadata"]["finalizers"]), (200, "Boat", ["foregroundDeletion"]))
        wait_until("all are gone", lambda: [api.call("GET", path)[0] for path in
                                            (boats + "/boat", maps + "/sails", PODS + "/crew")] == [404] * 3)

    def test_what_clients_expect_of_any_cluster(self):
        _, api = self.api_server(1)
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        wait_until("there is an account", lambda: api.call("GET", account)[0] == 200)
        self.assertEqual(api.get("/api/v1/namespaces/default/services/kubernetes")["spec"]["ports"][0]["port"], 443)
        self.assertIn("[+]ping ok\n", api.get("/readyz?verbose"))

    def test_says_when_it_knows_the_cluster(self):
        _, api = self.api_server(2)
        api.create(PODS, pod("waits", cpu="1000"))
        berth = Process(self, "run", "--master", api.url)
        said = berth.wait_for("err", "Synced with the cluster").string
        for part in ("nodes=2", "pods=0", "pending=1", 'schedulers="default-scheduler"', 'apiServer="v1.36'):
            self.assertIn(part, said)
        self.assertEqual(berth.end(), 0, berth.lines("err"))

    def test_a_policy_by_its_name(self):
        _, api = self.api_server(2)
        api.call("PATCH", "/api/v1/nodes/node-2", {"metadata": {"annotations": {"berth.dev/price": "0.1"}}}, Api.MERGE_PATCH)
        berth = Process(self, "run", "--master", api.url, "--policy", "best-price")
        for number in range(3):
            api.create(PODS, pod(f"p{number}", scheduler="best-price"))
        wait_until("all are bound", lambda: all(node_of(p) for p in api.pods()))
        self.assertEqual({node_of(p) for p in api.pods()}, {"node-2"}, "the other has no price")
        self.assertEqual(berth.end(), 0, berth.lines("err"))
        for arguments, want in ((("--policy", "best-prise"), 'there is no policy "best-prise"; the nearest is best-price'),
                                (("--policy", "random", "--config", "x"), "--policy: is in place of --config")):
            with self.subTest(arguments):
                wrong = Process(self, "run", "--master", api.url, *arguments)
                self.assertEqual(wrong.wait(), 2)
                self.assertIn(want, "\n".join(wrong.lines("err")))

    def test_nodes_from_a_file_and_a_kubeconfig(self):
        shapes = self.file("nodes.yaml", "nodes:\n- {name: gpu, count: 2, cpu: 32, resources: {nvidia.com/gpu: 8}, zones: [a, b]}\n")
        config = self.folder() / "kubeconfig"
        server = Process(self, "apiserver", "--listen", "127.0.0.1:0", "--nodes-file", str(shapes), "--write-kubeconfig", str(config))
        api = Api(server.wait_for("out", r"http://(127\.0\.0\.1:\d+)").group(1))
        wait_until("both are ready", lambda: sorted(api.ready_nodes()) == ["gpu-1", "gpu-2"])
        node = api.get("/api/v1/nodes/gpu-2")
        self.assertEqual(node["status"]["allocatable"]["nvidia.com/gpu"], "8")
        self.assertEqual(node["metadata"]["labels"]["topology.kubernetes.io/zone"], "b")
        berth = Process(self, "run", "--kubeconfig", str(config), "--once")
        self.assertEqual(berth.wait(), 0, berth.lines("err"))
        for flag, text, want in (("--nodes-file", "nodes: [{name: a, cpu: -1}]", "nodes[0].cpu: -1 is less than nothing"),
                                 ("--write-kubeconfig", "apiVersion: v1\n", "there is a file that berth has not written")):
            with self.subTest(flag):
                path = self.file("given", text)
                wrong = Process(self, "apiserver", "--listen", "127.0.0.1:0", flag, str(path))
                self.assertNotEqual(wrong.wait(), 0)
                self.assertEqual(len(wrong.lines("err")), 1)
                self.assertIn(want, wrong.lines("err")[0])

    def test_the_server_goes_away(self):
        server, api = self.api_server(1)
        berth = Process(self, "run", "--master", api.url, "--seed", "1")
        api.create(PODS, pod("p"))
        wait_until("it is bound", lambda: node_of(api.pods()[0]))
        server.end(signal.SIGKILL)
        berth.wait_for("err", "while (watching|listing) ")
        self.assertFalse(berth.has_ended())
        self.assertEqual(berth.end(), 0, berth.lines("err"))

    def test_kubelets_of_their_own_process(self):
        _, api = self.api_server(0)
        kubelets = Process(self, "kubelets", "--nodes", "2", "--master", api.url)
        wait_until("both nodes are ready", lambda: len(api.ready_nodes()) == 2)
        berth = Process(self, "run", "--master", api.url, "--scheduler-name", "berth")
        for number in range(4):
            api.create(PODS, pod(f"p{number}", scheduler="berth"))
        wait_until("all are running", lambda: [p["status"].get("phase") for p in api.pods()] == ["Running"] * 4)
        self.assertEqual({node_of(p) for p in api.pods()}, set(api.ready_nodes()), "spread over both")
        api.call("DELETE", PODS + "/p0")
        wait_until("the kubelet lets it go", lambda: len(api.pods()) == 3)
        self.assertEqual(berth.end(), 0, berth.lines("err"))
        self.assertEqual(kubelets.end(), 0, kubelets.lines("err"))


if __name__ == "__main__":
    unittest.main()
