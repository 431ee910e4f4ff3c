# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 with TLS on the embedded API server and on the secure port, with curl and with a client of our own."""

import base64
import json
import re
import socket
import ssl
import struct
import subprocess
import unittest

from support import BerthTest, Process, clean_environment, free_port

SETTINGS, GOAWAY = 4, 7
MAX_CONCURRENT_STREAMS = 3
# :method GET, :scheme https, :path /healthz and :authority, as HPACK encodes them without compression.
GET_HEALTHZ = b"\x82\x87\x04\x08/healthz\x01\x09localhost"


def curl(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(["curl", "--silent", "--show-error", "--max-time", "60", *arguments], capture_output=True, text=True,
                          timeout=90, env=clean_environment())


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


class Frames:
    """The frames that a server sends to a client that requests /healthz and then reads until the connection ends or is
    idle for a second."""

    def __init__(self, port: int):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2", "http/1.1"])
        self.settings: dict[int, int] = {}
        self.goaway_code: int | None = None
        self.has_ended = False
        with socket.create_connection(("127.0.0.1", port), timeout=60) as plain, \
                context.wrap_socket(plain, server_hostname="localhost") as tls:
            self.protocol = tls.selected_alpn_protocol()
            if self.protocol != "h2":
                return
            tls.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, b"") + frame(1, 5, 1, GET_HEALTHZ))
            self._read(tls)

    def _read(self, tls: ssl.SSLSocket) -> None:
        data = b""
        tls.settimeout(1)
        try:
            while received := tls.recv(65536):
                data += received
            self.has_ended = True
        except TimeoutError:
            pass
        while len(data) >= 9:
            size, kind = int.from_bytes(data[:3], "big"), data[3]
            payload, data = data[9:9 + size], data[9 + size:]
            if kind == SETTINGS:
                self.settings.update(struct.iter_unpack(">HI", payload))
            elif kind == GOAWAY:
                self.goaway_code = struct.unpack(">II", payload[:8])[1]


class Http2(BerthTest):
    def test_the_embedded_api_server(self):
        config = self.folder() / "kubeconfig"
        cluster = Process(self, "cluster", "--listen", "127.0.0.1:0", "--nodes", "1", "--tls", "--token", "random",
                          "--write-kubeconfig", str(config))
        url = cluster.wait_for("out", r"(https://127\.0\.0\.1:\d+)").group(1)
        text = config.read_text()
        authority = self.file("ca.crt", base64.b64decode(re.search(r"certificate-authority-data: (\S+)", text).group(1)).decode())
        header = "Authorization: Bearer " + re.search(r'token: "(\S+)"', text).group(1)
        known = ["--cacert", str(authority), "--header", header]
        for asked, spoken in (("--http2", "2"), ("--http1.1", "1.1")):
            done = curl(asked, *known, "--write-out", "\n%{http_version}", url + "/api/v1/nodes")
            self.assertEqual(done.stderr, "")
            body, version = done.stdout.rsplit("\n", 1)
            self.assertEqual(version, spoken)
            self.assertEqual(json.loads(body)["kind"], "NodeList")

        # A watch, with other requests on the same connection; each event arrives as it happens.
        watch = subprocess.Popen(["curl", "--silent", "--no-buffer", "--http2", *known, url + "/api/v1/configmaps?watch=1"],
                                 stdout=subprocess.PIPE, text=True, env=clean_environment())
        try:
            for number in range(3):
                body = json.dumps({"metadata": {"name": f"m-{number}"}, "data": {"text": "x" * 100_000}})
                done = curl("--http2", *known, "--header", "Content-Type: application/json", "--data-binary", "@" +
                            str(self.file("body", body)), "--write-out", "%{http_code} %{http_version}", "--output", "/dev/null",
                            url + "/api/v1/namespaces/default/configmaps")
                self.assertEqual(done.stdout, "201 2", done.stderr)
                names = []
                while f"m-{number}" not in names:
                    names.append(json.loads(watch.stdout.readline())["object"]["metadata"]["name"])
        finally:
            watch.kill()
            watch.wait()
            watch.stdout.close()

        # Many requests at once share a connection.
        asked = [part for _ in range(20) for part in ("--output", "/dev/null", url + "/api/v1/nodes")]
        done = curl("--http2", "--parallel", *known, "--write-out", "%{http_code} %{http_version} %{num_connects}\n", *asked)
        answers = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual([answer[:2] for answer in answers], [["200", "2"]] * 20, done.stderr)
        self.assertEqual(sum(int(answer[2]) for answer in answers), 1)
        self.assertEqual(cluster.end(), 0, cluster.lines("err"))

    def secure_port(self, master: str, *arguments: str) -> tuple[Process, int]:
        port = free_port()
        berth = Process(self, "run", "--master", master, f"--secure-port={port}", "--bind-address=127.0.0.1",
                        "--leader-elect=false", *arguments)
        berth.wait_for("err", "Serving securely")
        return berth, port

    def test_the_secure_port(self):
        _, api = self.api_server()
        cases = [
            ("as it is", [], "h2", 100, True),
            ("fewer streams", ["--http2-max-streams-per-connection=7"], "h2", 7, True),
            ("no HTTP/2", ["--disable-http2-serving"], "http/1.1", None, False),
            ("anonymous users keep their connections", ["--feature-gates=UnauthenticatedHTTP2DOSMitigation=false"], "h2", 100, False),
        ]
        for name, arguments, protocol, streams, is_ended in cases:
            with self.subTest(name):
                berth, port = self.secure_port(api.url, *arguments)
                said = Frames(port)
                self.assertEqual(said.protocol, protocol)
                self.assertEqual(said.settings.get(MAX_CONCURRENT_STREAMS), streams)
                # An anonymous client may send one request per connection, as in kube-scheduler since CVE-2023-44487.
                self.assertEqual((said.goaway_code, said.has_ended), (0, True) if is_ended else (None, False))
                done = curl("--insecure", "--http2", "--write-out", " %{http_version}", f"https://127.0.0.1:{port}/healthz")
                self.assertEqual(done.stdout, "ok 2" if protocol == "h2" else "ok 1.1", done.stderr)
                self.assertEqual(berth.end(), 0, berth.lines("err"))


if __name__ == "__main__":
    unittest.main()
