# SPDX-License-Identifier: Apache-2.0
"""/explain on the secure port of a running berth, `berth explain pod --scheduler`, and the outputs of docs/explain.md
that come from them. BERTH_WRITE_DOCS=1 writes these anew."""

import json
import os
import re
import shlex
import subprocess
import threading
import unittest

from outside import QuietHandler, QuietServer
from support import ROOT, Api, BerthTest, Certificates, berth_binary, clean_environment, free_port, node_of, pod, wait_until
from test_explain import PAGE, SHOP, shop_cluster
from test_serving import SecurePort

TIME_LIMIT_S = 60.0
# The page's name for the port.
PAGE_URL = "https://10.0.0.7:10259"
PAGE_CA = "ca.crt"


class Reviews:
    """Answers TokenReview and SubjectAccessReview: the token "jane" belongs to jane, who may `verb` the paths that match
    `allowed`."""

    def __init__(self, test: unittest.TestCase, allowed: str, verb: str = "get"):
        self.asked = []
        outer = self

        class Handler(QuietHandler):
            def do_POST(self):
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                spec = review["spec"]
                if review["kind"] == "TokenReview":
                    known = spec["token"] == "jane"
                    status = {"authenticated": known, **({"user": {"username": "jane"}} if known else {})}
                else:
                    wanted = spec["nonResourceAttributes"]
                    outer.asked.append((spec.get("user"), wanted["verb"], wanted["path"]))
                    may = spec.get("user") == "jane" and wanted["verb"] == verb and re.fullmatch(allowed, wanted["path"])
                    status = {"allowed": bool(may)}
                self.reply(201, {"Content-Type": "application/json"}, json.dumps({**review, "status": status}).encode())

        server = QuietServer(Handler)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        server.start(test, threading.Event())


def kubeconfig(server: str, token: str = "") -> str:
    return json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "shop"}}],
                       "clusters": [{"name": "k", "cluster": {"server": server}}],
                       "users": [{"name": "u", "user": {"token": token} if token else {}}]})


