# SPDX-License-Identifier: Apache-2.0
"""berth behind a proxy: API servers that only the proxy can reach, with and without TLS, and a proxy that refuses."""

import base64
import json
import re
import select
import socket
import ssl
import subprocess
import threading
import unittest

from outside import placed
from support import BerthTest, Certificates, Process, berth_binary, clean_environment, node_of, pod, wait_until
from test_extender import Extender, keep

PASSWORD = "p@ss:w/rd"
USER_INFO = "us:p%40ss%3Aw%2Frd@"


def serve(test: unittest.TestCase, handle) -> int:
    """Calls handle(socket) in a thread for each connection to the returned port, until the test ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    connections = []

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connections.append(connection)
            threading.Thread(target=run, args=(connection,), daemon=True).start()

    def run(connection):
        with connection:
            try:
                handle(connection)
            except (OSError, ValueError):
                pass  # berth has disconnected, or the test has ended

    def end():
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    threading.Thread(target=accept, daemon=True).start()
    test.addCleanup(end)
    return listener.getsockname()[1]


def relay(one, other) -> None:
    """Copies in both directions until one side ends. Either side may be TLS."""
    while True:
        ready = [s for s in (one, other) if isinstance(s, ssl.SSLSocket) and s.pending()]
        ready = ready or select.select([one, other], [], [])[0]
        for source in ready:
            data = source.recv(65536)
            if not data:
                return
            (other if source is one else one).sendall(data)


class Proxy:
    """Reaches the servers in `targets` (HOST:PORT to a port of this machine) and no others. Answers the first
    connections with `refusals`, one each."""

    def __init__(self, test: unittest.TestCase, targets: dict, refusals: tuple = ()):
        self.targets = targets
        self.refusals = list(refusals)
        self.heads = []
        self.port = serve(test, self._handle)

    def _handle(self, client: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            # Byte by byte, because what follows is for the server.
            byte = client.recv(1)
            if not byte:
                return
            head += byte
        self.heads.append(head.decode())
        if self.refusals:
            client.sendall(self.refusals.pop(0).encode())
            return
        method, target = head.decode().split()[:2]
        name = target if method == "CONNECT" else re.match(r"http://([^/]*)/", target).group(1)
        if name not in self.targets:
            client.sendall(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
            return
        with socket.create_connection(("127.0.0.1", self.targets[name])) as server:
            if method == "CONNECT":
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                server.sendall(head)
            relay(client, server)

    def asked(self) -> set:
        """The request lines, without parts that differ between two requests."""
        return {re.sub(r"^\w+ (http://[^/]*)/.*", r"\1", head.split("\r\n")[0]) for head in list(self.heads)}


class BehindAProxy(BerthTest):
    def tls_front(self, api) -> tuple[int, Certificates]:
        """A port on which the embedded API server is reached with TLS, as kube.example."""
        certificates = Certificates(self.folder())
        certificates.sign("server", "DNS:kube.example")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.folder / "server.crt", certificates.folder / "server.key")
        api_port = int(api.url.rsplit(":", 1)[1])

        def handle(connection):
            with context.wrap_socket(connection, server_side=True) as client:
                with socket.create_connection(("127.0.0.1", api_port)) as server:
                    relay(client, server)

        return serve(self, handle), certificates

    def kubeconfig(self, certificates: Certificates, more: str = "") -> str:
        ca = base64.b64encode((certificates.folder / "ca.crt").read_bytes()).decode()
        return str(self.file("kubeconfig", f"""apiVersion: v1
