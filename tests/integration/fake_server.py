# SPDX-License-Identifier: Apache-2.0
"""Fake API servers with scripted responses in raw bytes."""

import json
import re
import socket
import ssl
import threading
import unittest

from support import pod


class FakeServer:
    """Answers each connection by `answer(connection, request_line, body)`, which writes raw bytes. Ended by close()."""

    def __init__(self, test: unittest.TestCase, answer, tls: ssl.SSLContext | None = None):
        self.requests = []
        self._tls = tls
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._listener.getsockname()[1]}"
        self._connections = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        test.addCleanup(self.close)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection, connection.makefile("rb") as reader:
                while line := reader.readline():
                    length = 0
                    while (header := reader.readline().strip()):
                        name, _, value = header.partition(b":")
                        if name.lower() == b"content-length":
                            length = int(value)
                    body = reader.read(length)
                    request = line.decode("latin-1").strip()
                    with self._lock:
                        self.requests.append((request, body))
                    if not self._answer(connection, request, body):
                        return
        except (OSError, ValueError):
            pass

    def seen(self, pattern: str) -> list[tuple[str, bytes]]:
        with self._lock:
            return [request for request in self.requests if re.search(pattern, request[0])]

    def close(self) -> None:
        # shutdown() wakes accept(), while close() alone does not.
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def http(status: str, body: bytes, content_type: str = "application/json", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {size}\r\n\r\n".encode() + body


def status(code: int, reason: str, message: str) -> bytes:
    return json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
                       "message": message}).encode()


def too_new(request: str, body: bytes) -> bytes | None:
    """The response of a server that supports neither streaming lists nor protobuf to such a request; None: the request
    is for neither."""
    if "sendInitialEvents" in request:
        return http("400 Bad Request", status(400, "BadRequest", "sendInitialEvents is forbidden"))
    if body.startswith(b"k8s\0"):
        return http("415 Unsupported Media Type", status(415, "UnsupportedMediaType", "JSON only"))
    return None


def fixed(data: bytes, keep: bool = False):
    def answer(connection, _request, _body) -> bool:
        connection.sendall(data)
        return keep

    return answer


class FakeApiServer(FakeServer):
    """Serves `items`, which are lists by path; leaves watches open, and accepts all writes. `first(method, path)` is
    called before: the bytes that it returns are the response, b"" stands for none; None lets the server handle the
    request."""

    def __init__(self, test: unittest.TestCase, items: dict[str, list], first=lambda _method, _path: None):
        self._items = items
        self._first = first
        super().__init__(test, self._reply)

    def _reply(self, connection, request: str, body: bytes) -> bool:
        method, target, _ = request.split(" ")
        path = target.partition("?")[0]
        if (reply := self._first(method, path)) is not None:
            connection.sendall(reply)
        elif refusal := too_new(request, body):
            connection.sendall(refusal)
        elif method == "GET" and "watch=" in target:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        elif method == "GET":
            connection.sendall(http("200 OK", json.dumps({"kind": "List", "metadata": {"resourceVersion": "9"},
                                                          "items": self._items.get(path, [])}).encode()))
        else:
            connection.sendall(http("201 Created" if method == "POST" else "200 OK", b'{"kind":"Status","status":"Success"}'))
        return True


def listed(name: str, body: dict, **metadata) -> dict:
    """`body` in the form of the API server's list."""
    return {**body, "metadata": {"name": name, "uid": f"u-{name}", "resourceVersion": "5", **metadata}}


def one_pod_and_room() -> dict[str, list]:
    """Items for FakeApiServer: the pod default/p, and a node n on which it fits."""
    return {"/api/v1/nodes": [listed("n", {"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}})],
            "/api/v1/pods": [listed("p", pod("p"), namespace="default")]}
