#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Groups a library's sources, so that the compiler reads the headers they share once a group ("unity build").

    group_sources.py --root SRC --out FOLDER --name NAME --size N [--rename | --rename-rest] SOURCE...

Writes FOLDER/NAME_1.cc and so on, each of which includes up to N of the sources by their paths below SRC, and prints
those files, one a line. Sources in a group share a translation unit, so what one of them keeps to itself (an unnamed
namespace, a macro, a namespace alias) must not be a name that another one uses: such sources get into different
groups, or with --rename, which tests use, it is another name in the group: a macro that holds for its source. With
--rename-rest, which libraries use, only sources that would otherwise be in groups of few are renamed to fit elsewhere. A
group starts with all headers of its sources: no header is read behind such a name either.

Run by CMake whenever it configures; a file is written only if its contents change.
"""

import argparse
import math
import re
import sys
from pathlib import Path

COMMENT_OR_TEXT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'""", re.S)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"][^>\"]+[>\"]).*$", re.M)
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", re.M)
NAMESPACE = re.compile(r"(?:inline\s+)?namespace(?:\s+(?P<name>[\w:]+))?\s*$")
TEMPLATE = re.compile(r"^template\s*<[^;]*?>\s*(?=\w)")
TYPE = re.compile(r"^(?:class|struct|union|enum(?:\s+(?:class|struct))?|concept)\s+(?:\[\[.*?\]\]\s*)?(\w+)")
ALIAS = re.compile(r"^(?:using|namespace)\s+(\w+)\s*=\s*([\w:]*)")
USING = re.compile(r"^using\s+(?!namespace\b)([\w:]*::(?:\w+))$")
TEST = re.compile(r"^(?:TYPED_)?(?:TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)(?:_\w+)?\s*\(\s*(\w+)\s*,\s*(\w*)")
CALLED = re.compile(r"([\w:~]+)\s*\(")
LAST_WORD = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$")
# A name behind one of these belongs to an object, a class or a namespace that is written out.
USED = re.compile(r"(?<![\w.])(?<!->)(?<!::)[A-Za-z_]\w*")
OF_ANOTHER = re.compile(r"(?:\.|->|::)\s*(\w+)")
FIXTURE = re.compile(r"\bTEST_\w+\s*\(\s*(\w+)")
# What libraries find by its name, and what GoogleTest's macros call.
KEEP_NAME = re.compile(
    r"[A-Z0-9_]+|PrintTo|AbslHashValue|AbslStringify|swap|begin|end|tag_invoke|format_as|main|Compare|Message|(\w+_)?Test")


def declared(statement, everything):
    """The names that a statement of a namespace declares: for its source alone, or all of them."""
    statement = TEMPLATE.sub("", statement.strip())
    if not statement:
        return set()
    if test := TEST.match(statement):
        return {f"{test[1]}_{test[2]}_Test"}
    if alias := ALIAS.match(statement):
        # What follows a namespace's or a class's name makes it another type: such an alias is like no other.
        whole = alias.end() == len(statement)
        return {f"alias {alias[1]} = {alias[2].removeprefix('::').removeprefix('berth::')}" if whole else alias[1]}
    if taken := USING.match(statement):
        return {"using " + taken[1].removeprefix("::").removeprefix("berth::")}
    if statement.startswith(("using", "friend", "extern", "static_assert")):
        return set()
    if not everything and not re.match(r"(?:static|constexpr|constinit|const|inline)\b", statement):
        return set()
    if kind := TYPE.match(statement):
        return {kind[1]}
    head = statement.split("=", 1)[0]
    found = CALLED.search(head) or LAST_WORD.search(head)
    name = found[1] if found else ""
    return {name} if re.fullmatch(r"[A-Za-z_]\w*", name) else set()


def plain(name):
    """The name that a declaration gives: of `using a::B` B, of `alias a = b::c` a."""
    return name.split()[1] if name.startswith("alias ") else name.rsplit(":", 1)[-1]


def namespace_names(text, everything):
    """What a file (without comments, texts and directives) declares in its namespaces: for itself alone, or all."""
    names, scopes, start = set(), [], 0  # scopes: True an unnamed namespace, False a named one, None all else
    for token in re.finditer(r"[{};]", text):
        in_namespace = None not in scopes
        statement = text[start:token.start()] if in_namespace else ""
        if token[0] == "{":
            if not in_namespace:
                scopes.append(None)
                continue
            space = NAMESPACE.search(statement.strip())
            if space:
                scopes.append(space["name"] is None)
            else:
                names |= declared(statement, everything or True in scopes)
                scopes.append(None)
        elif token[0] == "}":
            if scopes:
                scopes.pop()
        elif in_namespace:
            names |= declared(statement, everything or True in scopes)
        if None not in scopes:
            start = token.end()
    return names


