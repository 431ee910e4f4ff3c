# SPDX-License-Identifier: Apache-2.0
"""The log of `berth run` for readers of kube-scheduler's log: regular expressions of log collectors, kube-scheduler's
messages, and --vmodule by its sources."""

import json
import re
import signal
import subprocess
import unittest

from outside import create_pod, placed
from support import Api, BerthTest, Process, berth_binary, clean_environment, pod, wait_until

HEADER = r"[IWEF]\d{4} \d{2}:\d{2}:\d{2}\.\d{6}\s+\d+ [^ :]+:\d+\] "
# Each of these must parse every line.
PARSERS = {
    "Fluent Bit and Promtail": r"^(?P<level>[IWEF])(?P<month>\d{2})(?P<day>\d{2}) (?P<time>\d{2}:\d{2}:\d{2}\.\d+)\s+"
                               r"(?P<threadid>\d+) (?P<file>[^ :]+):(?P<line>\d+)\] (?P<message>.*)$",
    "Fluentd": r"^(?P<severity>\w)(?P<time>\d{4} [^\s]*)\s+(?P<pid>\d+)\s+(?P<file>[^ \]]+):(?P<line>\d+)\] (?P<message>.*)",
    "Vector": r"^\s*(?P<level>\w)(?P<timestamp>(?P<month>\d{2})\d{2}\s\d{2}:\d{2}:\d{2}\.\d{6})\s+(?P<id>\d+)\s"
              r"(?P<file>.+):(?P<line>\d+)\]\s(?P<message>.*?)\s*$",
}


