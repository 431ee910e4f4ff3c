#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of cmake/group_sources.py: which names a source keeps to itself, and who may share a group."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cmake"))
import group_sources  # noqa: E402


class GroupSources(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)

    def source(self, name: str, text: str) -> group_sources.Source:
        file = self.root / name
        file.write_text(text)
        return group_sources.Source(file, group_sources.Headers(self.root))

    def test_names(self) -> None:
        for text, want in [
            ("namespace a {\nnamespace {\nint Twice(int x) { return x; }\n}\n}", {"Twice"}),
            ("namespace {\nconstexpr int kMax = 3 < 4;\nstd::string name_{Of()};\n}", {"kMax", "name_"}),
            ("namespace {\ntemplate <typename T>\nstruct Row { int field; void Method(); };\nenum class Kind { kA };\n}", {"Row", "Kind"}),
            ("namespace {\nusing Map = std::map<int, int>;\nnamespace json = boost::json;\nusing std::string;\nusing namespace b;\n}", {"Map", "json", "string"}),
            ("namespace a::b {\nstatic int Once() { return 1; }\nconst int kTwo = 2;\nint Known() { return 3; }\n}", {"Once", "kTwo"}),
            ("namespace a {\nint Class::Method(int Once) { int kTwo = 2; return kTwo; }\n}", set()),
            ('namespace {\nconstexpr int kTwo = 2;\nstatic_assert(kTwo == 2, "or else");\n}', {"kTwo"}),
            ("#define CHECK_IT(x) \\\n  (x)\n", {"CHECK_IT"}),
            ("namespace {\nTEST(Suite, Case) { EXPECT_EQ(1, 1); }\n}", {"Suite_Case_Test"}),
            ('namespace {\nconst char* text = "namespace { int Hidden(); }";  // int Hidden();\n}', {"text"}),
        ]:
            self.assertEqual(self.source("x.cc", text).names, want, text)

    def test_the_same_using_declaration_may_be_shared(self) -> None:
        use = "int F(const Node& node);\n"
        first = self.source("a.cc", "namespace berth {\nusing berth::api::Node;\n" + use + "}")
        same = self.source("b.cc", "namespace {\nusing api::Node;\n}\n" + use)
        other = self.source("c.cc", "using tree::Node;\n" + use)
        self.assertFalse(first.clashes(same) or same.clashes(first))
        self.assertTrue(first.clashes(other) and other.clashes(same))

    def test_a_name_and_its_use_stay_apart(self) -> None:
        first = self.source("a.cc", "namespace {\nint Twice(int x) { return x; }\n}")
        same = self.source("b.cc", "namespace {\nlong Twice(long x) { return x; }\n}")
        # Another function of this name is meant: behind a.cc it would be hidden.
        uses = self.source("c.cc", "int F() { return Twice(1); }")
        member = self.source("d.cc", "int F(const Table& table) { return table.Twice() + Table::Twice(); }")
        self.assertTrue(first.clashes(same))
        self.assertTrue(first.clashes(uses) and uses.clashes(first))
        self.assertFalse(first.clashes(member))
        self.assertEqual(group_sources.group([first, same, uses, member], 8), [[first, member], [same], [uses]])

    def test_a_name_and_a_header_of_another_stay_apart(self) -> None:
        (self.root / "low.h").write_text("namespace a {\nclass Refusal;\nint Known(int);\n}")
        (self.root / "high.h").write_text('#include "low.h"\n')
        own = "namespace {\nint Refusal() { return 1; }\n}\n"
        first = self.source("a.cc", own)
        reads = self.source("b.cc", '#include "high.h"\nint b;\n')
        # It has both, and tells them apart by itself.
        both = self.source("c.cc", '#include "low.h"\n' + own.replace("Refusal", "Known"))
        self.assertTrue(first.clashes(reads) and reads.clashes(first))
        self.assertFalse(both.clashes(reads))

    def test_no_number_is_a_name(self) -> None:
        first = self.source("a.cc", "namespace {\nconstexpr std::size_t kBytesMax = std::size_t{10} << 20;\n}")
        self.assertEqual(first.names, {"kBytesMax"})
        self.assertFalse(first.clashes(self.source("b.cc", "int F() { return 20; }")))

    def test_the_same_alias_may_be_shared(self) -> None:
        (self.root / "json.h").write_text("namespace berth::codec {\nnamespace json = boost::json;\n}")
        use = "json::value F();\n"
        first = self.source("a.cc", "namespace json = boost::json;\n" + use)
        same = self.source("b.cc", "namespace json = ::boost::json;\n" + use)
        by_header = self.source("c.cc", '#include "json.h"\n' + use)
        other = self.source("d.cc", "namespace json = berth::codec::json;\n" + use)
        template = self.source("e.cc", "using json = Json<char>;\n" + use)
        self.assertFalse(first.clashes(same) or first.clashes(by_header) or by_header.clashes(first))
        self.assertTrue(first.clashes(other) and first.clashes(template) and template.clashes(other))

    def test_a_local_variable_hides_what_another_takes_by_using(self) -> None:
        taken = self.source("a.cc", "using boost::json::object;\nobject F();\n")
        local = self.source("b.cc", "int G() { int object = 1; return object; }")
        own = self.source("c.cc", "namespace {\nstruct object {};\n}\nobject H();\n")
        (self.root / "object.h").write_text("namespace berth::objects {\nclass object;\n}")
        by_header = self.source("d.cc", '#include "object.h"\nobject* I();\n')
        self.assertFalse(taken.clashes(local))
        self.assertTrue(taken.clashes(own) and taken.clashes(by_header))

    def test_the_rest_is_renamed_into_groups(self) -> None:
        def sources() -> list[group_sources.Source]:
            return [self.source(f"{name}.cc", f"namespace {{\nint {own}() {{ return 1; }}\n}}")
                    for name, own in zip("abcdef", ["One", "Two", "Three", "Four", "One", "One"])]

        def names(groups: list[list[group_sources.Source]]) -> list[str]:
            return ["".join(member.path.stem for member in members) for members in groups]

        self.assertEqual(names(group_sources.group(sources(), 8)), ["abcd", "e", "f"])
        groups = group_sources.group(sources(), 8, rename_rest=True)
        self.assertEqual(names(groups), ["abcdef"])
        self.assertEqual([sorted(member.renamed) for member in groups[0]], [["One"], [], [], [], ["One"], ["One"]])

    def test_groups_are_of_about_the_same_size(self) -> None:
        sources = [self.source(f"x{i}.cc", f"int F{i}();") for i in range(13)]
        self.assertEqual([len(members) for members in group_sources.group(sources, 12)], [7, 6])

    def test_names_that_clash_are_renamed(self) -> None:
        sources = [
            self.source("a.cc", "namespace {\nint Twice(int x) { return x; }\nint Once();\n}"),
            self.source("b.cc", "namespace {\nlong Twice(long x) { return x; }\n}"),
            self.source("c.cc", "int F() { return Twice(1); }"),
            # A macro would hit the members too, and the name of the fixture is the suite's.
            self.source("d.cc", "namespace {\nint Twice(const Row& row) { return row.Twice(); }\n}"),
            self.source("e.cc", "namespace {\nclass Twice : public testing::Test {};\nTEST_F(Twice, One) {}\n}"),
            self.source("f.cc", "namespace {\nvoid PrintTo(int, std::ostream*);\n}"),
            self.source("g.cc", "namespace {\nvoid PrintTo(long, std::ostream*);\n}"),
        ]
        groups = group_sources.group(sources, 8, rename=True)
        self.assertEqual([[s.path.name for s in members] for members in groups], [["a.cc", "b.cc", "c.cc", "f.cc"], ["d.cc", "g.cc"], ["e.cc"]])
        lines = group_sources.contents(groups[0], self.root).splitlines()[1:]
        self.assertEqual(lines[:6], ["#define Twice Twice_of_a", '#include "a.cc"', "#undef Twice",
                                     "#define Twice Twice_of_b", '#include "b.cc"', "#undef Twice"])

    def test_size_and_contents(self) -> None:
        sources = [self.source(f"{name}.cc", f'#include "{name}.h"\n#include <string>\nint {name};\n') for name in "abc"]
        groups = group_sources.group(sources, 2)
        self.assertEqual([len(members) for members in groups], [2, 1])
        lines = group_sources.contents(groups[0], self.root).splitlines()[1:]
        self.assertEqual(lines, [f"#include {name}" for name in ('"a.h"', "<string>", '"b.h"', '"a.cc"', '"b.cc"')])


if __name__ == "__main__":
    unittest.main()
