# SPDX-License-Identifier: Apache-2.0
"""What the integration tests share: the program under test as a process, ports, deadlines and an HTTP client.

The program is $BERTH_BINARY. Nothing here sleeps for a fixed time: what takes time is polled until a deadline.
"""

import fcntl
import json
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Long, because the machine may be busy with other builds.
DEADLINE_S = 60.0
POLL_S = 0.05


def berth_binary() -> str:
    """The path of the program under test."""
    path = os.environ.get("BERTH_BINARY", "")
    if not path or not os.access(path, os.X_OK):
        raise SystemExit(f"BERTH_BINARY should name the berth program; it is {path!r}")
    return path


def clean_environment() -> dict:
    """The environment without variables that would point berth to another cluster."""
    drop = {"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "http_proxy", "https_proxy", "no_proxy",
            "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "REQUEST_METHOD"}
    return {key: value for key, value in os.environ.items() if key not in drop}


# Below the ports that the system gives to connections, so that none of them takes a port before its server listens.
PORTS = range(20000, 30000)
_port_locks = []  # held by this process until it ends, so that tests beside it get other ports


def free_port() -> int:
    """A port of 127.0.0.1 on which nobody listens, and which no other test gets."""
    folder = Path(tempfile.gettempdir()) / f"berth-test-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    for port in random.sample(PORTS, len(PORTS)):
        lock = open(folder / str(port), "w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
        except OSError:
            lock.close()
            continue
        _port_locks.append(lock)
        return port
    raise AssertionError(f"no port of {PORTS} is free")


def wait_until(what: str, condition, timeout: float = DEADLINE_S):
    """Polls `condition` until it returns something true, which is returned; fails with what it returned last."""
    deadline = time.monotonic() + timeout
    while True:
        last = condition()
        if last:
            return last
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout:g} s: {what} (last: {last!r})")
        time.sleep(POLL_S)


class Process:
    """A berth process whose output is collected line by line. Ended by its own pid when the test ends."""

    def __init__(self, test: unittest.TestCase, *arguments: str, environment: dict | None = None):
        self.arguments = arguments
        self._popen = subprocess.Popen([berth_binary(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, errors="replace",
                                       env={**clean_environment(), **(environment or {})})
        self._lock = threading.Lock()
        self._lines = {"out": [], "err": []}
        self._readers = [threading.Thread(target=self._read, args=(name, pipe), daemon=True)
                         for name, pipe in (("out", self._popen.stdout), ("err", self._popen.stderr))]
        for reader in self._readers:
            reader.start()
        test.addCleanup(self.kill)

    def _read(self, name: str, pipe) -> None:
        for line in pipe:
            with self._lock:
                self._lines[name].append(line.rstrip("\n"))

    @property
    def pid(self) -> int:
        return self._popen.pid

    def lines(self, name: str) -> list[str]:
        """The lines so far on "out" or "err"."""
        with self._lock:
            return list(self._lines[name])

    def has_ended(self) -> bool:
        return self._popen.poll() is not None

    def find(self, name: str, pattern: str) -> re.Match | None:
        """The first line that matches."""
        for line in self.lines(name):
            if match := re.search(pattern, line):
                return match
        return None

    def wait_for(self, name: str, pattern: str, timeout: float = DEADLINE_S) -> re.Match:
        def look():
            found = self.find(name, pattern)
            if not found and self.has_ended():
                raise AssertionError(f"{self} ended with {self._popen.returncode} without {pattern!r}: {self.lines('err')[-5:]}")
            return found

        return wait_until(f"{self} says {pattern!r}; it says {self.lines(name)[-5:]}", look, timeout)

    def wait(self, timeout: float = DEADLINE_S) -> int:
        """Returns the exit status after all output was read."""
        status = self._popen.wait(timeout)
        for reader in self._readers:
            reader.join(timeout)
        return status

    def end(self, number: int = signal.SIGTERM, timeout: float = 20.0) -> int:
        """Sends the signal and returns the exit status."""
        self._popen.send_signal(number)
        return self.wait(timeout)

    def kill(self) -> None:
        if self._popen.poll() is None:
            self._popen.kill()
        self._popen.wait()
        for reader in self._readers:
            reader.join(5)
        self._popen.stdout.close()
        self._popen.stderr.close()

    def __str__(self) -> str:
        return "berth " + " ".join(self.arguments)


class Api:
    """An API server at http://ADDRESS."""

    JSON = "application/json"
    MERGE_PATCH = "application/merge-patch+json"
    STRATEGIC_PATCH = "application/strategic-merge-patch+json"

    def __init__(self, address: str):
        self.url = "http://" + address
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def call(self, method: str, path: str, body=None, content_type: str = JSON, headers: dict | None = None):
        """Returns status and response body (parsed if it is JSON). `body`: bytes, or a value that is written as
        JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers or {})
        if data is not None and content_type:
            request.add_header("Content-Type", content_type)
        try:
            with self._opener.open(request, timeout=30) as answer:
                return answer.status, self._parse(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, self._parse(error.read())

    @staticmethod
    def _parse(data: bytes):
        try:
            return json.loads(data)
        except ValueError:
            return data.decode("utf-8", "replace")

    def get(self, path: str):
        status, answer = self.call("GET", path)
        if status != 200:
            raise AssertionError(f"GET {path}: {status} {answer}")
        return answer

    def create(self, path: str, body):
        status, answer = self.call("POST", path, body)
        if status != 201:
            raise AssertionError(f"POST {path}: {status} {answer}")
        return answer

    def create_all(self, path: Path) -> None:
        """Creates the documents of a file of manifests, like `kubectl create -f`."""
        for document in re.split(r"(?m)^---\n", path.read_text()):
            if not (kind := re.search(r"(?m)^kind: (\w+)$", document)):
                continue
            version = re.search(r"(?m)^apiVersion: (\S+)$", document).group(1)
            resource = re.sub(r"s$", "se", kind.group(1).lower()) + "s"
            namespace = re.search(r"(?m)^metadata:.*\bnamespace: ([\w-]+)|^metadata:\n(?:  .*\n)*?  namespace: ([\w-]+)", document)
            within = f"/namespaces/{namespace.group(1) or namespace.group(2)}" if namespace else ""
            target = f"{'/apis' if '/' in version else '/api'}/{version}{within}/{resource}"
            status, answer = self.call("POST", target, document.encode(), "application/yaml")
            if status != 201:
                raise AssertionError(f"POST {target}: {status} {answer}")

    def is_up(self) -> bool:
        try:
            return self.call("GET", "/version")[0] == 200
        except OSError:
            return False

    def pods(self, namespace: str = "default") -> list[dict]:
        return self.get(f"/api/v1/namespaces/{namespace}/pods")["items"]

    def ready_nodes(self) -> list[str]:
        return [node["metadata"]["name"] for node in self.get("/api/v1/nodes")["items"]
                if any(c["type"] == "Ready" and c["status"] == "True" for c in node.get("status", {}).get("conditions", []))]


def pod(name: str, cpu: str = "100m", scheduler: str = "default-scheduler", **spec) -> dict:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"schedulerName": scheduler,
                     "containers": [{"name": "c", "image": "registry/c:1", "resources": {"requests": {"cpu": cpu}}}], **spec}}


def node_of(pod_object: dict) -> str:
    return pod_object["spec"].get("nodeName", "")


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=60)


class Certificates:
    """A certificate authority in `folder` (ca.crt) and the certificates that it signs."""

    def __init__(self, folder: Path):
        self.folder = folder
        openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
                "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.crt")
        (folder / "index.txt").write_text("")
        (folder / "serial").write_text("01\n")
        (folder / "ca.cnf").write_text("[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nserial=serial\nnew_certs_dir=.\n"
                                       "default_md=sha256\npolicy=p\nunique_subject=no\n[p]\ncommonName=supplied\n")

    def sign(self, name: str, alternative: str = "", is_expired: bool = False) -> None:
        """Writes NAME.crt and NAME.key; `alternative` is like "IP:127.0.0.1". An expired one ended on 2020-02-01."""
        openssl(self.folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (self.folder / f"{name}.cnf").write_text(f"subjectAltName={alternative}\n" if alternative else "")
        until = "20200201000000Z" if is_expired else "20491231000000Z"
        openssl(self.folder, "ca", "-batch", "-config", "ca.cnf", "-cert", "ca.crt", "-keyfile", "ca.key", "-in", f"{name}.csr",
                "-out", f"{name}.crt", "-startdate", "20200101000000Z", "-enddate", until, "-extfile", f"{name}.cnf")


class BerthTest(unittest.TestCase):
    """A test with a folder of its own."""

    maxDiff = None

    def folder(self) -> Path:
        temporary = tempfile.TemporaryDirectory(prefix="berth-test-")
        self.addCleanup(temporary.cleanup)
        return Path(temporary.name)

    def file(self, name: str, text: str) -> Path:
        path = self.folder() / name
        path.write_text(text)
        return path

    def api_server(self, nodes: int = 0, *more: str) -> tuple[Process, Api]:
        """`berth apiserver` on a port that it chooses, with all its nodes ready; `more` are flags."""
        process = Process(self, "apiserver", "--listen", "127.0.0.1:0", "--nodes", str(nodes), *more)
        address = process.wait_for("out", r"http://(127\.0\.0\.1:\d+)").group(1)
        api = Api(address)
        wait_until("all nodes are ready", lambda: len(api.ready_nodes()) == nodes)
        return process, api