def run_program(*command: str) -> tuple[int, str]:
    """Returns the exit status and standard error."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, env=clean_environment(), check=False)
    return done.returncode, done.stderr


class Log(BerthTest):
    def placed_and_refused(self, *arguments: str) -> Process:
        """A scheduler that has bound the pod `fits`, and has refused `large`."""
        _, api = self.api_server(2)
        berth = Process(self, "run", "--master", api.url, "--leader-elect=false", *arguments)
        create_pod(api, pod("large", cpu="1000"))
        create_pod(api, pod("fits"))
        placed(api, "fits")
        wait_until("the other is refused", lambda: self.reason(api, "large") == "Unschedulable")
        self.assertEqual(berth.end(), 0)
        return berth

    def reason(self, api: Api, name: str) -> str:
        for item in api.pods():
            if item["metadata"]["name"] == name:
                return next((condition.get("reason", "") for condition in item.get("status", {}).get("conditions", [])
                             if condition["type"] == "PodScheduled"), "")
        return ""

    def test_parsers_of_klog_and_upstreams_messages(self):
        berth = self.placed_and_refused("-v=10")
        lines = berth.lines("err")
        for line in lines:
            for name, parser in PARSERS.items():
                match = re.match(parser, line)
                self.assertTrue(match, f"{name}: {line}")
                self.assertRegex(match["file"], r"^[a-z0-9_]+\.(cc|h)$", f"{name}: {line}")
                self.assertRegex(match["message"], r'^".*', f"{name}: {line}")
        text = "\n".join(lines)
        for wanted in (r'"Starting Kubernetes Scheduler" version="v1\.36\.3\+berth\.[^"]+"',
                       r'"Attempting to schedule pod" pod="default/fits"$',
                       r'"Plugin scored node for pod" pod="default/fits" plugin="NodeResourcesFit" node="node-[12]" score=\d+$',
                       r'"Calculated node\'s final score for pod" pod="default/fits" node="node-[12]" score=\d+$',
                       r'"Successfully bound pod to node" pod="default/fits" node="node-[12]" evaluatedNodes=2 feasibleNodes=2$',
                       r'"Unable to schedule pod; no fit; waiting" pod="default/large" err="0/2 nodes are available: '
                       r'2 Insufficient cpu\..*"$'):
            self.assertRegex(text, re.compile("^I" + HEADER[len("[IWEF]"):] + wanted, re.MULTILINE))
        final = {match[1]: int(match[2]) for match in re.finditer(
            r'final score for pod" pod="default/fits" node="([^"]+)" score=(\d+)', text)}
        parts = {}
        for match in re.finditer(r'"Plugin scored node for pod" pod="default/fits" .* node="([^"]+)" score=(\d+)', text):
            parts[match[1]] = parts.get(match[1], 0) + int(match[2])
        self.assertEqual(final, parts)

    def test_levels_and_upstreams_sources(self):
        cases = [
            ([], {"Starting Kubernetes"}),
            (["-v=2"], {"Starting Kubernetes", "Successfully bound", "no fit; waiting"}),
            (["-v=3"], {"Starting Kubernetes", "Successfully bound", "no fit; waiting", "Attempting to schedule pod",
                        "Add event for unscheduled pod", 'event="ScheduleAttemptFailure" queue="Unschedulable"'}),
            (["--vmodule=scheduler=3"], {"Starting Kubernetes", "Successfully bound", "no fit; waiting",
                                         "Attempting to schedule pod", "Add event for unscheduled pod"}),
            (["--vmodule=schedule_one=3"],
             {"Starting Kubernetes", "Successfully bound", "no fit; waiting", "Attempting to schedule pod"}),
            (["--vmodule=schedule_*=1,schedule_one=9"], {"Starting Kubernetes"}),
            (["--vmodule=scheduler=4"], {"Starting Kubernetes", "Successfully bound", "no fit; waiting",
                                         "Attempting to schedule pod", '"Placed"', '"Not placed"', "Add event for unscheduled pod"}),
            (["--vmodule=eventhandlers=3"], {"Starting Kubernetes", "Add event for unscheduled pod"}),
            (["--vmodule=scheduling_queue=3"], {"Starting Kubernetes", 'event="ScheduleAttemptFailure" queue="Unschedulable"'}),
            (["--vmodule=active_queue=5"], {"Starting Kubernetes", 'queue="Active"'}),
        ]
        known = set().union(*(wanted for _, wanted in cases)) | {"Plugin scored node"}
        for arguments, wanted in cases:
            with self.subTest(arguments=arguments):
                text = "\n".join(self.placed_and_refused(*arguments).lines("err"))
                self.assertEqual({message for message in known if message in text}, wanted, text)

    def test_a_log_that_nobody_reads_stops_nothing(self):
        """All pods are bound while the pipe is full; once it is read, the log is complete."""
        _, api = self.api_server(4)
        berth = subprocess.Popen([berth_binary(), "run", "--master", api.url, "--leader-elect=false", "-v=10"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                 env=clean_environment())
        self.addCleanup(berth.stderr.close)
        self.addCleanup(lambda: berth.poll() is None and berth.kill())
        # A pipe holds 64 KiB; the scores of one pod on four nodes take 5 KiB.
        names = [f"p{number}" for number in range(80)]
        for name in names:
            create_pod(api, pod(name, cpu="10m"))
        for name in names:
            placed(api, name)
        berth.send_signal(signal.SIGTERM)
        text = berth.stderr.read()
        self.assertEqual(berth.wait(30), 0)
        self.assertGreater(len(text), 3 * 65536)
        for name in names:
            self.assertIn(f'"Successfully bound pod to node" pod="default/{name}"', text)
        self.assertRegex(text.splitlines()[-1], '"Ended"')

    def test_json(self):
        berth = self.placed_and_refused("-v=3", "--logging-format=json")
        entries = [json.loads(line) for line in berth.lines("err")]
        for entry in entries:
            self.assertRegex(entry["caller"], r"^[a-z0-9_]+/[a-z0-9_]+\.(cc|h):\d+$", entry)
            self.assertEqual(list(entry)[:4], ["ts", "logger", "caller", "msg"])
            self.assertIsInstance(entry["v"], int)
        bound = next(entry for entry in entries if entry["msg"] == "Successfully bound pod to node")
        self.assertEqual({key: bound[key] for key in ("v", "pod", "evaluatedNodes", "feasibleNodes")},
                         {"v": 2, "pod": "default/fits", "evaluatedNodes": 2, "feasibleNodes": 2})

    def test_split_streams(self):
        _, api = self.api_server(0)
        berth = Process(self, "run", "--master", api.url, "--leader-elect=false", "--feature-gates=LoggingAlphaOptions=true",
                        "--log-text-split-stream", "--kubernetes-version=1.36")
        berth.wait_for("out", r"^I.*Starting Kubernetes Scheduler")
        self.assertEqual(berth.end(), 0)
        self.assertFalse([line for line in berth.lines("err") if line.startswith("I")])
        self.assertFalse([line for line in berth.lines("out") if not line.startswith("I")])

    def test_what_ends_the_program_is_a_line_of_the_log(self):
        """As with kube-scheduler: plain text while flags are parsed, a log line from then on."""
        link = self.folder() / "kube-scheduler"
        link.symlink_to(berth_binary())
        cases = [
            (["--nope"], r"^Error: unknown flag --nope .*\n$"),
            (["--config=/nonexistent"], r'^E' + HEADER[len("[IWEF]"):] + r'"command failed" err=".*/nonexistent.*"\n$'),
            (["--feature-gates=Nope=true"], r'^E' + HEADER[len("[IWEF]"):] + r'"command failed" err=".*Nope.*"\n$'),
            (["--config=/nonexistent", "--logging-format=json"],
             r'^\{"ts":[\d.]+,"logger":"app","caller":"[a-z]+/[a-z_]+\.cc:\d+","msg":"command failed","err":".*/nonexistent.*"\}\n$'),
        ]
        for arguments, wanted in cases:
            with self.subTest(arguments=arguments):
                status, said = run_program(link, *arguments)
                self.assertEqual(status, 1)
                self.assertRegex(said, wanted)
        # Errors of `berth run` are plain text on a terminal, unless JSON is requested.
        self.assertRegex(run_program(berth_binary(), "run", "--config=/nonexistent")[1], r"^berth: .*/nonexistent.*\n$")
        self.assertRegex(run_program(berth_binary(), "run", "--config=/nonexistent", "--logging-format=json")[1], r"^\{")


if __name__ == "__main__":
    unittest.main()
