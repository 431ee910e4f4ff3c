# SPDX-License-Identifier: Apache-2.0
"""Script with a whole berth: the file decides where pods go, new versions are loaded, bad ones are not, and an error at
the start is one line."""

import os
import unittest
from pathlib import Path

from outside import Metrics, create_pod, placed, ready_berth, refused
from support import ROOT, Api, BerthTest, Process, pod

RELOADS = "berth_script_reloads_total"
ERRORS = "berth_script_errors_total"


def profile(arguments: str, name: str = "Script") -> str:
    return f"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: false}}
profiles:
  - schedulerName: scripted
    plugins: {{multiPoint: {{enabled: [{{name: {name}, weight: 2000}}]}}}}
    pluginConfig:
      - name: {name}
        args: {arguments}
"""


def only(node: str) -> str:
    return ('depends_on = "node"\nfunction filter(pod, node)\n'
            f'  return node.metadata.name == "{node}", "not {node}"\nend\n')


class Script(BerthTest):
    def scripted(self, api: Api, text: str, arguments: str = "{file: where.lua}") -> tuple[Process, Metrics, Path]:
        """The scheduler with this script, beside its configuration; returns its metrics and the script's path as
        well."""
        folder = self.folder()
        (folder / "where.lua").write_text(text)
        configuration = folder / "config.yaml"
        configuration.write_text(profile(arguments))
        berth, metrics = ready_berth(self, api, configuration)
        return berth, metrics, folder / "where.lua"

    def place(self, api: Api, name: str) -> str:
        create_pod(api, pod(name, scheduler="scripted"))
        return placed(api, name)

    def test_the_file_decides_and_may_change(self):
        _, api = self.api_server(3)
        berth, metrics, path = self.scripted(api, only("node-2"))
        for name in ("a", "b", "c"):
            self.assertEqual(self.place(api, name), "node-2")

        path.write_text(only("node-3"))
        metrics.wait_for(1, RELOADS, profile="scripted", result="success")
        for name in ("d", "e"):
            self.assertEqual(self.place(api, name), "node-3")

        # A bad version is reported once, and the previous one stays in use.
        path.write_text("function filter(\n")
        berth.wait_for("err", r"A file is not taken up.*where\.lua.*line 2: <name> .*expected near <eof>")
        metrics.wait_for(1, RELOADS, profile="scripted", result="error")
        self.assertEqual(self.place(api, "f"), "node-3")
        path.unlink()
        berth.wait_for("err", r"A file is not taken up.*no such file or directory")
        self.assertEqual(self.place(api, "g"), "node-3")

        # The files of a ConfigMap change like this: a link to another folder is renamed over the previous one.
        (path.parent / "v2").mkdir()
        (path.parent / "v2" / "where.lua").write_text(only("node-1"))
        os.symlink("v2/where.lua", path.parent / "new")
        os.rename(path.parent / "new", path)
        metrics.wait_for(2, RELOADS, profile="scripted", result="success")
        self.assertEqual(self.place(api, "h"), "node-1")
        self.assertEqual(berth.end(), 0)
        self.assertEqual(len([line for line in berth.lines("err") if "is not taken up" in line]), 2)

    def test_a_refused_pod_is_tried_again_with_a_new_version(self):
        _, api = self.api_server(2)
        berth, _, path = self.scripted(api, only("nowhere"))
        create_pod(api, pod("waits", scheduler="scripted"))
        self.assertRegex(refused(api, "waits", "not nowhere"), r"^0/2 nodes are available: 2 not nowhere\. ")
        path.write_text(only("node-1"))
        self.assertEqual(placed(api, "waits"), "node-1")
        self.assertEqual(berth.end(), 0)

    def test_errors_are_the_pods_errors_or_left_out(self):
        fails = 'function score(pod, node)\n  if node.metadata.name == "node-2" then error("two!") end\n  return 1\nend\n'
        _, api = self.api_server(2)
        berth, metrics, path = self.scripted(api, fails)
        create_pod(api, pod("p", scheduler="scripted"))
        said = refused(api, "p", "two!")
        self.assertIn('script "where.lua", line 2: two! (pod default/p, node node-2)', said)
        metrics.wait_for(lambda count: count >= 1, ERRORS, profile="scripted", function="score")
        path.write_text("function score(pod, node) return 1 end\n")
        placed(api, "p")
        self.assertEqual(berth.end(), 0)
        berth, metrics, _ = self.scripted(api, fails, "{file: where.lua, onError: skip}")
        self.place(api, "q")
        metrics.wait_for(lambda count: count >= 1, ERRORS, profile="scripted", function="score")
        self.assertEqual(berth.end(), 0)
        self.assertEqual(len([line for line in berth.lines("err") if "A script fails and is left out" in line]), 1)

    def test_what_is_wrong_at_the_start(self):
        folder = self.folder()
        scripts = {
            "syntax.lua": "function filter(pod, node)\n  return node.metadata.labels.zone = 'a'\nend\n",
            "empty.lua": "",
            "loop.lua": "while true do end",
            "typo.lua": "function filter(pod, node) return node.metadata.lable == 'a' end",
            "capital.lua": "function Filter(pod, node) return true end",
            "os.lua": "function filter(pod, node) return os.time() > 0 end",
            "string.lua": "function filter(pod, node) return 'yes' end",
        }
        for name, text in scripts.items():
            (folder / name).write_text(text)
        plugin = r'berth: --config .*config\.yaml: initializing plugin "Script": '
        cases = {
            "{file: syntax.lua}": plugin + r"""script "syntax\.lua", line 2: 'end' expected .* near '='$""",
            "{file: empty.lua}": plugin + r'script "empty\.lua": has none of the functions filter\(pod, node\), ',
            "{file: loop.lua}": plugin + r'script "loop\.lua", line 1: over 100000 instructions ',
            "{file: typo.lua}": plugin + r'script "typo\.lua", line 1: node\.metadata has no field "lable", but name, ',
            "{file: string.lua}": plugin + r'script "string\.lua": filter returned a string: want true, or false and a reason ',
            "{file: capital.lua}": plugin + r'script "capital\.lua": has a global "Filter": want filter$',
            "{file: os.lua}": plugin + r"""script "os\.lua", line 1: attempt .* \(global 'os'\): scripts have no "os" \(pod""",
            "{file: missing.lua}": plugin + r".*/missing\.lua: no such file or directory$",
            "{}": plugin + r'plugin "Script": args\.file: Required value: or the script itself in "source"$',
            "{file: a.lua, source: b}": plugin + r'plugin "Script": args\.source: Forbidden: ',
            "{sauce: b}": plugin + r'plugin "Script": .*sauce',
            "{source: '', file: [a]}": plugin + r'plugin "Script": .*args\.file',
        }
        for arguments, want in cases.items():
            with self.subTest(arguments=arguments):
                (folder / "config.yaml").write_text(profile(arguments))
                berth = Process(self, "run", "--master", "http://127.0.0.1:1", "--config", str(folder / "config.yaml"))
                self.assertEqual(berth.wait(), 2, berth.lines("err"))
                self.assertEqual(len(berth.lines("err")), 1, berth.lines("err"))
                self.assertRegex(berth.lines("err")[0], want)

    def test_the_page_begins_with_the_cheapest_node(self):
        _, api = self.api_server(5)
        for i, price in enumerate(("0.40", "0.20", "0.05", "0.10", "1.60"), 1):
            status, answer = api.call("PATCH", f"/api/v1/nodes/node-{i}", {"metadata": {"labels": {"price": price}}},
                                      content_type=Api.MERGE_PATCH)
            self.assertEqual(status, 200, answer)
        page = (ROOT / "docs" / "plugins" / "lua.md").read_text()
        berth, _, _ = self.scripted(api, page.partition("```lua\n")[2].partition("```")[0])
        for i in range(5):
            self.assertEqual(self.place(api, f"cheap-{i}"), "node-3")
        self.assertEqual(berth.end(), 0)

    def test_the_example(self):
        _, api = self.api_server(3)
        for node in ("node-1", "node-2"):
            status, answer = api.call("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"labels": {"team": "blue"}}},
                                      content_type=Api.MERGE_PATCH)
            self.assertEqual(status, 200, answer)
        example = ROOT / "examples" / "script"
        page = (ROOT / "docs" / "plugins" / "lua.md").read_text()
        self.assertIn("```lua\n" + (example / "spread-by-team.lua").read_text() + "```", page)
        self.assertIn((example / "profile.yaml").read_text().partition("profiles:")[2], page)
        folder = self.folder()
        for name in ("spread-by-team.lua", "profile.yaml"):
            (folder / name).write_text((example / name).read_text())
        berth, _ = ready_berth(self, api, folder / "profile.yaml")
        where = []
        for i in range(5):
            one = pod(f"blue-{i}", scheduler="teams")
            one["metadata"]["labels"] = {"team": "blue"}
            create_pod(api, one)
            if i < 4:
                where.append(placed(api, f"blue-{i}"))
        self.assertEqual(sorted(where), ["node-1", "node-1", "node-2", "node-2"])
        self.assertRegex(refused(api, "blue-4", "enough pods"),
                         r"^0/3 nodes are available: 1 node\(s\) belong to another team, "
                         r"2 node\(s\) have enough pods of this team\. ")
        script = folder / "spread-by-team.lua"
        script.write_text(script.read_text().replace("count < args.perNode", "count < args.perNode + 1"))
        self.assertIn(placed(api, "blue-4"), ("node-1", "node-2"))
        self.assertEqual(berth.end(), 0)


if __name__ == "__main__":
    unittest.main()
