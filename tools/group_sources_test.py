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
