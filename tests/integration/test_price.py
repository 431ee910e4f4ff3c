# SPDX-License-Identifier: Apache-2.0
"""berth price with `berth apiserver`, and pods of the ready profile best-price that follow the prices."""

import re
import signal
import socket
import subprocess
import unittest
import urllib.request

from support import ROOT, Api, BerthTest, Process, berth_binary, clean_environment, free_port, node_of, pod, wait_until

PODS = "/api/v1/namespaces/default/pods"
PRICES = {"0.05", "0.10", "0.20", "0.40", "0.80", "1.60"}
TIME_LIMIT_S = 60.0


class Price(BerthTest):
    def price(self, api: Api | None, *arguments, status: int = 0):
        """The lines of standard output, and standard error."""
        where = ["--master", api.url] if api else []
        done = subprocess.run([berth_binary(), "price", *map(str, arguments), *where], capture_output=True, text=True,
                              errors="replace", timeout=TIME_LIMIT_S, env=clean_environment(), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        return done.stdout.splitlines(), done.stderr

    def nodes(self, api: Api) -> dict[str, dict]:
        return {node["metadata"]["name"]: node for node in api.get("/api/v1/nodes")["items"]}

    def prices(self, api: Api, key: str = "berth.dev/price") -> dict[str, str | None]:
        return {name: node["metadata"].get("annotations", {}).get(key) for name, node in self.nodes(api).items()}

    def label(self, api: Api, node: str, **labels) -> None:
        status, answer = api.call("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"labels": labels}}, Api.MERGE_PATCH)
        self.assertEqual(status, 200, answer)

    def test_set_list_and_clear(self):
        _, api = self.api_server(4)
        before = self.nodes(api)
        out, err = self.price(api, "list")
        self.assertEqual([line.split() for line in out],
                         [["NODE", "PRICE"]] + [[f"node-{n}", "<none>"] for n in range(1, 5)])
        self.assertEqual(err, "")
        self.assertEqual(self.price(api, "set", "node-3", "0.10")[0], ["node/node-3 berth.dev/price=0.10"])
        self.assertEqual(self.price(api, "set", "node-3", "0.10")[0], ["node/node-3 berth.dev/price=0.10 (unchanged)"])
        self.assertEqual(self.price(api, "set", "node-2", "0.2", "--dry-run")[0], ["node/node-2 berth.dev/price=0.2 (dry run)"])
        self.assertEqual(self.price(api, "set", "node-4", ".05", "--annotation", "hightower.com/cost")[0],
                         ["node/node-4 hightower.com/cost=.05"])
        out, _ = self.price(api, "list")
        self.assertEqual([line.split() for line in out[1:]],
                         [["node-4", "0.05"], ["node-3", "0.10"], ["node-1", "<none>"], ["node-2", "<none>"]])
        out, _ = self.price(api, "list", "--annotation", "berth.dev/price", "-l", "kubernetes.io/hostname in (node-4,node-3)")
        self.assertEqual([line.split() for line in out[1:]], [["node-3", "0.10"], ["node-4", "<none>"]])
        self.assertEqual(self.price(api, "clear", "--dry-run")[0], ["node/node-3 berth.dev/price- (dry run)"])
        self.assertEqual(self.prices(api)["node-3"], "0.10")
        self.assertEqual(self.price(api, "clear")[0], ["node/node-3 berth.dev/price-"])
        self.assertEqual(self.price(api, "clear")[0], [])
        self.assertEqual(self.price(api, "clear", "--annotation", "hightower.com/cost")[0], ["node/node-4 hightower.com/cost-"])

        def essence(node):
            meta = {key: value for key, value in node["metadata"].items() if key not in ("resourceVersion", "managedFields")}
            meta["annotations"] = meta.get("annotations") or {}
            return meta, node.get("spec")

        after = self.nodes(api)
        self.assertEqual({name: essence(node) for name, node in after.items()},
                         {name: essence(node) for name, node in before.items()}, "nothing else was touched")

    def test_random(self):
        _, api = self.api_server(30)
        dry, _ = self.price(api, "random", "--seed", "7", "--dry-run")
        self.assertEqual(set(self.prices(api).values()), {None})
        out, err = self.price(api, "random", "--seed", "7")
        self.assertEqual([line.removesuffix(" (dry run)") for line in dry], out)
        self.assertEqual(err, "")
        first = self.prices(api)
        self.assertLessEqual(set(first.values()), PRICES)
        self.assertGreater(len(set(first.values())), 2)
        self.assertEqual(out, [f"node/{name} berth.dev/price={first[name]}" for name in sorted(first)])
        self.price(api, "random", "--seed", "7")
        self.assertEqual(self.prices(api), first)
        _, err = self.price(api, "random")
        seed = re.fullmatch(r"berth: --seed (\d+)\n", err).group(1)
        second = self.prices(api)
        self.price(api, "random", "--seed", seed)
        self.assertEqual(self.prices(api), second)

    def test_import(self):
        _, api = self.api_server(4)
        self.label(api, "node-1", **{"node.kubernetes.io/instance-type": "m5.large"})
        self.label(api, "node-2", **{"beta.kubernetes.io/instance-type": "m5.xlarge"})
        self.label(api, "node-3", **{"node.kubernetes.io/instance-type": "x1.large"})
        path = self.file("prices.csv", "Instance Type,Region,Price\nm5.large,eu,0.096\nm5.xlarge,eu,0.192\n")
        out, err = self.price(api, "import", path)
        self.assertEqual(out, ["node/node-1 berth.dev/price=0.096", "node/node-2 berth.dev/price=0.192"])
        self.assertEqual(err.splitlines(), [
            "berth: left alone, the file has no price for their type: x1.large (1)",
            "berth: left alone, without a label node.kubernetes.io/instance-type: 1"])
        self.assertEqual(self.prices(api), {"node-1": "0.096", "node-2": "0.192", "node-3": None, "node-4": None})

    def test_what_is_wrong_is_one_line(self):
        _, api = self.api_server(1)
        header = "instance_type,price\n"
        cases = [
            (2, "no subcommand", [], "subcommand"),
            (2, "unknown subcommand", ["guess"], "guess|subcommand"),
            (2, "set without a price", ["set", "node-1"], "PRICE"),
            (2, "a currency", ["set", "node-1", "$1"], r'"\$1" is no price: want a decimal number from 0 to 1000000000'),
            (2, "a comma", ["set", "node-1", "0,1"], '"0,1" is no price'),
            (2, "infinite", ["set", "node-1", "inf"], '"inf" is no price'),
            (2, "spaces", ["set", "node-1", " 1"], '" 1" is no price'),
            (2, "negative", ["set", "node-1", "-1"], "-1|PRICE"),
            (2, "no name of a node", ["set", "../pods", "1"], "is not the name of a node"),
            (2, "no key", ["clear", "--annotation", "a b"], '--annotation "a b"'),
            (2, "no selector", ["list", "-l", "a near b"], "--selector"),
            (2, "no seed", ["random", "--seed", "lucky"], "--seed"),
            (2, "no file", ["import", "/nowhere/prices.csv"], "/nowhere/prices.csv"),
            (2, "a missing column", ["import", self.file("p.csv", "instance_type,cost\na,1\n")], "p.csv:1: no column price"),
            (2, "a bad price", ["import", self.file("p.csv", header + "a,1\nb,1 EUR\n")], 'p.csv:3: price: "1 EUR" is no price'),
            (2, "an empty file", ["import", self.file("p.csv", "")], "p.csv: it is empty"),
            (1, "no such node", ["set", "node-9", "1"], "node-9.* not found"),
        ]
        for status, name, arguments, pattern in cases:
            with self.subTest(name):
                out, err = self.price(api, *arguments, status=status)
                self.assertEqual(out, [])
                self.assertEqual(len(err.splitlines()), 1, err)
                self.assertRegex(err, pattern)
        self.assertEqual(self.prices(api), {"node-1": None})
        with self.subTest("no server"):
            _, err = self.price(None, "list", "--master", f"http://127.0.0.1:{free_port()}", status=1)
            self.assertRegex(err, "listing nodes")
            _, err = self.price(None, "list", status=2)
            self.assertRegex(err, "kubeconfig|KUBERNETES_SERVICE_HOST|--master")

    def test_it_can_be_interrupted(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            price = Process(self, "price", "list", "--master", f"http://127.0.0.1:{silent.getsockname()[1]}")
            connection, _ = silent.accept()
            with connection:
                connection.recv(1)  # the client has sent its request, and would wait for long
                self.assertEqual(price.end(signal.SIGINT), 1)
        self.assertEqual(price.lines("err"), ["berth: interrupted: nothing was changed"])

    def test_many_nodes_come_in_pages(self):
        _, api = self.api_server()
        for number in range(1, 1102):
            api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number}"}})
        out, err = self.price(api, "random", "--seed", "1")
        self.assertEqual(len(out), 1101)
        self.assertEqual(err, "", "progress is for terminals")
        self.assertNotIn(None, self.prices(api).values())
        self.assertEqual(len(self.price(api, "list")[0]), 1102)

    def test_pods_follow_the_prices(self):
        _, api = self.api_server(3)
        metrics = f"127.0.0.1:{free_port()}"
        berth = Process(self, "run", "--master", api.url, "--config", str(ROOT / "deploy/config/best-price.yaml"),
                        "--metrics-bind-address", metrics)
        berth.wait_for("err", "Starting")

        def place(name: str, **annotations) -> str:
            body = pod(name, scheduler="best-price")
            body["metadata"]["annotations"] = annotations
            api.create(PODS, body)
            return wait_until(f"{name} is bound", lambda: node_of(api.get(f"{PODS}/{name}")))

        for name, price in (("node-1", "0.40"), ("node-2", "0.10"), ("node-3", "0.20")):
            self.price(api, "set", name, price)
        self.assertEqual(place("first"), "node-2")
        self.assertEqual(place("second"), "node-2")
        self.price(api, "set", "node-3", "0.05")
        self.assertEqual(place("third"), "node-3")
        # An invalid price counts as missing, and is reported once.
        status, _ = api.call("PATCH", "/api/v1/nodes/node-3", {"metadata": {"annotations": {"berth.dev/price": "-1"}}}, Api.MERGE_PATCH)
        self.assertEqual(status, 200)
        self.assertEqual(place("fourth"), "node-2")

        def price_events():
            events = api.get("/apis/events.k8s.io/v1/events")["items"]
            return [e for e in events if e.get("reason") == "InvalidPrice"]

        event = wait_until("an event on the node", price_events)
        self.assertEqual(place("fifth"), "node-2")
        self.assertEqual(len(price_events()), 1)
        self.assertEqual((event[0]["type"], event[0]["regarding"]["kind"], event[0]["regarding"]["name"]), ("Warning", "Node", "node-3"))
        self.assertIn('annotation berth.dev/price: "-1" is no price', event[0]["note"])
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://{metrics}/metrics", timeout=10) as answer:
            self.assertRegex(answer.read().decode(), r"(?m)^berth_invalid_prices 1$")
        # No node is below the ceiling: the pod waits until a price falls.
        body = pod("thrifty", scheduler="best-price")
        body["metadata"]["annotations"] = {"berth.dev/max-price": "0.08"}
        api.create(PODS, body)

        def refusal():
            conditions = api.get(f"{PODS}/thrifty").get("status", {}).get("conditions", [])
            return [c["message"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"]

        self.assertEqual(wait_until("it is refused", refusal)[0].split(". ")[0],
                         "0/3 nodes are available: 1 node(s) had no price, 2 node(s) cost more than the pod's berth.dev/max-price")
        self.price(api, "set", "node-1", "0.08")
        self.assertEqual(wait_until("it is bound", lambda: node_of(api.get(f"{PODS}/thrifty"))), "node-1")


if __name__ == "__main__":
    unittest.main()
