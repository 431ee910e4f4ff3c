# SPDX-License-Identifier: Apache-2.0
"""What the tests of policies share that decide by data from outside: a server that misbehaves as told, the real programs
that such data come from, and berth's metrics.

The real programs are Debian's, unpacked into $BERTH_SERVICES (./dev test does it) or installed. Each is started by its
test on ports of 127.0.0.1 with all its files in a temporary folder; nothing of it runs as a service.
"""

import base64
import os
import re
import shutil
import subprocess
import threading
import unittest
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from support import Api, Process, free_port, wait_until


class Reply:
    """An HTTP response; `after` is its delay in seconds."""

    def __init__(self, body: bytes | str, status: int = 200, after: float = 0.0, headers: dict | None = None):
        self.body = body.encode() if isinstance(body, str) else body
        self.status = status
        self.after = after
        self.headers = headers or {}


class QuietHandler(BaseHTTPRequestHandler):
    def reply(self, status: int, headers: dict, body: bytes) -> None:
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass  # the client has disconnected

    def log_message(self, *_):
        pass


class QuietServer(ThreadingHTTPServer):
    """A server on its own port whose threads are not waited for."""

    daemon_threads = True

    def __init__(self, handler: type):
        super().__init__(("127.0.0.1", 0), handler)

    def handle_error(self, *_):
        pass

    def start(self, test: unittest.TestCase, closing: threading.Event) -> None:
        """Serves until the test ends, when `closing` is set."""
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

        def close() -> None:
            closing.set()
            self.shutdown()
            self.server_close()

        test.addCleanup(close)


class OutsideServer:
    """Answers GET requests by `answers[path]`, each of which is a Reply or a function of the handler that returns one;
    the path may be a prefix. Ended with the test."""

    def __init__(self, test: unittest.TestCase):
        self.answers = {}
        self.asked = []
        self._closing = threading.Event()
        outer = self

        class Handler(QuietHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                known = [path for path in outer.answers if self.path.startswith(path)]
                reply = outer.answers[max(known, key=len)] if known else Reply("no such path", 404)
                reply = reply(self) if callable(reply) else reply
                if reply.after and outer._closing.wait(reply.after):
                    return
                self.reply(reply.status, reply.headers, reply.body)

        server = QuietServer(Handler)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        server.start(test, self._closing)


class Metrics:
    """The metrics of a berth process with --metrics-bind-address."""

    def __init__(self, berth: Process):
        self.url = berth.wait_for("err", r'Serving metrics" url="([^"]+)"').group(1)

    def text(self) -> str:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.url, timeout=10) as answer:
            return answer.read().decode()

    def families(self) -> set[str]:
        return {line.split()[2] for line in self.text().splitlines() if line.startswith("# TYPE ")}

    def value(self, name: str, **labels: str) -> float:
        """The sum of all samples with this name and these labels; -1 if there are none."""
        found = []
        for line in self.text().splitlines():
            match = re.match(rf"{name}(?:{{(.*)}})? (\S+)$", line)
            if match and all(f'{key}="{value}"' in (match.group(1) or "") for key, value in labels.items()):
                found.append(float(match.group(2)))
        return sum(found) if found else -1.0

    def wait_for(self, wanted, name: str, **labels: str) -> float:
        """Waits until the value is `wanted`, or `wanted(value)` is true."""
        is_it = wanted if callable(wanted) else lambda value: value == wanted
        last = -1.0

        def look():
            nonlocal last
            last = self.value(name, **labels)
            return is_it(last)

        wait_until(f"{name}{labels} is as wanted", look)
        return last


def create_pod(api: Api, made: dict) -> None:
    api.create("/api/v1/namespaces/default/pods", made)


def find_pod(api: Api, name: str) -> dict:
    return api.get(f"/api/v1/namespaces/default/pods/{name}")


def placed(api: Api, name: str) -> str:
    """The node of the pod, once it has one."""
    return wait_until(f"{name} has a node; its conditions: {find_pod(api, name)['status'].get('conditions')}",
                      lambda: find_pod(api, name)["spec"].get("nodeName", ""))


