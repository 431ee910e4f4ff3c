# SPDX-License-Identifier: Apache-2.0
"""An author's own plugin: examples/own-plugin, built outside of the tree with an installed berth, and shared
objects."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from support import ROOT, Api, BerthTest, Process, clean_environment, node_of, pod, wait_until

EXAMPLE = ROOT / "examples" / "own-plugin"
BUILD = Path(os.environ["BERTH_BUILD"])
PODS = "/api/v1/namespaces/default/pods"
TEAM = "example.com/team"

# Plugins that must not be loaded, one with a name that is taken, and one that fails for some pods.
BAD_PLUGINS = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(bad LANGUAGES CXX)
find_package(berth REQUIRED COMPONENTS plugin)
berth_add_plugin(aborting aborting.cc)
berth_add_plugin(crashing crashing.cc)
berth_add_plugin(newer newer.cc)
berth_add_plugin(taken taken.cc)
target_compile_definitions(newer PRIVATE BERTH_PLUGIN_ABI_VERSION=999)
""",
    "aborting.cc": """#include <berth/plugin.h>
#include <cstdlib>
[[maybe_unused]] const bool kAborts = (std::abort(), true);
BERTH_PLUGIN("Aborting", [](berth::PluginArgs&, berth::Handle&) { return std::unique_ptr<berth::Plugin>(); });
""",
    # Loads without an error, and crashes or ends the process when it is called.
    "crashing.cc": """#include <berth/plugin.h>
#include <csignal>
#include <cstdlib>
#include <unistd.h>
class Crashing : public berth::FilterPlugin {
 public:
  std::string_view Name() const override { return "Crashing"; }
  berth::Status Filter(const berth::Cycle&, const berth::PodInfo& pod, const berth::NodeInfo&) const override {
    volatile int* null = nullptr;
    const std::string& name = pod.name;
    if (name == "pointer") *null = 1;
    if (name.starts_with("abort")) std::abort();
    if (name == "exit") std::exit(0);
    while (name == "hang") sleep(1);
    if (name == "deep") return Deep(1) > 0 ? berth::Status() : berth::Status::Unschedulable("deep");
    return {};
  }
 private:
  static int Deep(int depth) {
    volatile char room[4096] = {};
    room[depth % 4096] = 1;
    return depth < 0 ? 0 : Deep(depth + 1) + room[0];
  }
};
BERTH_PLUGIN("Crashing", [](berth::PluginArgs&, berth::Handle&) { return std::make_unique<Crashing>(); });
""",
    "newer.cc": """#include <berth/plugin.h>
BERTH_PLUGIN("Newer", [](berth::PluginArgs&, berth::Handle&) { return std::unique_ptr<berth::Plugin>(); });
""",
    "taken.cc": """#include <berth/plugin.h>
BERTH_PLUGIN("NodeMatch", [](berth::PluginArgs&, berth::Handle&) { return std::unique_ptr<berth::Plugin>(); });
""",
}


def run(*arguments: str) -> str:
    """The command's output, which a failure shows completely."""
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=200, env=clean_environment())
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(arguments)}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