kind: Config
current-context: c
clusters: [{{name: k, cluster: {{server: 'https://kube.example:6443', certificate-authority-data: {ca}{more}}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: c, context: {{cluster: k, user: u}}}}]
"""))

    def place(self, api, arguments: list, environment: dict) -> Process:
        """`berth run` places a pod, and no log line contains the password."""
        api.create("/api/v1/namespaces/default/pods", pod("web"))
        berth = Process(self, "run", "--seed", "1", *arguments, environment=environment)
        wait_until("the pod has a node", lambda: node_of(api.pods()[0]) or berth.has_ended())
        self.assertEqual(node_of(api.pods()[0]), "node-1", berth.lines("err"))
        wait_until("the pod has its event", lambda: any(
            event["reason"] == "Scheduled" for event in api.get("/api/v1/namespaces/default/events")["items"]))
        self.assertEqual(berth.end(), 0)
        said = "\n".join(berth.lines("err"))
        for secret in (PASSWORD, USER_INFO, "p%40ss"):
            self.assertNotIn(secret, said)
        return berth

    def test_tunnel_to_a_tls_server(self):
        _, api = self.api_server(1, "--host-name", "kube.example")
        front, certificates = self.tls_front(api)
        proxy = Proxy(self, {"kube.example:6443": front})
        # Leader election also uses the proxy: only the proxy can resolve kube.example.
        berth = self.place(api, ["--kubeconfig", self.kubeconfig(certificates)],
                           {"HTTPS_PROXY": f"http://{USER_INFO}127.0.0.1:{proxy.port}", "HTTP_PROXY": "http://127.0.0.1:1"})
        self.assertEqual(proxy.asked(), {"CONNECT kube.example:6443 HTTP/1.1"})
        authorization = "Basic " + base64.b64encode(f"us:{PASSWORD}".encode()).decode()
        for head in proxy.heads:
            self.assertIn(f"\r\nProxy-Authorization: {authorization}\r\n", head)
            self.assertNotIn("\r\nAuthorization:", head)
        berth.wait_for("err", rf'through a proxy.*proxy="http://127\.0\.0\.1:{proxy.port}"')
        self.assertEqual(api.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler")["kind"], "Lease")

    def test_proxy_of_the_kubeconfig_goes_first(self):
        _, api = self.api_server(1, "--host-name", "kube.example")
        front, certificates = self.tls_front(api)
        proxy = Proxy(self, {"kube.example:6443": front})
        config = self.kubeconfig(certificates, f", proxy-url: 'http://{USER_INFO}127.0.0.1:{proxy.port}'")
        self.place(api, ["--kubeconfig", config], {"HTTPS_PROXY": "http://127.0.0.1:1", "NO_PROXY": "*"})
        self.assertEqual(proxy.asked(), {"CONNECT kube.example:6443 HTTP/1.1"})

    def test_requests_to_a_plain_server(self):
        _, api = self.api_server(1, "--host-name", "kube.example")
        proxy = Proxy(self, {"kube.example": int(api.url.rsplit(":", 1)[1])})
        self.place(api, ["--master", "http://kube.example"], {"http_proxy": f"{USER_INFO}127.0.0.1:{proxy.port}"})
        self.assertEqual(proxy.asked(), {"http://kube.example"})

    def test_no_proxy_for_this_machine(self):
        _, api = self.api_server(1, "--host-name", "kube.example")
        berth = self.place(api, ["--master", api.url], {"HTTP_PROXY": "http://127.0.0.1:1"})
        self.assertIsNone(berth.find("err", "proxy"))

    def test_extender(self):
        _, api = self.api_server(2)
        extender = Extender(self, filter=keep("node-2"))
        proxy = Proxy(self, {"extender.example": int(re.search(r":(\d+)/", extender.url).group(1))})
        config = self.file("config.yaml", json.dumps(
            {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
             "leaderElection": {"leaderElect": False},
             "extenders": [{"urlPrefix": "http://extender.example/scheduler", "filterVerb": "filter"}]}))
        Process(self, "run", "--config", str(config), "--master", api.url,
                environment={"HTTP_PROXY": f"http://127.0.0.1:{proxy.port}"})
        api.create("/api/v1/namespaces/default/pods", pod("p"))
        self.assertEqual(placed(api, "p"), "node-2")
        self.assertEqual(proxy.asked(), {"http://extender.example"})

    def test_goes_on_after_refusals(self):
        _, api = self.api_server(1, "--host-name", "kube.example")
        front, certificates = self.tls_front(api)
        refusals = ("HTTP/1.1 407 No\r\nContent-Length: 3\r\n\r\nno!", "HTTP/1.1 503 Later\r\n\r\n", "220 mail\r\n\r\n")
        proxy = Proxy(self, {"kube.example:6443": front}, refusals)
        berth = self.place(api, ["--kubeconfig", self.kubeconfig(certificates), "--leader-elect=false"],
                           {"HTTPS_PROXY": f"http://{USER_INFO}127.0.0.1:{proxy.port}"})
        self.assertEqual(proxy.refusals, [])
        berth.wait_for("err", rf"kube\.example:6443 through proxy http://127\.0\.0\.1:{proxy.port}: the proxy "
                              "refused CONNECT: (407 Proxy Authentication Required|503 Service Unavailable)")

    def test_bad_values(self):
        cases = [
            ("a bad port", "https://kube.example", {"HTTPS_PROXY": "http://us:secret@p:x"},
             'HTTPS_PROXY: invalid proxy URL "http://p:x": its port must be a number from 1 to 65535'),
            ("another scheme", "http://kube.example", {"http_proxy": "ftp://us:secret@p"},
             'http_proxy: invalid proxy URL "ftp://p": it must begin with http://'),
            ("a password that is not encoded", "https://kube.example", {"https_proxy": "us:sec/ret@p:3128"},
             'https_proxy: invalid proxy URL "http://p:3128": what of its user and password'),
            ("CGI", "http://kube.example", {"HTTP_PROXY": "http://p", "REQUEST_METHOD": "GET"},
             "HTTP_PROXY is not used beside REQUEST_METHOD"),
        ]
        for name, master, environment, pattern in cases:
            with self.subTest(name):
                done = subprocess.run([berth_binary(), "run", "--master", master], capture_output=True, text=True,
                                      timeout=20, env={**clean_environment(), **environment}, stdin=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(pattern, done.stderr)
                self.assertNotRegex(done.stderr, "secret|sec/ret")


if __name__ == "__main__":
    unittest.main()