def refused(api: Api, name: str, pattern: str) -> str:
    """The message of the pod's PodScheduled=False condition, once it matches."""

    def look():
        for condition in find_pod(api, name)["status"].get("conditions", []):
            if condition["type"] == "PodScheduled" and re.search(pattern, condition.get("message", "")):
                return condition["message"]
        return ""

    return wait_until(f"{name} is refused with {pattern!r}: {find_pod(api, name)['status']}", look)


def program(test: unittest.TestCase, name: str, *places: str) -> str:
    """The path of a real program. Without it the test is skipped, or fails if BERTH_REQUIRE_SERVICES is set."""
    root = os.environ.get("BERTH_SERVICES", "")
    for place in places:
        for path in ([root + place] if root else []) + [place]:
            if os.access(path, os.X_OK):
                return path
    if found := shutil.which(name):
        return found
    said = f"{name} is not there: ./dev setup services unpacks it"
    if os.environ.get("BERTH_REQUIRE_SERVICES") == "1":
        test.fail(said)
    raise unittest.SkipTest(said)


def with_share(binary: str, needed: str) -> list[str]:
    """The prefix of a command that reads its own /usr/share by an absolute path: if its package was unpacked instead of
    installed, it sees the package's files there, in its own mount namespace."""
    root = os.environ.get("BERTH_SERVICES", "")
    if os.path.exists(needed) or not root or not binary.startswith(root):
        return []
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", 'mount --bind "$0" /usr/share && exec "$@"', root + "/usr/share"]


class Service:
    """A real program in the foreground, ended by its own pid; its output goes to `log`."""

    def __init__(self, test: unittest.TestCase, log: Path, *command: str):
        self.log = log
        with log.open("wb") as out:
            self._popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        test.addCleanup(self.end)

    def kill(self) -> None:
        """Kills it as a crash would, without a clean shutdown."""
        self._popen.kill()
        self._popen.wait()

    def end(self) -> None:
        if self._popen.poll() is None:
            self._popen.terminate()
            try:
                self._popen.wait(10)
            except subprocess.TimeoutExpired:
                self._popen.kill()
        self._popen.wait()

    def wait_for_http(self, url: str) -> None:
        def answers():
            if self._popen.poll() is not None:
                raise AssertionError(f"it ended with {self._popen.returncode}: {self.log.read_text()[-2000:]}")
            try:
                opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                with opener.open(url, timeout=5) as answer:
                    return answer.status == 200
            except OSError:
                return False

        wait_until(f"{url} answers", answers)