class ExplainPort(BerthTest):
    def cluster(self) -> Api:
        """The cluster of docs/explain.md without the pod that would evict others."""
        _, api = self.api_server()
        shop_cluster(api)
        api.call("DELETE", f"{SHOP}/checkout")
        return api

    def create_import(self, api: Api) -> None:
        api.create(SHOP, pod("import", "9", priorityClassName="shop"))

    def settled(self, api: Api, port: SecurePort) -> None:
        """With a pod that fits nowhere. It is created when the other is placed, which is then the first decision: which
        of two equal nodes that names depends only on the seed and the order of the nodes."""
        wait_until("report is placed", lambda: node_of(api.get(f"{SHOP}/report")))
        self.create_import(api)
        wait_until("import has been refused, and this has come back", lambda: [
            said for said in [self.asked(port, "shop/import")] if said["condition"].startswith("0/6 nodes")])

    def asked(self, port: SecurePort, name: str, query: str = "") -> dict:
        def look():
            code, body = port.ask(f"/explain/pods/{name}{query}")
            return json.loads(body) if code == 200 else None

        return wait_until(f"{name} is explained", look)

    def asked_whole(self, port: SecurePort, name: str) -> dict:
        """On a busy machine the search for changes may end before it is complete: then asks once more."""
        def look():
            said = self.asked(port, name)
            return said if said.get("changesComplete", True) else None

        return wait_until(f"{name} is explained with all changes", look)

    def run_explain(self, *arguments: str, status: int = 0) -> tuple[str, str]:
        done = subprocess.run([berth_binary(), "explain", "pod", *arguments], capture_output=True, text=True, errors="replace",
                              timeout=TIME_LIMIT_S, env=clean_environment(), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        return done.stdout, done.stderr

    def with_certificate(self, api: Api) -> tuple[SecurePort, list[str]]:
        """A port with a certificate signed by an authority, and the flags of a client for it."""
        folder = self.folder()
        Certificates(folder).sign("berth", "IP:127.0.0.1")
        port = SecurePort(self, api.url, f"--tls-cert-file={folder}/berth.crt", f"--tls-private-key-file={folder}/berth.key",
                          "--seed=7")
        return port, ["--scheduler", f"https://127.0.0.1:{port.port}", "--scheduler-ca-file", f"{folder}/ca.crt"]

    @unittest.skipIf(os.environ.get("BERTH_IS_SLOW") == "1", "the search for changes is bounded in time in a running scheduler")
    def test_the_page_shows_what_is_printed(self):
        """Each block of docs/explain.md with --scheduler is the command's output, except for times and seeds."""
        _, api = self.api_server()
        documents = re.split(r"(?m)^---\n", (ROOT / "examples/clusters/explain.yaml").read_text())
        pods = [document for document in documents if re.search(r"(?m)^kind: Pod$", document)]
        api.create_all(self.file("nodes.yaml", "---\n".join(document for document in documents if document not in pods)))
        port, flags = self.with_certificate(api)
        # The seed chooses among equal nodes by their order, which depends on whether running pods were read first.
        wait_until("berth has read all nodes", lambda: port.ask("/readyz")[0] == 200)
        api.create_all(self.file("pods.yaml", "---\n".join(document for document in pods if "name: checkout" not in document)))
        self.settled(api, port)

        def still(text: str) -> str:
            text = re.sub(r"Decided:    \d+s ago", "Decided:    3s ago", text)
            text = re.sub(r"seed\s+\d+:", "seed 9125017429036117281:", text)
            return re.sub(r"at \d{4}-[0-9T:-]+Z", "at 2026-11-25T10:00:03Z", text)

        page = PAGE.read_text()
        blocks = re.findall(r"(?ms)^```console\n(\$ berth explain pod ([^\n]*--scheduler[^\n]*)\n(.*?))^```", page)
        self.assertGreaterEqual(len(blocks), 2)
        for block, command, printed in blocks:
            self.assertIn(f"--scheduler {PAGE_URL} --scheduler-ca-file {PAGE_CA}", command)
            words = shlex.split(command.replace(f" --scheduler {PAGE_URL} --scheduler-ca-file {PAGE_CA}", ""))
            name = next(word for word in words if word.startswith("shop/"))
            out, err = self.run_explain(*words, *flags, status=3 if name == "shop/import" else 0)
            self.assertEqual(err, "")
            if os.environ.get("BERTH_WRITE_DOCS"):
                page = page.replace(block, f"$ berth explain pod {command}\n{still(out)}")
                continue
            with self.subTest(command):
                # Line breaks depend on the length of the seed.
                self.assertEqual(still(printed).split(), still(out).split())
        if os.environ.get("BERTH_WRITE_DOCS"):
            PAGE.write_text(page)

    def test_the_running_core_says_what_the_command_says(self):
        api = self.cluster()
        port = SecurePort(self, api.url, "--seed=7")
        self.settled(api, port)
        for name, status in (("import", 3), ("later", 3), ("batch-2", 0), ("report", 0)):
            with self.subTest(name):
                out, _ = self.run_explain(f"shop/{name}", "--master", api.url, "-o", "json", status=status)
                said = self.asked_whole(port, f"shop/{name}")
                live = said.pop("live")
                self.assertEqual(said, json.loads(out))
                self.assertEqual("decision" in live, name in ("import", "report"))
                self.assertNotIn("nodes", self.asked(port, f"shop/{name}", "?nodes=false"))
        live = self.asked(port, "shop/import")["live"]
        self.assertTrue(live["decision"]["message"].startswith("0/6 nodes are available: "), live)
        self.assertEqual((live["decision"]["node"], live["decision"]["feasibleCount"]), ("", 0))
        self.assertRegex(live["decision"]["seed"], r"^\d+$")
        self.assertEqual(sum(each["nodes"] for each in live["decision"]["refusals"]), 6)
        self.assertEqual(live["queue"]["refusedBy"], ["NodeResourcesFit", "NodeUnschedulable", "TaintToleration"])
        self.assertIn("NodeAdd", live["queue"]["wokenBy"])
        self.assertEqual(self.asked(port, "shop/later")["live"]["queue"]["place"], "Gated")
        decision = self.asked(port, "shop/report")["live"]["decision"]
        self.assertEqual(decision["node"], node_of(api.get(f"{SHOP}/report")))

    def test_the_list_and_the_page(self):
        api = self.cluster()
        port = SecurePort(self, api.url)
        self.settled(api, port)

        def listed(query: str = "") -> dict:
            return wait_until("the list comes", lambda: [
                json.loads(body) for code, body in [port.ask("/explain/pods" + query)] if code == 200])[0]

        pods = {each["pod"]: each["why"] for each in listed()["pods"]}
        self.assertEqual(list(pods), ["shop/import", "shop/later"])
        self.assertTrue(pods["shop/import"].startswith("0/6 nodes are available"))
        self.assertIn("example.com/quota", pods["shop/later"])
        self.assertEqual(listed("?limit=1")["continue"], "shop/import")
        self.assertEqual([each["pod"] for each in listed("?limit=1&continue=shop/import")["pods"]], ["shop/later"])
        code, body = port.ask("/explain")
        self.assertEqual(code, 200)
        self.assertIn("<h1>Pending pods</h1>", body)
        self.assertEqual(port.ask("/explain", method="POST")[0], 405)

    def test_the_command_says_what_it_knows_and_what_is_wrong(self):
        api = self.cluster()
        port, flags = self.with_certificate(api)
        self.settled(api, port)
        out, _ = self.run_explain("shop/import", *flags, "-o", "json", status=3)
        self.assertEqual(json.loads(out)["live"]["decision"]["node"], "")
        # The namespace is that of the kubeconfig's context.
        path = str(self.file("kubeconfig", kubeconfig(api.url)))
        out, _ = self.run_explain("report", *flags, "--kubeconfig", path, "--nodes")
        self.assertRegex(out, r"(?s)Decided:    \d+s ago, attempt 1, seed \d+: .*Now:        all that follows.*Nodes, the best")
        insecure = [*flags[:2], "--scheduler-insecure-skip-tls-verify"]
        self.run_explain("shop/report", *insecure)
        closed = f"https://127.0.0.1:{free_port()}"
        cases = [
            (1, "no such pod", ["shop/reprot", *flags], 'there is no pod "reprot" in namespace "shop"; did you mean "report"'),
            (1, "an authority of its own", ["shop/report", *flags[:2]], "certificate"),
            (1, "nobody is there", ["shop/report", "--scheduler", closed, *flags[2:]], f"asking {closed}"),
            (2, "not https", ["shop/report", "--scheduler", "http://127.0.0.1:1"], "should be https://HOST:PORT"),
            (2, "no such file", ["shop/report", *flags[:2], "--scheduler-ca-file", "/nowhere/ca"], "--scheduler-ca-file: /nowhere/ca: no such file"),
            (2, "two clusters", ["shop/report", *flags, "--master", api.url], "--master"),
            (2, "a configuration", ["shop/report", *flags, "--config", path], "--config"),
            (2, "no scheduler", ["shop/report", "--scheduler-ca-file", "x"], "--scheduler"),
        ]
        for status, name, arguments, pattern in cases:
            with self.subTest(name):
                out, err = self.run_explain(*arguments, status=status)
                self.assertEqual(out, "")
                self.assertEqual(len(err.splitlines()), 1, err)
                self.assertRegex(err, pattern)

    def test_who_may_ask(self):
        api = self.cluster()
        reviews = Reviews(self, r"/explain/pods/shop/.*")
        path = str(self.file("reviews", kubeconfig(reviews.url)))
        port = SecurePort(self, api.url, f"--authentication-kubeconfig={path}", f"--authorization-kubeconfig={path}",
                          "--authentication-skip-lookup", open_to_all=False)
        wait_until("report is placed", lambda: node_of(api.get(f"{SHOP}/report")))
        self.assertEqual(port.ask("/explain/pods/shop/report")[0], 403)
        self.assertEqual(port.ask("/explain/pods/shop/report", token="joe")[0], 401)
        self.assertEqual(port.ask("/explain/pods/shop/report", token="jane")[0], 200)
        for closed in ("/explain", "/explain/pods", "/explain/pods/default/x"):
            self.assertEqual(port.ask(closed, token="jane")[0], 403, closed)
        self.assertIn(("jane", "get", "/explain/pods/shop/report"), reviews.asked)
        flags = ["--scheduler", f"https://127.0.0.1:{port.port}", "--scheduler-insecure-skip-tls-verify"]
        nowhere = f"https://127.0.0.1:{free_port()}"  # the API server is not asked
        jane = str(self.file("jane", kubeconfig(nowhere, "jane")))
        wait_until("the rest is over", lambda: port.ask("/explain/pods/shop/report", token="jane")[0] == 200)
        self.assertIn("Decided:", self.run_explain("report", *flags, "--kubeconfig", jane)[0])
        joe = str(self.file("joe", kubeconfig(nowhere, "joe")))
        for words, pattern in ((["report", "--kubeconfig", joe], "not known there"),
                               (["shop/report"], r'cannot get path.*deploy/explain-role\.yaml'),
                               (["default/x", "--kubeconfig", jane], r'User "jane" cannot get path "/explain/pods/default/x"')):
            err = self.run_explain(*words, *flags, status=1)[1]
            self.assertEqual(len(err.splitlines()), 1, err)
            self.assertRegex(err, pattern)

    def test_the_role_names_the_paths(self):
        text = (ROOT / "deploy/explain-role.yaml").read_text()
        self.assertEqual(re.findall(r"nonResourceURLs: \[(.*)\]\n +verbs: \[(.*)\]", text), [("/explain, /explain/*", "get")])

    def test_a_standby_is_not_asked(self):
        api = self.cluster()
        leader = SecurePort(self, api.url, "--leader-elect=true", leads=False)
        wait_until("report is placed", lambda: node_of(api.get(f"{SHOP}/report")))
        self.create_import(api)
        standby = SecurePort(self, api.url, "--leader-elect=true", leads=False)
        code, body = standby.ask("/explain/pods/shop/import")
        self.assertEqual(code, 503, body)
        self.assertIn("stands by", json.loads(body)["message"])
        self.assertEqual(self.asked(leader, "shop/import")["state"], "Refused")

    def test_many_who_ask_hold_nobody_up(self):
        api = self.cluster()
        port = SecurePort(self, api.url)
        self.settled(api, port)
        answers = []

        def ask():
            for _ in range(25):
                answers.append(port.ask("/explain/pods/shop/import")[0])

        askers = [threading.Thread(target=ask) for _ in range(4)]
        for asker in askers:
            asker.start()
        for i in range(20):
            api.create(SHOP, pod(f"new-{i}", "1m"))
        wait_until("all are placed", lambda: all(node_of(api.get(f"{SHOP}/new-{i}")) for i in range(20)))
        for asker in askers:
            asker.join(TIME_LIMIT_S)
        self.assertEqual(set(answers), {200, 429})
        self.assertEqual(port.berth.end(), 0, port.berth.lines("err"))


if __name__ == "__main__":
    unittest.main()
