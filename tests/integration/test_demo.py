# SPDX-License-Identifier: Apache-2.0
"""berth demo: what the first five minutes with berth look like."""

import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import time
import unittest

from support import Api, BerthTest, Process, berth_binary, clean_environment, free_port, node_of, wait_until

POD_LINE = re.compile(r"^(nginx-[a-z0-9]+-[a-z0-9]+)\s+Running\s+(\S+)\s+(\S.*)$")


class Demo(BerthTest):
    def test_plain_lines_without_a_terminal(self):
        demo = Process(self, "demo")
        self.assertEqual(demo.wait(), 0, demo.lines("err"))
        lines = demo.lines("out")
        self.assertEqual(demo.lines("err"), [])
        self.assertFalse([line for line in lines if "\x1b" in line], "escape sequences belong to terminals")
        self.assertIn("an embedded API server with 5 simulated nodes", lines)
        self.assertIn("Deployment nginx, 3 replicas, schedulerName: berth", lines)
        last = [POD_LINE.match(line) for line in lines[-3:]]
        self.assertTrue(all(last), lines)
        self.assertEqual(len({match.group(1) for match in last}), 3, lines)
        for match in last:
            self.assertRegex(match.group(2), r"^node-[1-5]$")
            self.assertRegex(match.group(3), r"feasible")
        self.assertTrue([line for line in lines if re.match(r"^nginx-\S+\s+Pending\s+<none>", line)], "pods wait first")
        header = next(i for i, line in enumerate(lines) if line.startswith("POD "))
        self.assertRegex(lines[header + 1], r"^nginx-", "no table without pods")
        # The first pod finds five equal nodes, later ones a node with less free room.
        whys = {match.group(3) for match in last}
        self.assertIn("best of 5 feasible nodes: equal to 4 others, chosen by chance", whys)
        self.assertGreaterEqual(len(whys), 2, whys)
        self.assertTrue(any(re.search(r"; \w+ scores \d+ here, \d+ on node-\d$", why) for why in whys), whys)

    def test_flags(self):
        demo = Process(self, "demo", "--nodes", "2", "--replicas", "4", "--seed", "9")
        self.assertEqual(demo.wait(), 0, demo.lines("err"))
        last = [POD_LINE.match(line) for line in demo.lines("out")[-4:]]
        self.assertTrue(all(last), demo.lines("out"))
        self.assertLessEqual({match.group(2) for match in last}, {"node-1", "node-2"})

    def test_more_pods_than_fit(self):
        """The demo ends when the scheduler has refused the rest, not when its time is up."""
        demo = Process(self, "demo", "--nodes", "1", "--replicas", "120")  # a node has room for 40 of them
        self.assertEqual(demo.wait(60), 1)
        lines = demo.lines("err")
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r"^berth: demo: 80 of 120 pods have no room: 0/1 nodes are available: 1 Insufficient cpu\. .*"
                                   r"More --nodes would give it to them\.$")
        shown = [line for line in demo.lines("out")[-120:] if POD_LINE.match(line)]
        self.assertEqual(len(shown), 40)

    def test_one_screen_on_a_terminal(self):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
        environment = {**clean_environment(), "TERM": "xterm-256color"}
        environment.pop("NO_COLOR", None)
        demo = subprocess.Popen([berth_binary(), "demo"], stdin=slave, stdout=slave, stderr=subprocess.PIPE, env=environment)
        os.close(slave)
        self.addCleanup(demo.stderr.close)
        self.addCleanup(lambda: demo.poll() is None and demo.kill())
        written = b""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if not select.select([master], [], [], 0.2)[0]:
                if demo.poll() is not None:
                    break
                continue
            try:
                chunk = os.read(master, 65536)
            except OSError:  # the other side is closed: the program has ended
                break
            if not chunk:
                break
            written += chunk
        self.assertEqual(demo.wait(20), 0, demo.stderr.read())
        text = written.decode()
        self.assertRegex(text, r"\x1b\[\d*[A-K]", "the block is redrawn in place")
        self.assertIn("\x1b[", text)
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")
        tail = [line for line in shown.splitlines() if line.strip()][-3:]
        self.assertTrue(all(POD_LINE.match(line.strip()) for line in tail), shown)
        # Redraws in place: each frame starts where the previous one did, so that the cursor moves up.
        self.assertRegex(text, r"\x1b\[\d*[AF]")

    def serve(self) -> tuple[Process, Api]:
        address = f"127.0.0.1:{free_port()}"
        demo = Process(self, "demo", "--serve", "--listen", address)
        demo.wait_for("out", re.escape(f"http://{address}"))
        return demo, Api(address)

    def running(self, api: Api, count: int) -> list[dict] | None:
        pods = [pod for pod in api.pods() if "deletionTimestamp" not in pod["metadata"]]
        if len(pods) != count or any(pod["status"].get("phase") != "Running" for pod in pods):
            return None
        return pods

    def test_serve(self):
        demo, api = self.serve()
        self.assertEqual(len(api.get("/api/v1/nodes")["items"]), 5)
        self.assertEqual(len(api.ready_nodes()), 5)
        pods = wait_until("3 pods are running", lambda: self.running(api, 3))

        status, answer = api.call("PATCH", "/apis/apps/v1/namespaces/default/deployments/nginx/scale", {"spec": {"replicas": 10}},
                                  Api.MERGE_PATCH)
        self.assertEqual(status, 200, answer)
        pods = wait_until("10 pods are running", lambda: self.running(api, 10))
        nodes = {node["metadata"]["name"] for node in api.get("/api/v1/nodes")["items"]}
        self.assertLessEqual({node_of(pod) for pod in pods}, nodes)
        self.assertEqual({pod["spec"]["schedulerName"] for pod in pods}, {"berth"})

        def scheduled():
            events = api.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
            return {event["regarding"]["uid"] for event in events
                    if event["reason"] == "Scheduled" and event["reportingController"] == "berth"}

        uids = {pod["metadata"]["uid"] for pod in pods}
        wait_until("berth has said Scheduled of each pod", lambda: uids <= scheduled())

        victim = pods[0]["metadata"]
        status, answer = api.call("DELETE", f"/api/v1/namespaces/default/pods/{victim['name']}")
        self.assertEqual(status, 200, answer)

        def replaced():
            now = self.running(api, 10)
            return now if now and victim["uid"] not in {pod["metadata"]["uid"] for pod in now} else None

        wait_until("the pod is replaced", replaced)
        self.assertEqual(demo.end(signal.SIGTERM), 0, demo.lines("err"))

    def test_control_c_ends_it(self):
        demo, _ = self.serve()
        self.assertEqual(demo.end(signal.SIGINT), 0, demo.lines("err"))

    def test_control_c_at_any_moment_ends_it(self):
        demo = Process(self, "demo", "--nodes", "2000", "--replicas", "500")
        demo.wait_for("out", "an embedded API server")
        self.assertEqual(demo.end(signal.SIGINT), 0)
        self.assertEqual(demo.lines("err"), [])

    def test_port_in_use(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            address = f"127.0.0.1:{other.getsockname()[1]}"
            for arguments in (["demo", "--serve"], ["apiserver"]):
                with self.subTest(arguments[0]):
                    process = Process(self, *arguments, "--listen", address)
                    self.assertEqual(process.wait(10), 1)
                    lines = process.lines("err")
                    self.assertEqual(len(lines), 1, lines)
                    self.assertIn(address, lines[0])
                    self.assertRegex(lines[0], "in use")

    def test_listen_that_is_no_address(self):
        for listen in ("8001", "127.0.0.1:99999", "127.0.0.1:http", "nonsense", ""):
            with self.subTest(listen):
                process = Process(self, "apiserver", "--listen", listen)
                self.assertNotEqual(process.wait(10), 0)
                lines = process.lines("err")
                self.assertEqual(len(lines), 1, lines)


if __name__ == "__main__":
    unittest.main()