class OwnPlugin(BerthTest):
    @classmethod
    def setUpClass(cls) -> None:
        cls.temporary = tempfile.TemporaryDirectory(prefix="berth-own-plugin-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.root = Path(cls.temporary.name)
        cls.prefix = cls.root / "prefix"
        run("cmake", "--install", str(BUILD), "--prefix", str(cls.prefix))
        cls.example = cls.root / "example"
        shutil.copytree(EXAMPLE, cls.example)
        cls.build(cls.example)
        cls.bad = cls.root / "bad"
        cls.bad.mkdir()
        for name, text in BAD_PLUGINS.items():
            (cls.bad / name).write_text(text)
        cls.build(cls.bad)
        # The folder of plugins as in the README: the build folder.
        cls.plugins = cls.example / "build"

    @classmethod
    def build(cls, folder: Path, target: str = "all") -> None:
        run("cmake", "-S", str(folder), "-B", str(folder / "build"), "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={cls.prefix}",
            f"-DCMAKE_CXX_COMPILER={os.environ['BERTH_CXX']}", "-DCMAKE_CXX_FLAGS=-O1 -Wall -Wextra -Werror")
        run("cmake", "--build", str(folder / "build"), "--target", target)

    def start(self, program: Path, *arguments: str) -> Process:
        before = os.environ["BERTH_BINARY"]
        os.environ["BERTH_BINARY"] = str(program)
        try:
            return Process(self, *arguments)
        finally:
            os.environ["BERTH_BINARY"] = before

    def refusal(self, *arguments: str, program: Path | None = None) -> str:
        """The single line that it prints before it exits with status 2."""
        process = self.start(program or self.prefix / "bin/berth", "run", "--master", "http://127.0.0.1:1", *arguments)
        self.assertEqual(process.wait(), 2, process.lines("err"))
        lines = process.lines("err")
        self.assertEqual(len(lines), 1, lines)
        return lines[0].removeprefix("berth: ")

    def place(self, program: Path, *arguments: str) -> None:
        """Four nodes, two of them with a team: the plugin decides where pods go."""
        _, api = self.api_server()
        for number, team in enumerate(["red", "blue", "", ""], 1):
            api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node",
                                         "metadata": {"name": f"n{number}", "labels": {TEAM: team} if team else {}},
                                         "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"}}})
        berth = self.start(program, "run", "--master", api.url, "--config", str(self.example / "profile.yaml"), *arguments)
        berth.wait_for("err", "Starting")
        wanted = {}
        for number in range(12):
            team = ["red", "blue", ""][number % 3]
            body = pod(f"p{number}", scheduler="node-match")
            body["metadata"]["labels"] = {TEAM: team} if team else {}
            api.create(PODS, body)
            wanted[f"p{number}"] = {"red": {"n1"}, "blue": {"n2"}, "": {"n3", "n4"}}[team]
        body = pod("lost", scheduler="node-match")
        body["metadata"]["labels"] = {TEAM: "green"}
        api.create(PODS, body)

        placed = wait_until("all are bound", lambda: (p := self.placements(api)) and len(p) == 12 and p)
        for name, nodes in wanted.items():
            self.assertIn(placed[name], nodes, name)
        message = wait_until("the lost one is refused", lambda: self.message(api, "lost"))
        self.assertIn(f"4 node(s) didn't have the pod's {TEAM}", message)
        # The event for which the plugin has registered.
        status, _ = api.call("PATCH", "/api/v1/nodes/n4", {"metadata": {"labels": {TEAM: "green"}}}, Api.MERGE_PATCH)
        self.assertEqual(status, 200)
        self.assertEqual(wait_until("it is tried again", lambda: node_of(api.get(f"{PODS}/lost"))), "n4")
        self.assertEqual(berth.end(signal.SIGTERM), 0)

    @staticmethod
    def placements(api: Api) -> dict[str, str]:
        return {p["metadata"]["name"]: node_of(p) for p in api.pods() if node_of(p)}

    @staticmethod
    def message(api: Api, name: str) -> str:
        conditions = api.get(f"{PODS}/{name}").get("status", {}).get("conditions", [])
        return next((c.get("message", "") for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"), "")

    def test_a_scheduler_of_ones_own(self) -> None:
        self.place(self.plugins / "own-scheduler")

    def test_a_shared_object_that_crashes(self) -> None:
        """`berth plugin test` reports the file and the case, and fails."""
        plugins = self.root / "crashing"
        plugins.mkdir()
        library = plugins / "crashing.so"
        shutil.copy(self.bad / "build/crashing.so", library)
        case = "plugin: Crashing\nnodes: [{{name: a}}]\npod: {{name: {0}}}\nfilter: {{a: pass}}\n"
        for pod_name, want in (("pointer", "crashes (signal 11, Segmentation fault)"), ("abort", "crashes (signal 6, Aborted)"),
                               ("deep", "crashes (signal 11, Segmentation fault)"), ("exit", "ends the process"), ("well", "")):
            path = self.file(f"{pod_name}.yaml", case.format(pod_name))
            done = subprocess.run([str(self.prefix / "bin/berth"), "plugin", "test", "--plugin-dir", str(plugins), str(path)],
                                  capture_output=True, text=True, timeout=60, env=clean_environment())
            self.assertEqual(done.returncode, 1 if want else 0, done.stderr)
            self.assertEqual(done.stderr, f'berth: {library} {want}: in the case "{pod_name}" of {path}\n' if want else "")

    def test_a_shared_object(self) -> None:
        self.place(self.prefix / "bin/berth", "--plugin-dir", str(self.plugins))

    def test_the_demo_takes_both(self) -> None:
        for program, arguments in [(self.plugins / "own-scheduler", []),
                                   (self.prefix / "bin/berth", ["--plugin-dir", str(self.plugins)])]:
            demo = self.start(program, "demo", "--config", str(self.example / "profile.yaml"), *arguments)
            self.assertEqual(demo.wait(), 0, demo.lines("err"))
            self.assertTrue(demo.find("out", r"schedulerName: node-match"), demo.lines("out"))

    def test_its_own_tests(self) -> None:
        self.assertIn("100% tests passed, 0 tests failed out of 1",
                      run("ctest", "--test-dir", str(self.plugins), "--output-on-failure"))
        # A wrong plugin fails its cases.
        wrong = self.root / "wrong"
        shutil.copytree(EXAMPLE, wrong)
        source = wrong / "node_match.cc"
        source.write_text(source.read_text().replace("*found == *wanted", "*found != *wanted"))
        self.build(wrong, "node_match_test")
        failed = subprocess.run([wrong / "build/node_match_test"], capture_output=True, text=True, timeout=60)
        self.assertEqual(failed.returncode, 1, failed.stdout)
        self.assertIn("KeepsATeamOnItsNodes", failed.stdout)

    def test_what_is_installed(self) -> None:
        self.assertTrue((self.prefix / "share" / "man" / "man1" / "berth-explain-pod.1").is_file())
        names = sorted(str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*") if path.is_file())
        for name in ["bin/berth", "lib/libberth.a", "lib/cmake/berth/berthConfig.cmake", "include/berth/plugin.h",
                     "share/berth/best-price.yaml"]:
            self.assertIn(name, names)
        for name in names:
            self.assertRegex(name, r"^(bin/berth|lib/libberth(_testing)?\.a|lib/cmake/berth/[\w.]+|share/berth/[\w.-]+\.yaml|share/man/man1/berth[\w-]*\.1|"
                             r"include/berth/(plugin\.h|(base|api|framework)/\w+\.h|testing/(builders|small_cluster)\.h))$")
        # Installed files must not contain paths of the build.
        for path in [*self.prefix.rglob("*.cmake"), *self.prefix.rglob("*.h")]:
            for place in (BUILD, ROOT):
                self.assertNotIn(str(place), path.read_text(), path)

    def test_arguments_are_reported_by_their_path(self) -> None:
        wrong = self.file("wrong.yaml", (self.example / "profile.yaml").read_text().replace("label:", "lable:"))
        want = (f'--config {wrong}: initializing plugin "NodeMatch": plugin "NodeMatch": [args.label: Required value, '
                'args.lable: unknown field; known here: apiVersion, kind, label, othersScore]')
        self.assertEqual(self.refusal("--config", str(wrong), program=self.plugins / "own-scheduler"), want)
        self.assertEqual(self.refusal("--config", str(wrong), "--plugin-dir", str(self.plugins)), want)
        spaced = self.file("spaced.yaml", (self.example / "profile.yaml").read_text().replace(TEAM, '"a b"'))
        self.assertIn('args.label: Invalid value: "a b": must be the key of a label',
                      self.refusal("--config", str(spaced), "--plugin-dir", str(self.plugins)))

    def test_unknown_names_lead_to_the_nearest(self) -> None:
        typo = self.file("typo.yaml", (self.example / "profile.yaml").read_text().replace("{name: NodeMatch", "{name: NodeMacth"))
        self.assertIn('PreFilterPlugin "NodeMacth" does not exist; the nearest name is "NodeMatch"',
                      self.refusal("--config", str(typo), "--plugin-dir", str(self.plugins)))
        self.assertIn('"NodeMacth" does not exist; the nearest name is "NodeName"', self.refusal("--config", str(typo)))

    def start_crashing(self) -> tuple[Process, Api]:
        """A scheduler with the plugin that crashes for some pods, and one node."""
        folder = self.folder()
        shutil.copy(self.bad / "build/crashing.so", folder / "crashing.so")
        config = self.file("crashing.yaml", """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: crashing
  plugins: {multiPoint: {enabled: [{name: Crashing}]}}
""")
        _, api = self.api_server()
        api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
                                     "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"}}})
        berth = self.start(self.prefix / "bin/berth", "run", "--master", api.url, "--config", str(config),
                           "--plugin-dir", str(folder))
        berth.wait_for("err", "Starting")
        return berth, api

    def test_it_ends_although_a_plugin_does_not(self) -> None:
        berth, api = self.start_crashing()
        api.create(PODS, pod("before", scheduler="crashing"))
        wait_until("the first is bound", lambda: node_of(api.get(f"{PODS}/before")))
        api.create(PODS, pod("hang", scheduler="crashing"))
        time.sleep(1)  # nothing shows that a plugin has begun
        began = time.monotonic()
        self.assertEqual(berth.end(), 1, berth.lines("err"))
        self.assertLess(time.monotonic() - began, 20, "the chart's terminationGracePeriodSeconds")
        self.assertIn("The process ends although a turn of the core has not", berth.lines("err")[-1])

    def test_a_failed_check_sets_the_pod_aside_and_the_program_re_executes_itself(self) -> None:
        berth, api = self.start_crashing()

        def create(name: str) -> None:
            api.create(PODS, pod(name, scheduler="crashing"))

        def is_bound(name: str) -> bool:
            return bool(node_of(api.get(f"{PODS}/{name}")))

        create("before")
        wait_until("the first is bound", lambda: is_bound("before"))
        create("abort")
        message = wait_until("it is told why it waits", lambda: self.message(api, "abort"))
        self.assertIn("the scheduler failed while it worked on this pod", message)
        create("after")
        wait_until("the process goes on", lambda: is_bound("after"))
        self.assertIn("beginning anew", "\n".join(berth.lines("err")))
        self.assertFalse(is_bound("abort"))
        # A second failure within a minute ends the process.
        create("abort-too")
        self.assertEqual(berth.wait(), -signal.SIGABRT, berth.lines("err"))

    def test_bad_shared_objects_are_refused(self) -> None:
        def directory(*files: Path) -> Path:
            folder = self.folder()
            for file in files:
                shutil.copy(file, folder / file.name)
            return folder

        text = self.file("text.so", "hello, I am a text")
        built = self.bad / "build"
        header = (ROOT / "src" / "berth" / "framework" / "plugin_abi.h").read_text()
        version = re.search(r"define BERTH_PLUGIN_ABI_VERSION (\d+)", header)[1]
        for files, want in [
            ([text], "text.so: is no shared object for this machine: build it with berth_add_plugin(), or take it away"),
            ([built / "newer.so"],
             f"newer.so: is built for plugin ABI 999, and this berth is for {version}: build it anew with the headers of this "
             "berth"),
            ([built / "aborting.so"],
             "aborting.so: crashes while it is loaded (signal 6, Aborted): look at what it does in the initialisers of its "
             "global variables"),
        ]:
            folder = directory(*files)
            self.assertEqual(self.refusal("--plugin-dir", str(folder)), f"{folder}/{want}")
        twice = directory(self.plugins / "node_match.so", built / "taken.so")
        self.assertEqual(self.refusal("--plugin-dir", str(twice)),
                         f'{twice}/taken.so: plugin "NodeMatch": the name is taken by a plugin of {twice}/node_match.so: take '
                         'one of the two away')
        self.assertEqual(self.refusal("--plugin-dir", str(self.plugins), program=self.plugins / "own-scheduler"),
                         f'{self.plugins}/node_match.so: plugin "NodeMatch": the name is taken by a plugin of this program: '
                         'take one of the two away')
        self.assertEqual(self.refusal("--plugin-dir", f"{twice}/none"),
                         f"--plugin-dir {twice}/none: cannot be read: No such file or directory: it should be a directory "
                         "with shared objects (*.so)")


if __name__ == "__main__":
    unittest.main()