class Nagios:
    """Debian's Nagios 4 watching hosts by files that the test writes, and its CGI behind HTTP with a password."""

    USER, PASSWORD = "berth", "secret"

    def __init__(self, test: unittest.TestCase, folder: Path, hosts: list[str]):
        self.folder = folder
        daemon = program(test, "nagios4", "/usr/sbin/nagios4")
        self._cgi = program(test, "statusjson.cgi", "/usr/lib/cgi-bin/nagios4/statusjson.cgi")
        check = folder / "check.sh"
        # A check prints the state that the test has written: exit status and text.
        check.write_text(f'#!/bin/sh\nread -r code words <"{folder}/$1.state"\necho "$words"\nexit "$code"\n')
        check.chmod(0o755)
        objects = ["define timeperiod {\n timeperiod_name always\n alias always\n" + "".join(
            f" {day} 00:00-24:00\n" for day in
            ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")) + "}\n",
            f"define command {{\n command_name look\n command_line {check} $HOSTNAME$\n}}\n",
            # Nagios needs at least one service and one contact to start.
            "define command {\n command_name tell\n command_line /bin/true\n}\n",
            "define contact {\n contact_name nobody\n host_notification_period always\n service_notification_period always\n"
            " host_notification_commands tell\n service_notification_commands tell\n}\n",
            f"define service {{\n service_description look\n host_name {hosts[0]}\n check_command look\n check_period always\n"
            " max_check_attempts 1\n check_interval 60\n notifications_enabled 0\n contacts nobody\n}\n"]
        for host in hosts:
            self.set(host, True, "fine")
            objects.append(f"define host {{\n host_name {host}\n address 127.0.0.1\n check_command look\n check_period always\n"
                           " check_interval 1\n retry_interval 1\n max_check_attempts 1\n active_checks_enabled 1\n"
                           " notifications_enabled 0\n}\n")
        (folder / "objects.cfg").write_text("".join(objects))
        user = subprocess.run(["id", "-un"], check=True, capture_output=True, text=True).stdout.strip()
        group = subprocess.run(["id", "-gn"], check=True, capture_output=True, text=True).stdout.strip()
        for name in ("checks", "archives"):
            (folder / name).mkdir()
        main = folder / "nagios.cfg"
        main.write_text("\n".join(f"{key}={value}" for key, value in {
            "log_file": folder / "nagios.log", "cfg_file": folder / "objects.cfg",
            "object_cache_file": folder / "objects.cache", "precached_object_file": folder / "objects.precache",
            "status_file": folder / "status.dat", "status_update_interval": 1, "nagios_user": user, "nagios_group": group,
            "lock_file": folder / "nagios.pid", "temp_file": folder / "nagios.tmp", "temp_path": folder,
            "check_result_path": folder / "checks", "log_archive_path": folder / "archives", "retain_state_information": 0,
            "query_socket": folder / "query.sock", "check_external_commands": 0, "interval_length": 1,
            "check_for_updates": 0, "enable_environment_macros": 0, "execute_host_checks": 1, "use_syslog": 0,
            "max_host_check_spread": 1, "host_inter_check_delay_method": "n", "check_workers": 1, "enable_notifications": 0,
        }.items()) + "\n")
        self._cgi_config = folder / "cgi.cfg"
        self._cgi_config.write_text(f"main_config_file={main}\nphysical_html_path={folder}\nurl_html_path=/nagios4\n"
                                    f"use_authentication=1\nauthorized_for_all_hosts={self.USER}\n"
                                    f"authorized_for_all_services={self.USER}\n")
        self.service = Service(test, folder / "out.log", daemon, str(main))
        self.server = OutsideServer(test)
        self.server.answers["/cgi-bin/nagios4/statusjson.cgi"] = self._run_cgi
        self.url = self.server.url + "/cgi-bin/nagios4/statusjson.cgi"
        self.password_file = folder / "password"
        self.password_file.write_text(f"{self.USER}:{self.PASSWORD}\n")

    def set(self, host: str, is_up: bool, words: str) -> None:
        path = self.folder / f"{host}.state"
        new = self.folder / f"{host}.new"
        new.write_text(f"{0 if is_up else 2} {words}\n")
        new.rename(path)

    def _run_cgi(self, handler) -> Reply:
        """Acts as a web server: asks for the password, runs the program and passes on its output."""
        want = "Basic " + base64.b64encode(f"{self.USER}:{self.PASSWORD}".encode()).decode()
        if handler.headers.get("Authorization") != want:
            return Reply("who are you?", 401)
        path, _, query = handler.path.partition("?")
        ran = subprocess.run([self._cgi], capture_output=True, timeout=20, check=False, env={
            "REQUEST_METHOD": "GET", "QUERY_STRING": query, "SCRIPT_NAME": path, "GATEWAY_INTERFACE": "CGI/1.1",
            "REMOTE_USER": self.USER, "NAGIOS_CGI_CONFIG": str(self._cgi_config)})
        head, _, body = ran.stdout.replace(b"\r\n", b"\n").partition(b"\n\n")
        del head
        return Reply(body, headers={"Content-Type": "application/json"})


def ready_berth(test: unittest.TestCase, api: Api, config: Path) -> tuple[Process, Metrics]:
    berth = Process(test, "run", "--master", api.url, "--config", str(config), "--seed", "1", "--metrics-bind-address",
                    "127.0.0.1:0")
    return berth, Metrics(berth)


__all__ = ["Metrics", "Nagios", "OutsideServer", "Reply", "Service", "create_pod", "find_pod", "free_port", "placed",
           "program", "ready_berth", "refused", "with_share"]