class Headers:
    """The names that berth's headers declare, with those of the headers that they include."""

    def __init__(self, root):
        self.root = root
        self.known = {}

    def names(self, include):
        if include not in self.known:
            self.known[include] = set()  # of a header that includes itself
            file = self.root / include
            if file.is_file():
                text = file.read_text(encoding="utf-8")
                code = DIRECTIVE.sub("", COMMENT_OR_TEXT.sub(" ", text))
                self.known[include] = namespace_names(code, True).union(*map(self.names, own_headers(text)))
        return self.known[include]


def own_headers(text):
    return [include[1:-1] for include in INCLUDE.findall(text) if include[0] == '"']


class Source:
    def __init__(self, path, headers):
        self.path = path
        text = path.read_text(encoding="utf-8")
        self.includes = INCLUDE.findall(text)
        included = set().union(*map(headers.names, own_headers(text)))
        self.included = {plain(name) for name in included}
        text = COMMENT_OR_TEXT.sub(" ", text)
        declarations = namespace_names(DIRECTIVE.sub("", text), False) | set(DEFINE.findall(text))
        self.usings = {name for name in declarations if " " in name}
        # The same, with those of the headers.
        self.known_usings = self.usings | {name for name in included if " " in name}
        self.own = {name for name in declarations if " " not in name}
        self.names = self.own | {plain(name) for name in self.usings}
        self.used = set(USED.findall(text)) | self.names
        # A macro would hit what belongs to others too.
        fixed = set(DEFINE.findall(text)) | set(OF_ANOTHER.findall(text)) | set(FIXTURE.findall(text))
        fixed |= {plain(name) for name in self.usings} | self.included
        self.may_rename = {name for name in self.names - fixed if not KEEP_NAME.fullmatch(name)}
        self.renamed = set()

    def disturbing(self, other):
        """What is this source's own that would mean something else there, or would have two meanings here."""
        # The same using declaration or alias in both changes nothing for either. Any of them is hidden by a local variable
        # of that name, which is all that a name can be that the other's source and headers do not declare.
        foreign = other.included - self.included
        taken = {plain(name) for name in self.usings - other.known_usings} & (other.names | foreign)
        return taken | self.own & (other.used | foreign)

    def clashes(self, other, rename=False):
        """Whether they can't share a group, even if names of both are renamed."""
        ours, theirs = self.disturbing(other), other.disturbing(self)
        if rename:
            ours, theirs = ours - self.may_rename, theirs - other.may_rename
        return bool(ours or theirs)


def place(source, groups, size, rename):
    """Adds the source to the first group that it fits into, or to a new one."""
    for members in groups:
        if len(members) < size and not any(source.clashes(member, rename) for member in members):
            for member in members:
                source.renamed |= source.disturbing(member)
                member.renamed |= member.disturbing(source)
            members.append(source)
            return
    groups.append([source])


def group(sources, size, rename=False, rename_rest=False):
    """First fit: the order stays what it is in CMakeLists.txt, where neighbours share headers."""
    # As few groups as can be, of about the same size.
    even = math.ceil(len(sources) / math.ceil(len(sources) / size))
    groups = []
    for source in sources:
        place(source, groups, even, rename)
    if not rename_rest:
        return groups
    full = [members for members in groups if len(members) > even // 2]
    for source in (source for members in groups if len(members) <= even // 2 for source in members):
        place(source, full, size, True)
    return full


def contents(members, root):
    seen = dict.fromkeys(include for member in members for include in member.includes)
    lines = ["// Written by cmake/group_sources.py. Names that clash? Run cmake: it puts their sources into other groups."]
    lines += [f"#include {include}" for include in seen]
    for member in members:
        path = member.path.relative_to(root)
        source = re.sub(r"\W", "_", path.with_suffix("").as_posix())
        lines += [f"#define {name} {name}_of_{source}" for name in sorted(member.renamed)]
        lines.append(f'#include "{path.as_posix()}"')
        lines += [f"#undef {name}" for name in sorted(member.renamed)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--rename", action="store_true")
    parser.add_argument("--rename-rest", action="store_true")
    parser.add_argument("sources", type=Path, nargs="+")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    headers = Headers(arguments.root)
    sources = [Source(path, headers) for path in arguments.sources]
    groups = group(sources, arguments.size, arguments.rename, arguments.rename_rest)
    for number, members in enumerate(groups, 1):
        if len(members) == 1:
            print(members[0].path)
            continue
        file = arguments.out / f"{arguments.name}_{number}.cc"
        text = contents(members, arguments.root)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
        print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
