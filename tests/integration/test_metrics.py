# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus with what kube-prometheus makes of kube-scheduler's metrics: berth in kube-scheduler's place."""

import json
import math
import ssl
import subprocess
import unittest
import urllib.parse
import urllib.request

from outside import Metrics, Service, create_pod, free_port, placed, program
from support import BerthTest, Process, pod, wait_until

# From kubernetes-mixin: metrics of its recording rules, with their quantiles, and the expressions of its dashboard
# "Scheduler".
RECORDED = ["scheduler_scheduling_attempt_duration_seconds", "scheduler_scheduling_algorithm_duration_seconds",
            "scheduler_pod_scheduling_sli_duration_seconds"]
QUANTILES = ["0.99", "0.9", "0.5"]
SELECTOR = 'job="kube-scheduler"'
DASHBOARD = [
    f"sum(up{{{SELECTOR}}})",
    *(f"sum(rate({metric}_count{{{SELECTOR}}}[5m])) by (instance)" for metric in RECORDED),
    *(f"histogram_quantile(0.99, sum(rate({metric}_bucket{{{SELECTOR}}}[5m])) by (instance, le))" for metric in RECORDED),
    f'sum(rate(rest_client_requests_total{{{SELECTOR},code=~"2.."}}[5m]))',
    f'histogram_quantile(0.99, sum(rate(rest_client_request_duration_seconds_bucket{{{SELECTOR},verb="POST"}}[5m])) by (verb, le))',
    f"process_resident_memory_bytes{{{SELECTOR}}}",
    f"rate(process_cpu_seconds_total{{{SELECTOR}}}[5m])",
]

# Without errors nothing is read again: there are series, but no requests for a quantile.
QUIET = f'histogram_quantile(0.99, sum(rate(rest_client_request_duration_seconds_bucket{{{SELECTOR},verb="GET"}}[5m])) by (verb, le))'


def rules() -> str:
    recorded = [{"record": f"cluster_quantile:{metric}:histogram_quantile", "labels": {"quantile": quantile},
                 "expr": f"histogram_quantile({quantile}, sum(rate({metric}_bucket{{{SELECTOR}}}[5m])) without(instance, pod))"}
                for metric in RECORDED for quantile in QUANTILES]
    down = {"alert": "KubeSchedulerDown", "expr": f"absent(up{{{SELECTOR}}} == 1)", "for": "15m",
            "labels": {"severity": "critical"}}
    return json.dumps({"groups": [{"name": "kube-scheduler.rules", "interval": "1s", "rules": recorded},
                                  {"name": "kubernetes-system-scheduler", "interval": "1s", "rules": [down]}]})


class PrometheusTest(BerthTest):
    def ask(self, path: str, **parameters: str):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.url}{path}?{urllib.parse.urlencode(parameters)}", timeout=10) as answer:
            return json.loads(answer.read())["data"]

    def values(self, query: str) -> list[float]:
        return [float(series["value"][1]) for series in self.ask("/api/v1/query", query=query)["result"]]

    def test_the_rules_and_the_dashboard_of_kube_prometheus(self):
        binary = program(self, "prometheus", "/usr/bin/prometheus")
        _, api = self.api_server(3)
        secure, port = free_port(), free_port()
        Process(self, "run", "--master", api.url, "--leader-elect=false", f"--secure-port={secure}", "--bind-address=127.0.0.1",
                "--authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics")
        folder = self.folder()
        (folder / "rules.yml").write_text(rules())
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "rule_files": ["rules.yml"],
            "scrape_configs": [{"job_name": "kube-scheduler", "scheme": "https", "tls_config": {"insecure_skip_verify": True},
                                "static_configs": [{"targets": [f"127.0.0.1:{secure}"]}]}]}))
        self.url = f"http://127.0.0.1:{port}"
        Service(self, folder / "prometheus.log", binary, f"--config.file={folder}/prometheus.yml",
                f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}",
                "--log.level=warn").wait_for_http(f"{self.url}/-/ready")
        create_pod(api, pod("before"))
        placed(api, "before")
        wait_until("it is scraped", lambda: self.values(f"up{{{SELECTOR}}}") == [1])
        wait_until("the first pod is in a scrape",
                   lambda: self.values(f"sum({RECORDED[2]}_count{{{SELECTOR}}})") == [1])
        for number in range(20):
            create_pod(api, pod(f"pod-{number}", cpu="10m"))
        for number in range(20):
            placed(api, f"pod-{number}")

        for metric in RECORDED:
            for quantile in QUANTILES:
                recorded = f'cluster_quantile:{metric}:histogram_quantile{{quantile="{quantile}"}}'
                wait_until(recorded, lambda: any(0 < value < 60 for value in self.values(recorded)))
        for query in DASHBOARD:
            wait_until(query, lambda: any(value > 0 and not math.isnan(value) for value in self.values(query)))
        wait_until(QUIET, lambda: len(self.values(QUIET)) == 1)
        groups = self.ask("/api/v1/rules")["groups"]
        self.assertEqual({(rule["name"], rule["health"], rule.get("state", "")) for group in groups for rule in group["rules"]},
                         {(f"cluster_quantile:{metric}:histogram_quantile", "ok", "") for metric in RECORDED}
                         | {("KubeSchedulerDown", "ok", "inactive")})

        # Prometheus's own reading of the text: every family has its type and its help.
        metadata = self.ask("/api/v1/metadata")
        self.assertFalse([name for name, said in metadata.items() if not said[0]["help"] or said[0]["type"] == "unknown"])
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
        with opener.open(f"https://127.0.0.1:{secure}/metrics", timeout=10) as answer:
            families = {line.split()[2] for line in answer.read().decode().splitlines() if line.startswith("# TYPE ")}
        self.assertFalse(families - set(metadata), "Prometheus keeps them all")


class LinterTest(BerthTest):
    """promtool's rules for names, units and help texts: it reports nothing, even about upstream's names."""

    def lint(self, binary: str, text: bytes) -> str:
        done = subprocess.run([binary, "check", "metrics"], input=text, capture_output=True, timeout=60)
        return (done.stdout + done.stderr).decode()

    def test_the_linter_finds_nothing(self):
        binary = program(self, "promtool", "/usr/bin/promtool")
        _, api = self.api_server(1)
        berth = Process(self, "run", "--master", api.url, "--metrics-bind-address=127.0.0.1:0", "--leader-elect-retry-period=1s")
        metrics = Metrics(berth)
        # Evictions, too: a pod that takes the whole node, and one of higher priority.
        api.create("/apis/scheduling.k8s.io/v1/priorityclasses",
                   {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000})
        node = api.get("/api/v1/nodes")["items"][0]
        most = f"{int(float(node['status']['allocatable']['cpu']) * 1000) - 100}m"
        create_pod(api, pod("low", cpu=most))
        placed(api, "low")
        create_pod(api, pod("high", cpu=most, priority=1000, priorityClassName="high"))
        metrics.wait_for(1, "scheduler_preemption_goroutines_execution_total", result="success")
        placed(api, "high")
        self.assertEqual(metrics.value("scheduler_preemption_goroutines_duration_seconds_count", result="success"), 1)
        self.assertEqual(metrics.value("scheduler_preemption_attempts_total"), 1)
        text = metrics.text().encode()
        self.assertEqual(self.lint(binary, text), "")
        # The control: promtool reports an error.
        slip = b"# HELP berth_slips A slip.\n# TYPE berth_slips counter\nberth_slips 1\n"
        self.assertRegex(self.lint(binary, text + slip), r"^berth_slips [^\n]*_total[^\n]*\n$")


if __name__ == "__main__":
    unittest.main()
