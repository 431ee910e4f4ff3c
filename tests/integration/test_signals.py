# SPDX-License-Identifier: Apache-2.0
"""SIGUSR2, at which a scheduler logs its cache and queue, as kube-scheduler does, and SIGUSR1, which does nothing."""

import os
import signal
import unittest

from outside import create_pod, placed
from support import BerthTest, Process, pod, wait_until


class SignalsTest(BerthTest):
    def dump(self, berth: Process, nth: int) -> list[str]:
        """The lines of the nth dump."""
        os.kill(berth.pid, signal.SIGUSR2)
        last = "Dump of scheduling queue"
        wait_until("it has told", lambda: sum(last in line for line in berth.lines("err")) == nth)
        lines = berth.lines("err")
        ends = [number for number, line in enumerate(lines) if last in line]
        return lines[ends[nth - 2] + 1 if nth > 1 else 0:]

    def test_the_dump(self):
        _, api = self.api_server(2)
        berth = Process(self, "run", "--master", api.url, "--leader-elect=false")
        create_pod(api, pod("runs", cpu="150m"))
        create_pod(api, pod("never", cpu="1000"))
        node = placed(api, "runs")
        wait_until("the other is refused", lambda: any(
            condition.get("reason") == "Unschedulable" for item in api.pods() if item["metadata"]["name"] == "never"
            for condition in item.get("status", {}).get("conditions", [])))
        text = "\n".join(self.dump(berth, 1))
        for wanted in ("Dump of cached NodeInfo", f"Node name: {node}", "Deleted: false", "MilliCPU:150 ",
                       "Scheduled Pods(number: 1):", "name: runs, namespace: default, uid: ", "Dump of scheduling queue",
                       "activeQ:0; backoffQ:0; unschedulablePods:1", "name: never, namespace: default, uid: "):
            self.assertIn(wanted, text)
        self.assertNotIn("Cache mismatch", text)

        # Everything else goes on: pods are placed, and the cache lacks only a pending pod of another scheduler.
        create_pod(api, pod("others", scheduler="another"))
        create_pod(api, pod("second"))
        placed(api, "second")
        text = "\n".join(self.dump(berth, 2))
        self.assertIn("Cache mismatch", text)
        self.assertIn('missedPods="[default/others]" redundantPods="[]"', text)
        self.assertNotIn("missedNodes", text)
        os.kill(berth.pid, signal.SIGUSR1)
        create_pod(api, pod("third"))
        placed(api, "third")
        self.assertEqual(berth.end(), 0)

    def test_a_program_with_nothing_to_print_goes_on(self):
        process, api = self.api_server(1)
        os.kill(process.pid, signal.SIGUSR2)
        os.kill(process.pid, signal.SIGUSR1)
        create_pod(api, pod("pod"))
        self.assertEqual(process.end(), 0)


if __name__ == "__main__":
    unittest.main()
