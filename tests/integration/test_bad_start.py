# SPDX-License-Identifier: Apache-2.0
"""What berth says when it cannot begin: one clear line, at once, and exit status 2."""

import base64
import re
import signal
import subprocess
import unittest

from support import BerthTest, Certificates, Process, berth_binary, clean_environment, free_port, node_of, pod, wait_until

TIME_LIMIT_S = 5.0
LINES_MAX = 2


def kubeconfig(cluster: str = "server: http://127.0.0.1:1", user: str = "{}", context: str = "c") -> str:
    return f"""apiVersion: v1
kind: Config
current-context: {context}
clusters: [{{name: k, cluster: {{{cluster}}}}}]
users: [{{name: u, user: {user}}}]
contexts: [{{name: c, context: {{cluster: k, user: u}}}}]
"""


CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class BadStart(BerthTest):
    def refused(self, arguments: list, *patterns: str) -> None:
        """Checks that it ends by itself with status 2, after a few lines that match every pattern."""
        arguments = [str(argument) for argument in arguments]
        done = subprocess.run([berth_binary(), *arguments], capture_output=True, text=True, errors="replace",
                              timeout=TIME_LIMIT_S, env=clean_environment(), stdin=subprocess.DEVNULL)
        said = done.stderr.splitlines()
        self.assertEqual(done.returncode, 2, said)
        self.assertTrue(1 <= len(said) <= LINES_MAX, said)
        self.assertEqual(done.stdout, "")
        for pattern in patterns:
            self.assertRegex(done.stderr, pattern)

    def test_command_line(self):
        cases = [
            ("no subcommand", [], "subcommand is missing", "run, apiserver"),
            ("no subcommand of another", ["price"], "price: a subcommand is missing", "list, set"),
            ("unknown subcommand", ["schedule"], 'no subcommand "schedule"', "run, apiserver"),
            ("subcommand with a slip", ["dmo"], 'no subcommand "dmo"; the nearest is demo'),
            ("unknown flag", ["run", "--kubeconfg", "x"], "unknown flag --kubeconfg; the nearest is --kubeconfig "),
            ("unknown flag, far from all", ["run", "--zzz=1", "--yyy"], "unknown flag --zzz "),
            ("argument too many", ["run", "now"], 'unexpected argument "now"'),
            ("unknown feature gate", ["run", "--feature-gates=NodeDeclaredFeature=true"],
             "unrecognized feature gate: NodeDeclaredFeature; the nearest is NodeDeclaredFeatures"),
            ("unknown feature gate, far from all", ["run", "--feature-gates=Foo=true"], r"unrecognized feature gate: Foo( |$)"),
            ("feature that is not there", ["run", "--feature-gates=GenericWorkload=true,GangScheduling=true"], "GangScheduling=true cannot be had"),
            ("log of another format", ["run", "--logging-format=yaml"], "--logging-format", "json"),
            ("scheduler whose lease nobody could make",
             ["run", "--master", "http://127.0.0.1:1", "--scheduler-name", "My_Scheduler"], "--scheduler-name"),
            ("scheduler without a name", ["run", "--master", "http://127.0.0.1:1", "--scheduler-name", ""], "--scheduler-name"),
            ("unknown flag of demo", ["demo", "--server"], "--server"),
            ("flag of another command", ["apiserver", "--kubeconfig", "x"], "--kubeconfig"),
            ("flag without its value", ["run", "--kubeconfig"], "--kubeconfig"),
            ("renewals that may fail too long", ["run", "--master", "http://127.0.0.1:1", "--leader-elect-renew-deadline=20s"],
             re.escape("leaderElection.leaseDuration"), "RenewDeadline"),
            ("tries too far apart", ["run", "--master", "http://127.0.0.1:1", "--leader-elect-retry-period=9s"],
             re.escape("leaderElection: renewDeadline must be greater than retryPeriod*JitterFactor")),
            ("lease of no duration", ["run", "--master", "http://127.0.0.1:1", "--leader-elect-lease-duration=soon"],
             "--leader-elect-lease-duration", "soon"),
            ("lock of another kind", ["run", "--master", "http://127.0.0.1:1", "--leader-elect-resource-lock=endpoints"],
             re.escape("leaderElection.resourceLock"), "leases"),
            ("leader election, no boolean", ["run", "--master", "http://127.0.0.1:1", "--leader-elect=maybe"], "--leader-elect"),
            ("secure port beyond all", ["run", "--master", "http://127.0.0.1:1", "--secure-port", "102590"], "--secure-port", "65535"),
            ("bind address, no address", ["run", "--master", "http://127.0.0.1:1", "--bind-address", "here"], "--bind-address", "here"),
            ("certificate without its key", ["run", "--master", "http://127.0.0.1:1", "--tls-cert-file", "x"],
             "--tls-private-key-file"),
            ("secure port, no number", ["run", "--master", "http://127.0.0.1:1", "--secure-port", "https"],
             '--secure-port: "https" is no number'),
            ("no nodes", ["demo", "--nodes", "0"], "--nodes", "1"),
            ("negative nodes", ["demo", "--nodes", "-1"], "--nodes"),
            ("nodes, no number", ["apiserver", "--nodes", "three"], "--nodes", "three"),
            ("kubelets without nodes", ["kubelets", "--nodes", "0", "--master", "http://127.0.0.1:1"], "--nodes"),
            ("no replicas", ["demo", "--replicas", "0"], "--replicas"),
            ("seed, no number", ["run", "--seed", "lucky"], "--seed"),
            ("negative seed", ["run", "--master", "http://127.0.0.1:1", "--seed=-1"], '--seed: "-1" should be a number'),
            ("rate that is none", ["run", "--master", "http://127.0.0.1:1", "--kube-api-qps", "nan"], "--kube-api-qps"),
            ("address without a port", ["run", "--master", "http://127.0.0.1:1", "--metrics-bind-address", "localhost"],
             "--metrics-bind-address", "HOST:PORT"),
            ("address with a port beyond all", ["apiserver", "--listen", "127.0.0.1:99999"], "--listen", "65535"),
            ("master of another scheme", ["run", "--master", "ftp://127.0.0.1"], "ftp://127.0.0.1", "http"),
            ("master without a host", ["run", "--master", "http://"], "master", "http://"),
            ("no server at all", ["run"], "--kubeconfig", "--master", "KUBERNETES_SERVICE_HOST"),
        ]
        for name, arguments, *patterns in cases:
            with self.subTest(name):
                self.refused(arguments, *patterns)

    def test_kubeconfig(self):
        folder = self.folder()
        missing_ca = "server: https://127.0.0.1:1, certificate-authority: /nowhere/ca.crt"
        garbage = base64.b64encode(b"this is no certificate").decode()
        cases = [
            ("a folder", None, [], "cannot be read|folder|directory"),
            ("empty", "", [], "current-context|clusters|empty"),
            ("no YAML", "clusters: [a, {b: 'c\n", [], "line|YAML"),
            ("garbage", "\x00\x01\x02{{{ no yaml", [], "map|YAML|line"),
            ("text", "just words", [], "map|should be"),
            ("a list", "- a\n- b\n", [], "map|should be"),
            ("another kind", "apiVersion: v1\nkind: Pod\n", [], "kind", "Config"),
            ("context that is not there", kubeconfig(context="nope"), [], "nope", '"c"'),
            ("--context that is not there", kubeconfig(), ["--context", "other"], "other", '"c"'),
            ("no server", kubeconfig(cluster=""), [], "server"),
            ("server that is no URL", kubeconfig(cluster="server: 'ftp://x'"), [], "server", "http"),
            ("CA file that is not there", kubeconfig(cluster=missing_ca), [], "/nowhere/ca.crt", "certificate-authority"),
            ("inline CA that is no certificate",
             kubeconfig(cluster=f"server: https://127.0.0.1:1, certificate-authority-data: {garbage}"), [], "certificate-authority-data"),
            ("inline CA that is no base64",
             kubeconfig(cluster="server: https://127.0.0.1:1, certificate-authority-data: '%%%'"), [],
             "certificate-authority-data", "base64"),
            ("inline client certificate that is none",
             kubeconfig(cluster="server: https://127.0.0.1:1",
                        user=f"{{client-certificate-data: {garbage}, client-key-data: {garbage}}}"), [], "client-certificate-data"),
            ("client certificate without its key",
             kubeconfig(cluster="server: https://127.0.0.1:1", user=f"{{client-certificate-data: {garbage}}}"), [],
             "client-key"),
            ("token file that is not there", kubeconfig(user="{tokenFile: /nowhere/token}"), [], "tokenFile", "/nowhere/token"),
            ("token of the wrong type", kubeconfig(user="{token: [1]}"), [], "token", "string"),
        ]
        for number, (name, text, more, *patterns) in enumerate(cases):
            with self.subTest(name):
                path = folder / f"kubeconfig-{number}"
                path.mkdir() if text is None else path.write_text(text)
                self.refused(["run", "--kubeconfig", path, *more], re.escape(str(path)), *patterns)
        for command in ("run", "kubelets"):
            with self.subTest(f"{command}: no such file"):
                self.refused([command, "--kubeconfig", folder / "absent"], re.escape(str(folder / "absent")))

    def test_expired_client_certificate(self):
        folder = self.folder()
        Certificates(folder).sign("client", is_expired=True)
        path = folder / "kubeconfig"
        path.write_text(kubeconfig(cluster="server: https://127.0.0.1:1, certificate-authority: ca.crt",
                                   user="{client-certificate: client.crt, client-key: client.key}"))
        self.refused(["run", "--kubeconfig", path], re.escape(str(path)), "client-certificate", "expired", "2020-02-01")

    def test_configuration(self):
        folder = self.folder()
        fit = CONFIG + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: %s}}}]}]\n"
        cases = [
            ("empty", "", "apiVersion|kind|empty"),
            ("garbage", "\x00\x01{{{", "line|YAML|yaml"),
            ("text", "just words", "map|object"),
            ("unknown field", CONFIG + "profile: []\n", "profile"),
            ("unknown field, deep", CONFIG + "profiles:\n- schedulerName: a\n  plugins: {score: {enable: []}}\n",
             re.escape("profiles[0].plugins.score.enable")),
            ("wrong type", CONFIG + "parallelism: many\n", "parallelism", "integer|number"),
            ("list for a map", CONFIG + "leaderElection: []\n", "leaderElection"),
            ("lease too short", CONFIG + "leaderElection: {leaseDuration: 5s}\n", re.escape("leaderElection.leaseDuration"), "RenewDeadline"),
            ("wrong apiVersion", CONFIG.replace("/v1", "/v1beta3"), "apiVersion", re.escape("kubescheduler.config.k8s.io/v1")),
            ("no kind", "apiVersion: kubescheduler.config.k8s.io/v1\n", "kind", "KubeSchedulerConfiguration"),
            ("unknown plugin", CONFIG + "profiles: [{plugins: {score: {enabled: [{name: NodeResourceFit}]}}}]\n", "NodeResourceFit"),
            ("unknown strategy", fit % "Most", re.escape("scoringStrategy.type"), "MostAllocated"),
            ("weight out of range",
             CONFIG + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, "
                      "resources: [{name: cpu, weight: 101}]}}}]}]\n", "resources", "weight", "101"),
            ("unknown argument", CONFIG + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {strategy: x}}]}]\n", "strategy"),
            ("two profiles of one name", CONFIG + "profiles: [{schedulerName: a}, {schedulerName: a}]\n",
             re.escape("profiles[1].schedulerName"), "Duplicate"),
            ("back-off the wrong way round", CONFIG + "podInitialBackoffSeconds: 5\npodMaxBackoffSeconds: 1\n",
             "podMaxBackoffSeconds"),
            ("two queue sorts", CONFIG + "profiles: [{plugins: {queueSort: {enabled: [{name: PrioritySort}, {name: Script}]}}}]\n",
             re.escape("profiles[0].plugins.queueSort.Enabled"), "only one queue sort plugin"),
            ("another queue sort in each profile",
             CONFIG + "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {enabled: [{name: Script}], "
                      "disabled: [{name: '*'}]}}}]\n", re.escape("profiles[1].plugins.queueSort: "), "must be the same for all profiles"),
            ("field twice", CONFIG + "parallelism: 1\nparallelism: 2\n", "parallelism"),
        ]
        for number, (name, text, *patterns) in enumerate(cases):
            with self.subTest(name):
                path = folder / f"config-{number}.yaml"
                path.write_text(text)
                self.refused(["run", "--master", "http://127.0.0.1:1", "--config", path], re.escape(str(path)), *patterns)
        for name, path in (("no such file", folder / "absent.yaml"), ("a folder", folder)):
            with self.subTest(name):
                self.refused(["run", "--master", "http://127.0.0.1:1", "--config", path], "--config", re.escape(str(path)))
        with self.subTest("with --scheduler-name"):
            path = folder / "good.yaml"
            path.write_text(CONFIG + "leaderElection: {leaderElect: false}\n")
            self.refused(["run", "--master", "http://127.0.0.1:1", "--config", path, "--scheduler-name", "a"],
                         "--scheduler-name", "--config")

    def test_flags_that_upstream_users_have(self):
        good = [["--leader-elect"], ["--leader-elect=true", "--leader-elect-lease-duration=30s", "--leader-elect-renew-deadline=20s",
                 "--leader-elect-retry-period=3s", "--leader-elect-resource-lock=leases", "--leader-elect-resource-name=mine",
                 "--leader-elect-resource-namespace=default"], ["--leader-elect=false"], ["--leader_elect=false"], ["--secure-port=0"],
                ["--secure_port", "0"], ["--v=2"], ["-v", "2"], ["-v=2"], ["--kube-api-qps=100", "--kube-api-burst=200"],
                ["--kube-api-qps=-1", "--logging-format=json"], ["--tls-min-version=VersionTLS13"]]
        for flags in good:
            with self.subTest(" ".join(flags)):
                process = Process(self, "run", "--master", f"http://127.0.0.1:{free_port()}", *flags)
                process.wait_for("err", "Waiting for the API server's version")
                self.assertEqual(process.end(), 0, process.lines("err"))

    def test_kubeconfig_from_the_environment(self):
        _, api = self.api_server(1)
        path = self.file("kubeconfig", kubeconfig(cluster=f"server: '{api.url}'"))
        process = Process(self, "run", environment={"KUBECONFIG": str(path)})
        api.create("/api/v1/namespaces/default/pods", pod("p"))
        wait_until("the pod is bound", lambda: node_of(api.pods()[0]))
        self.assertEqual(process.end(), 0)

    def test_plugin_test_ends_with_control_c(self):
        """Its output is larger than a pipe that is not read."""
        cases = "".join(f"- {{name: case {i}, pod: {{name: p}}, filter: {{a: pass}}}}\n" for i in range(3000))
        path = self.file("many.yaml", f"plugin: NodeLabelMatch\nnodes: [{{name: a}}]\ncases:\n{cases}")
        command = [berth_binary(), "plugin", "test", str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=clean_environment()) as process:
            try:
                process.stdout.read(1)
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(10), -signal.SIGINT)
            finally:
                process.kill()

    def test_help_and_version(self):
        for arguments in (["--help"], ["run", "--help"], ["demo", "--help"], ["apiserver", "--help"], ["kubelets", "--help"],
                          ["--version"]):
            with self.subTest(" ".join(arguments)):
                done = subprocess.run([berth_binary(), *arguments], capture_output=True, text=True, timeout=TIME_LIMIT_S)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("berth", done.stdout)


if __name__ == "__main__":
    unittest.main()
