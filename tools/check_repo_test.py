#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of check_repo.py: each rule with files that keep it and files that break it."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_repo  # noqa: E402


def findings_of(files: dict[str, str]) -> list[str]:
    """path:line of each finding in a repository of these files, which lists all its sources."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        files = {"CMakeLists.txt": "\n".join(p for p in files if p.endswith(".cc")), **files}
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        return [f"{finding.path}:{finding.line}" for finding in check_repo.check(root)]


def include(*targets: str) -> str:
    return "".join(f'#include "{target}"\n' for target in targets)


class Rules(unittest.TestCase):
    def expect(self, path: str, text: str, lines: list[int]) -> None:
        with self.subTest(path=path, text=text):
            self.assertEqual(findings_of({path: text}), [f"{path}:{line}" for line in lines])

    def test_sources_use_their_constants(self) -> None:
        path = "src/berth/base/a.cc"
        used = "constexpr int kUsed = 1;\nint f() { return kUsed; }\n"
        self.expect(path, used, [])
        self.expect(path, "constexpr std::array<int, 2> kNobody = {1, 2};\n" + used, [1])
        self.expect(path, "// kNobody\nconstexpr int kNobody[] = {1};\n" + used, [2])
        self.expect("src/berth/base/a.h", "#pragma once\ninline constexpr int kOther = 1;\n", [])
        self.expect(path, "int f() {\n  constexpr int kLocal = 1;\n}\n", [])

    def test_folders_include_only_what_is_below_them(self) -> None:
        for path, target, is_good in [
            ("src/berth/core/queue/a.cc", "berth/framework/plugin.h", True),
            ("src/berth/core/queue/a.cc", "berth/core/queue/b.h", True),
            ("src/berth/core/queue/a.cc", "berth/core/cache/cache.h", False),
            ("src/berth/core/queue/a.cc", "berth/shell/client/client.h", False),
            ("src/berth/base/a.h", "berth/api/pod.h", False),
            ("src/berth/codec/a.h", "berth/base/error.h", True),
            ("src/berth/codec/a.h", "berth/api/pod.h", False),
            ("src/berth/core/config/a.cc", "berth/framework/plugin.h", True),
            ("src/berth/core/config/a.cc", "berth/plugins/registry.h", False),
            ("src/berth/core/runtime/a.cc", "berth/plugins/registry.h", False),
            ("src/berth/core/scheduler/a.cc", "berth/core/runtime/framework.h", True),
            ("src/berth/core/scheduler/a.cc", "berth/shell/net/http.h", False),
            ("src/berth/shell/net/a.cc", "berth/api/pod.h", False),
            ("src/berth/shell/client/a.cc", "berth/shell/net/http.h", True),
            ("src/berth/shell/client/a.cc", "berth/framework/plugin.h", False),
            ("src/berth/devcluster/apiserver/a.cc", "berth/shell/client/client.h", False),
            ("src/berth/devcluster/kubelet/a.cc", "berth/shell/client/client.h", True),
            ("src/berth/shell/cli/a.cc", "berth/api/pod.h", False),
            ("src/berth/app/a.cc", "berth/core/scheduler/scheduler.h", True),
            ("src/berth/app/a.cc", "berth/testing/builders.h", False),
            ("src/berth/core/queue/a_test.cc", "berth/shell/client/client.h", True),
            ("src/berth/core/queue/queue_testing.h", "berth/testing/builders.h", True),
            ("src/berth/plugins/helper/test_cluster.h", "berth/testing/builders.h", True),
            ("src/berth/testing/a.h", "berth/core/runtime/framework.h", True),
            ("src/berth/testing/a.h", "berth/app/run/run_command.h", False),
            ("src/berth/authoring/a.cc", "berth/shell/runner/feeds.h", False),
            ("src/berth/demo/a.cc", "berth/app/run/run_command.h", False),
            ("src/berth/whatif/a.cc", "berth/core/scheduler/scheduler.h", True),
            ("src/berth/whatif/a.cc", "berth/shell/client/rest_client.h", True),
            ("src/berth/whatif/a.cc", "berth/shell/runner/feeds.h", False),
            ("src/berth/whatif/a.cc", "berth/shell/cli/table.h", False),
            ("src/berth/shadow/a.cc", "berth/shell/cli/table.h", False),
            ("src/berth/rebalance/a.cc", "berth/shell/cli/table.h", False),
            ("src/berth/prices/a.cc", "berth/shell/cli/table.h", False),
            ("src/berth/whatif/a.cc", "berth/answers/page.h", False),
            ("src/berth/rebalance/a.cc", "berth/answers/page.h", False),
            ("src/berth/answers/a.cc", "berth/whatif/drain.h", True),
            ("src/berth/answers/a.cc", "berth/shell/cli/table.h", True),
            ("src/berth/answers/a.cc", "berth/shell/client/rest_client.h", False),
            ("apps/berth/main.cc", "berth/app/run/run_command.h", True),
        ]:
            self.expect(path, "\n" + include(target), [] if is_good else [2])

    def test_a_new_folder_needs_a_place(self) -> None:
        self.expect("src/berth/surprise/a.h", "", [1])

    def test_an_include_names_the_path_from_src(self) -> None:
        self.expect("src/berth/core/queue/a.cc", '#include "entry.h"\n', [1])

    def test_includes_in_comments_do_not_count(self) -> None:
        self.expect("src/berth/base/a.cc", '// #include "berth/api/pod.h"\n/*\n#include "berth/api/pod.h"\n*/\n', [])

    def test_headers_of_authors_need_the_standard_library_alone(self) -> None:
        for line, is_good in [("#include <vector>", True), ("#include <absl/hash/hash.h>", False), ("#include <malloc.h>", False),
                              ('#include "absl/hash/hash.h"', False), ("// #include <absl/hash/hash.h>", True)]:
            files = {"src/berth/plugin.h": include("berth/base/a.h"), "src/berth/base/a.h": "#pragma once\n" + line + "\n",
                     "src/berth/base/b.h": "#include <absl/hash/hash.h>\n"}
            with self.subTest(line=line):
                self.assertEqual(findings_of(files), [] if is_good else ["src/berth/base/a.h:2"])

    def test_headers_of_authors_lead_to_no_fast_path_and_no_void_pointer(self) -> None:
        for line, is_good in [(include("berth/framework/node_list.h"), True), (include("berth/framework/fast_path.h"), False),
                              (include("berth/framework/node_table.h"), False), ("void* Get();", False),
                              ("const void *Get();", False), ("std::shared_ptr<void>& Shared();", False),
                              ("Expected<void> Check();", True), ("// void* was here", True)]:
            files = {"src/berth/plugin.h": include("berth/framework/a.h"), "src/berth/framework/a.h": "#pragma once\n" + line + "\n"}
            with self.subTest(line=line):
                self.assertEqual(findings_of(files), [] if is_good else ["src/berth/framework/a.h:2"])

    def test_contracts_stand_alone(self) -> None:
        for path, line, is_good in [
            ("src/berth/framework/a.h", "#include <vector>", True),
            ("src/berth/framework/a.h", "#include <absl/container/flat_hash_map.h>", False),
            ("src/berth/framework/a.h", '#include "absl/container/flat_hash_map.h"', False),
            ("src/berth/framework/a.h", "#include <simdjson.h>", False),
            ("src/berth/framework/a.h", '#include "berth/codec/json.h"', False),
            ("src/berth/framework/a.cc", '#include "berth/codec/json.h"', True),
            ("src/berth/framework/a.cc", "#include <absl/container/flat_hash_map.h>", True),
            ("src/berth/plugins/fit/fit.h", '#include "berth/plugins/names.h"', True),
            ("src/berth/plugins/fit/fit.h", '#include "berth/plugins/helper/x.h"', True),
            ("src/berth/plugins/fit/fit.h", '#include "berth/core/config/args.h"', False),
            ("src/berth/plugins/fit/fit.cc", '#include "berth/core/config/args.h"', True),
        ]:
            self.expect(path, line, [] if is_good else [1])

    def test_plugins_never_include_each_other(self) -> None:
        self.expect("src/berth/plugins/fit/fit.cc", include("berth/plugins/fit/fit.h", "berth/plugins/taint/taint.h"), [2])
        self.expect("src/berth/plugins/registry.cc", include("berth/plugins/fit/fit.h", "berth/plugins/taint/taint.h"), [])

    def test_time_and_chance_are_passed_in(self) -> None:
        for path, line, is_good in [
            ("src/berth/core/queue/a.cc", "auto t = std::chrono::system_clock::now();", False),
            ("src/berth/core/queue/a.cc", "auto t = steady_clock::now();", False),
            ("src/berth/core/queue/a.cc", "auto t = time(nullptr);", False),
            ("src/berth/core/queue/a.cc", "auto t = std::time(&x);", False),
            ("src/berth/core/queue/a.cc", "clock_gettime(CLOCK_REALTIME, &t);", False),
            ("src/berth/core/queue/a.cc", "std::random_device device;", False),
            ("src/berth/core/queue/a.cc", "int x = rand() % 6;", False),
            ("src/berth/core/queue/a.cc", 'open("/dev/urandom");', False),
            ("src/berth/core/queue/a.cc", "// steady_clock::now() would be wrong here", True),
            ("src/berth/core/queue/a.cc", "strand(x); Random random(7); info.time(y); queue_time(0); clock.Now();", True),
            ("src/berth/core/queue/a_test.cc", "auto t = steady_clock::now();", True),
            ("src/berth/core/queue/a_test.cc", "std::random_device device;", False),
            ("src/berth/base/time.cc", "auto t = std::chrono::system_clock::now();", True),
            ("src/berth/shell/net/a.cc", "auto t = steady_clock::now();", True),
            ("src/berth/app/a.cc", "std::random_device device;", True),
        ]:
            self.expect(path, line, [] if is_good else [1])

    def test_tests_do_not_sleep(self) -> None:
        self.expect("src/berth/core/queue/a_test.cc", "\nstd::this_thread::sleep_for(1s);", [2])
        self.expect("tests/a_test.cc", "usleep(10);", [1])
        self.expect("src/berth/shell/net/a.cc", "std::this_thread::sleep_for(1s);", [])
        self.expect("src/berth/core/queue/a_test.cc", 'EXPECT_EQ(command, "x");  // no sleep_for', [])

    def test_text_helpers_are_written_once(self) -> None:
        for path, line, is_good in [
            ("src/berth/api/a.cc", "std::string Quoted(std::string_view text) {", False),
            ("src/berth/api/a.cc", "inline std::vector<std::string_view> Split(std::string_view text) {", False),
            ("src/berth/api/a.cc", "bool IsDigit(char c) { return true; }", False),
            ("src/berth/api/a.cc", "  return Quoted(text) + a{};", True),
            ("src/berth/base/text.cc", "std::string Quoted(std::string_view text) {", True),
            ("src/berth/languages/cel/a.cc", "bool IsDigit(char32_t c) { return true; }", True),
        ]:
            self.expect(path, line, [] if is_good else [1])

    def test_no_paths_of_one_machine(self) -> None:
        work, root, shared = "/wo" + "rk/main", "/ro" + "ot/.kube", "../sha" + "red/x"
        self.expect("README.md", f"fine\nsee {work}\n", [2])
        self.expect("docs/a.md", f"`{root}`", [1])
        self.expect("docs/a.md", shared, [1])
        self.expect("docs/a.md", "net/work/x, $HOME/wo" + "rk/y, a/ro" + "ot/b", [])

    def test_changes_of_some_headers_reach_few_sources(self) -> None:
        header = "src/berth/core/scheduler/core_state.h"
        between = {"src/berth/core/scheduler/a.h": include("berth/core/scheduler/core_state.h")}
        few = check_repo.REACHED_MAX[header]
        sources = {f"src/berth/core/scheduler/x{i}.cc": include("berth/core/scheduler/a.h") for i in range(few)}
        self.assertEqual(findings_of({header: "", **between, **sources}), [])
        sources["src/berth/core/scheduler/y.cc"] = include("berth/core/scheduler/core_state.h")
        self.assertEqual(findings_of({header: "", **between, **sources}), [f"{header}:1"])

    def test_every_source_is_built(self) -> None:
        files = {
            "CMakeLists.txt": "add_subdirectory(src/berth/a)  # src/berth/base/forgotten.cc\n",
            "src/berth/base/CMakeLists.txt": "berth_library(base SOURCES x.cc sub/y.cc)\nberth_fuzz(z SOURCE z_fuzz.cc DEPS x)\n",
            "cmake/a.cmake": "add_executable(t ${CMAKE_SOURCE_DIR}/src/berth/testing/main.cc)",
        }
        for name in ("base/x.cc", "base/sub/y.cc", "base/z_fuzz.cc", "testing/main.cc", "base/forgotten.cc", "base/y.cc"):
            files[f"src/berth/{name}"] = ""
        self.assertEqual(findings_of(files), ["src/berth/base/forgotten.cc:1", "src/berth/base/y.cc:1"])

    def test_comments_are_distinguished_from_strings(self) -> None:
        for text, expected in [
            ('a // b\nc', "a     \nc"),
            ('"// no" /* yes */', '"// no"          '),
            ('R"(// no)" // yes', 'R"(// no)"       '),
            ("'\"' // yes", "'\"'       "),
            ("/* a\nb */c", "    \n    c"),
        ]:
            self.assertEqual(check_repo.without_comments(text), expected)


class Program(unittest.TestCase):
    def run_main(self, *arguments: str) -> tuple[int, str]:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            return check_repo.main(list(arguments)), output.getvalue()

    def test_exit_codes(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.run_main(folder)[0], 2)
            (Path(folder) / "CMakeLists.txt").write_text("")
            self.assertEqual(self.run_main(folder), (0, ""))
            (Path(folder) / "lonely.cc").write_text("")
            code, output = self.run_main(folder)
            self.assertEqual(code, 1)
            self.assertTrue(output.startswith("lonely.cc:1: no CMakeLists.txt lists this source"), output)
        self.assertEqual(self.run_main("--what")[0], 2)


if __name__ == "__main__":
    unittest.main()
