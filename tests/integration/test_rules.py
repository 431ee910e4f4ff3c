# SPDX-License-Identifier: Apache-2.0
"""The alerts and the dashboard of deploy/chart: their content, and that the metrics that they query exist."""

import json
import pathlib
import re
import shutil
import subprocess
import unittest

from outside import Metrics, program
from support import BerthTest, Process, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy/chart"


def expressions() -> list[str]:
    dashboard = json.loads((CHART / "dashboards/berth.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return asked + re.findall(r"^ +expr: (.*)$", (CHART / "rules.yaml").read_text(), re.MULTILINE)


class RulesTest(BerthTest):
    def test_each_alert_comes_and_stays_away(self):
        binary = program(self, "promtool", "/usr/bin/promtool")
        folder = self.folder()
        for path in (CHART / "rules.yaml", ROOT / "tests/integration/rules_test.yaml"):
            shutil.copy(path, folder)
        done = subprocess.run([binary, "test", "rules", "rules_test.yaml"], cwd=folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        alerts = set(re.findall(r"alert: (\w+)", (CHART / "rules.yaml").read_text()))
        tested = set(re.findall(r"alertname: (\w+)", (ROOT / "tests/integration/rules_test.yaml").read_text()))
        self.assertEqual(alerts, tested)

    def test_each_alert_has_its_section_in_the_runbook(self):
        headings = {line[3:].lower() for line in (ROOT / "docs/runbook.md").read_text().splitlines() if line.startswith("## ")}
        for anchor in re.findall(r"docs/runbook\.md#(\w+)", (CHART / "rules.yaml").read_text()):
            self.assertIn(anchor, headings)

    def test_the_metrics_are_there(self):
        _, api = self.api_server(1)
        berth = Process(self, "run", "--master", api.url, "--metrics-bind-address=127.0.0.1:0", "--leader-elect-retry-period=1s")
        metrics = Metrics(berth)
        wait_until("it takes part in leader election", lambda: "leader_election_master_status" in metrics.families())
        families = metrics.families()
        # Metrics of a plugin of their own, or of the rebalancer.
        others = {"berth_outside_requests_total", "berth_rebalance_waiting", "berth_script_errors_total"}
        asked = set()
        for expression in expressions():
            asked |= set(re.findall(r"\b(?:scheduler|rest_client|process|leader_election|berth)_[a-z_]+", expression))
        for name in sorted(asked - others):
            self.assertIn(re.sub(r"_(bucket|sum|count)$", "", name), families)


if __name__ == "__main__":
    unittest.main()
