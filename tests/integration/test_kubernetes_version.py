# SPDX-License-Identifier: Apache-2.0
"""Which kube-scheduler `berth run` follows: it depends on the API server's version, which may become known late."""

import json
import unittest

from fake_server import FakeApiServer, http, one_pod_and_room
from support import BerthTest, wait_until
from test_serving import SecurePort


class KubernetesVersion(BerthTest):
    def setUp(self):
        self.version = ""  # none yet
        self.server = FakeApiServer(self, one_pod_and_room(), self.tell)

    def tell(self, _method: str, path: str):
        if path != "/version":
            return None
        if not self.version:
            return http("503 Service Unavailable", b"{}")
        return http("200 OK", json.dumps({"gitVersion": self.version}).encode())

    def waiting(self) -> SecurePort:
        port = SecurePort(self, self.server.url)
        port.berth.wait_for("err", "Waiting for the API server's version")
        return port

    def bound(self):
        wait_until("the pod is bound", lambda: self.server.seen("^POST .*/pods/p/binding "))

    def test_until_it_is_known(self):
        port = self.waiting()
        self.assertEqual(port.ask("/livez")[0], 200)
        self.assertEqual(port.ask("/readyz")[0], 500)
        self.assertEqual(port.ask("/metrics")[0], 200)
        self.assertEqual(self.server.seen("^GET /api/"), [], "nothing is listed that might be decided on")
        self.assertEqual(port.berth.end(), 0)

    def test_the_version_that_was_prepared_for(self):
        port = self.waiting()
        self.version = "v1.36.9"
        port.berth.wait_for("err", "Deciding as kube-scheduler 1.36 does")
        self.bound()
        self.assertIsNone(port.berth.find("err", "Beginning again"))
        self.assertEqual(port.berth.end(), 0)

    def test_another_version(self):
        port = self.waiting()
        self.version = "v1.39.0"
        port.berth.wait_for("err", "Beginning again")
        port.berth.wait_for("err", "Deciding as kube-scheduler 1.38 does, the newest that is followed")
        self.bound()
        wait_until("the port is served again", lambda: port.berth.find("err", "Synced"))
        self.assertIn('minor="38"', port.ask("/metrics")[1])
        self.assertEqual(port.berth.end(), 0)

    def test_a_server_that_does_not_report_its_version(self):
        self.version = None
        self.server._first = lambda _method, path: http("404 Not Found", b"{}") if path == "/version" else None
        port = SecurePort(self, self.server.url)
        port.berth.wait_for("err", "Deciding as kube-scheduler 1.36 does, because the API server does not tell its version")
        self.bound()


if __name__ == "__main__":
    unittest.main()
