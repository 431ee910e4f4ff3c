#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of check_classes.py and of the outline that it reads."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_classes  # noqa: E402
from cpp_outline import outline_of  # noqa: E402


def findings_of(files: dict[str, str]) -> list[str]:
    """path:line of each finding in a repository of these files."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        return [f"{finding.path}:{finding.line}" for finding in check_classes.check(root)[0]]


class OutlineOfClasses(unittest.TestCase):
    def test_members(self) -> None:
        for name, body, members, methods in [
            ("nothing", "", [], []),
            ("data", "int a_; std::string b_ = \"x;y\"; Foo c_{1, {2}};", ["a_", "b_", "c_"], []),
            ("several in one declaration", "int a = 0, b, *c = nullptr;", ["a", "b", "c"], []),
            ("templates", "std::map<int, std::vector<int>> a_; std::array<int, (3 > 2)> b_;", ["a_", "b_"], []),
            ("a function as data", "std::function<void(int, int)> done_; int (*plain_)(int);", ["done_", "plain_"], []),
            ("arrays and bits", "int a_[3]; unsigned b_ : 3; unsigned c_ : 5 = 0;", ["a_", "b_", "c_"], []),
            ("attributes", "[[no_unique_address]] Empty a_; alignas(64) int b_; mutable bool c_ = false;", ["a_", "b_", "c_"], []),
            ("no members", "using T = int; typedef int U; enum class E { kA, kB }; friend class F; static_assert(true);", [], []),
            ("constants", "static constexpr int kA = 1; static inline const int kB{2}; static int count;", [], []),
            ("a lambda as initial value", "std::function<int()> f_ = [] { int x; return x; }; int b_;", ["f_", "b_"], []),
            ("declared methods", "int A() const; void B(int a, int b = 3); auto C() -> int; virtual void D() = 0;", [],
             ["A", "B", "C", "D"]),
            ("written methods", "int A() { int x = 3; return x; } const Foo& B() const noexcept { return b_; } int b_;", ["b_"],
             ["A", "B"]),
            ("operators", "bool operator==(const X&) const = default; int operator()(int) const; X& operator[](int i); "
             "operator bool() const; bool operator<(const X& o) const { return a < o.a; }", [],
             ["operator==", "operator()", "operator[]", "operatorbool", "operator<"]),
            ("constructors", "explicit X(int a) : a_(a), b_{a} { Do(); } X(X&&) = delete; ~X(); int a_, b_;", ["a_", "b_"], []),
            ("templates of methods", "template <class T, class U = std::vector<int>> requires(sizeof(T) > 1) void A(T t);", [], ["A"]),
            ("nested classes apart", "struct In { int a, b; void F(); }; In in_; struct { int x; } plain_; class Later;",
             ["in_", "plain_"], []),
            ("an enum with a member", "enum { kA, kB } state_ = kA;", ["state_"], []),
            ("comments and the preprocessor", "// int a_;\n/* int b_; */\n#define X int c_;\nint d_;  // {", ["d_"], []),
            ("numbers", "int a_ = 1'000'000; char b_ = ';'; int c_;", ["a_", "b_", "c_"], []),
        ]:
            with self.subTest(name):
                outline = outline_of("x.h", "namespace n { class X final : public Y<int> {\n" + body + "\n}; }")
                described = outline.classes[0]
                self.assertEqual((described.name, described.data_members, described.methods), ("n::X", members, methods))
                self.assertEqual(described.private_methods, methods)

    def test_access(self) -> None:
        text = "int a(); public: int b(); private: int c(); protected: int d();"
        self.assertEqual(outline_of("x.h", f"class X {{ {text} }};").classes[0].private_methods, ["a", "c", "d"])
        self.assertEqual(outline_of("x.h", f"struct X {{ {text} }};").classes[0].private_methods, ["c", "d"])

    def test_names(self) -> None:
        for text, names in [
            ("namespace a::b { namespace { struct X {}; } }", ["a::b::X"]),
            ("struct A { struct B { class C {}; }; };", ["A", "A::B", "A::B::C"]),
            ("struct A { struct B; }; struct A::B { int x; };", ["A", "A::B"]),
            ("template <class T> struct hash<std::vector<T>> {};", ["hash"]),
            ("class Y; struct Z z; struct Z Make() { return {}; } enum class E { kA }; struct [[nodiscard]] X {};", ["X"]),
            ("void F() { struct Inside {}; } class BERTH_API X {};", ["X"]),
        ]:
            with self.subTest(text):
                self.assertEqual([c.name for c in outline_of("x.h", text).classes], names)

    def test_functions(self) -> None:
        for text, expected in [
            ("void F();", [("", "F", False, False)]),
            ("int F(int a) { return a; }", [("", "F", True, False)]),
            ("namespace { int F() { return 1; } } static int G() { return 2; }", [("", "F", True, True), ("", "G", True, True)]),
            ("A::B::B(int x) : x_(x), y_{x} { F(); } A::~A() {}", [("A::B", "B", True, False), ("A", "~A", True, False)]),
            ("std::vector<int> A<T>::F() const { return {}; }", [("A", "F", True, False)]),
            ("bool A::operator==(const A& o) const { return true; }", [("A", "operator==", True, False)]),
            ("const int k = F(3); int l{4}; auto m = [](int a) { return a; };", []),
        ]:
            with self.subTest(text):
                functions = outline_of("x.cc", text).functions
                self.assertEqual([(f.qualifier, f.name, f.is_definition, f.is_local) for f in functions], expected)


class Rules(unittest.TestCase):
    def test_classes_stay_small(self) -> None:
        for count, where, is_good in [(25, "x.h", True), (26, "x.h", False), (26, "x_test.cc", True), (26, "x_testing.h", True)]:
            for body in ("".join(f"int a{i}_;\n" for i in range(count)), "".join(f"void F{i}();\n" for i in range(count))):
                path = "src/berth/base/" + where
                with self.subTest(path=path, body=body):
                    self.assertEqual(findings_of({path: "\nclass X {\n" + body + "};\n"}), [] if is_good else [path + ":2"])

    def test_plain_values_count_too(self) -> None:
        body = "".join(f"int a{i};\n" for i in range(26))
        self.assertEqual(findings_of({"src/x.h": "struct X {\n" + body + "};\n"}), ["src/x.h:1"])

    def test_a_class_in_a_source_is_short(self) -> None:
        for lines, where, is_good in [(300, "x.cc", True), (301, "x.cc", False), (301, "x.h", True), (301, "x_test.cc", True)]:
            with self.subTest(where=where, lines=lines):
                path = "src/berth/base/" + where
                text = "namespace {\nclass X {\n" + "// a line\n" * lines + "};\nstruct Y {};\n}\n"
                self.assertEqual(findings_of({path: text, "src/berth/base/x.h": text if where == "x.h" else ""}),
                                 [] if is_good else [path + ":2"])

    def test_a_class_is_written_in_one_source(self) -> None:
        header = "namespace n { class X { public: void A(); void B(); struct In; }; }\n"
        method = "namespace n { void X::%s() {} }\n"
        local = "namespace n { namespace { class Y { void A(); }; void Y::A() {} } }\n"
        for name, files, expected in [
            ("one source", {"x.h": header, "x.cc": method % "A" + method % "B"}, []),
            ("two sources", {"x.h": header, "x.cc": method % "A", "y.h": "", "y.cc": method % "B"}, ["src/x.cc:1"]),
            ("a test's own part", {"x.h": header, "x.cc": method % "A", "x_test.cc": method % "B"}, []),
            ("two classes of one name", {"x.h": "", "x.cc": local, "y.h": "", "y.cc": local}, []),
            ("another namespace", {"x.h": header, "x.cc": method % "A", "y.h": "namespace m { struct X { void B(); }; }",
                                   "y.cc": "namespace m { void X::B() {} }"}, []),
        ]:
            with self.subTest(name):
                self.assertEqual(findings_of({"src/" + path: text for path, text in files.items()}), expected)

    def test_each_source_has_its_header(self) -> None:
        for path, is_good in [("src/berth/base/x.cc", False), ("apps/bench/x.cc", False), ("apps/bench/main.cc", True),
                              ("src/berth/base/x_test.cc", True), ("src/berth/base/x_fuzz.cc", True), ("tests/x.cc", True),
                              ("src/berth/base/test_x.cc", True), ("examples/x.cc", True), ("src/berth/testing/x.cc", True)]:
            with self.subTest(path):
                self.assertEqual(findings_of({path: "void F() {}\n"}), [] if is_good else [path + ":1"])

    def test_a_source_declares_in_its_own_header_what_it_gives(self) -> None:
        for name, own, other, source, is_good in [
            ("its own", "void F();", "", "void F() {}", True),
            ("another's", "", "void F();", "void F() {}", False),
            ("both", "void F();", "void F();", "void F() {}", True),
            ("kept to itself", "", "void F();", "namespace { void F() {} }", True),
            ("a declaration only", "", "void F();", "void F();", True),
            ("another namespace", "", "namespace n { void F(); }", "void F() {}", True),
        ]:
            with self.subTest(name):
                files = {"src/x.h": own, "src/y.h": other, "src/x.cc": source}
                self.assertEqual(findings_of(files), [] if is_good else ["src/x.cc:1"])


class Program(unittest.TestCase):
    def run_main(self, *arguments: str) -> tuple[int, str]:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            return check_classes.main(list(arguments)), output.getvalue()

    def test_near(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "src").mkdir()
            (Path(folder) / "src/x.h").write_text("class Near { " + "".join(f"int a{i}_;" for i in range(20)) + "};\nclass Far { int a_; };\n")
            self.assertEqual(self.run_main(folder), (0, ""))
            code, output = self.run_main("--near", folder)
            self.assertEqual(code, 0)
            self.assertIn("20                0  Near (src/x.h:1)", output)
            self.assertNotIn("Far", output)
            (Path(folder) / "src/x.cc").write_text("")
            (Path(folder) / "src/y.cc").write_text("")
            code, output = self.run_main(folder)
            self.assertEqual(code, 1)
            self.assertTrue(output.startswith("src/y.cc:1: no y.h stands beside this source"), output)
        self.assertEqual(self.run_main("--what")[0], 2)


if __name__ == "__main__":
    unittest.main()
