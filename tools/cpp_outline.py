# SPDX-License-Identifier: Apache-2.0
"""The outline of C++ text: its classes, what they declare, and the functions that are defined in it.

Reads the C++ of this repository, as clang-format leaves it, and not all of C++: no macro is expanded, and both branches
of an #if are read. Function bodies are skipped.
"""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/                                  # comments
    |(?:u8|[uUL])?R"(?P<raw>[^()\s\\]{0,16})\(.*?\)(?P=raw)"  # raw strings
    |"(?:\\.|[^"\\\n])*"                                    # strings
    |(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'                   # characters
    |^[ \t]*\#(?:\\\n|[^\n])*                               # the preprocessor's lines
    |[A-Za-z_]\w*|\.?\d(?:'?[\w.])*|::|->|&&|\|\||<<|<=>|<=|>=|==|!=|\+=|-=|\S|\n""", re.S | re.M | re.X)
OPENS, CLOSES = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
# Words that are followed by parentheses and say nothing about what is declared.
WITH_PARENTHESES = {"alignas", "noexcept", "explicit", "requires", "decltype", "__attribute__", "throw"}
NO_MEMBER = {"using", "typedef", "friend", "static_assert", "namespace", "extern", "asm"}
CLASS_WORDS = {"class", "struct", "union"}


@dataclass
class Class:
    """A class with a body, and what is declared in it itself: nested classes are classes of their own."""

    name: str  # with its namespaces and outer classes
    path: str
    line: int
    keyword: str
    body_lines: int = 0  # between its braces
    data_members: list[str] = field(default_factory=list)
    hidden_data_members: list[str] = field(default_factory=list)  # the private and protected ones
    private_methods: list[str] = field(default_factory=list)  # the protected ones too; no constructors
    methods: list[str] = field(default_factory=list)

    @property
    def is_value(self) -> bool:
        """Members that all may see, and no state of its own to guard."""
        return not self.hidden_data_members and not self.private_methods


@dataclass
class Function:
    """A function at namespace scope, or a method defined outside of its class: qualifier is what stands before its name."""

    qualifier: str
    name: str
    namespace: str
    line: int
    is_definition: bool
    is_local: bool  # in an unnamed namespace, or static


@dataclass
class Outline:
    classes: list[Class] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)


def tokens_of(text: str) -> list[tuple[str, int]]:
    """Words and signs with their lines; without comments and the preprocessor's lines, and with strings emptied."""
    found, line = [], 1
    for match in TOKEN.finditer(text):
        token = match.group(0)
        if token == "\n":
            line += 1
            continue
        if token.startswith(("//", "/*")) or token.lstrip(" \t").startswith("#"):
            pass
        elif token.endswith('"') and len(token) > 1:
            found.append(('""', line))
        elif token.endswith("'") and len(token) > 1:
            found.append(("''", line))
        else:
            found.append((token, line))
        line += token.count("\n")
    return found


class _Reader:
    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.tokens = tokens_of(text)
        self.outline = Outline()
        self.closing = self._match_brackets()

    def _match_brackets(self) -> dict[int, int]:
        closing, waiting = {}, []
        for index, (token, _) in enumerate(self.tokens):
            if token in OPENS:
                waiting.append(index)
            elif token in CLOSES and waiting:
                closing[waiting.pop()] = index
        return closing

    def word(self, index: int) -> str:
        return self.tokens[index][0] if index < len(self.tokens) else ""

    def after_bracket(self, index: int) -> int:
        return self.closing.get(index, len(self.tokens)) + 1

    def after_angles(self, index: int, end: int) -> int | None:
        """Behind the > that closes the < at index; None when this < compares."""
        depth = 0
        while index < end:
            token = self.word(index)
            if token in OPENS:
                index = self.after_bracket(index)
                continue
            if token == "<":
                depth += 1
            elif token == ">":
                depth -= 1
                if depth == 0:
                    return index + 1
            elif token in (";", "&&", "||", "{", "}") and token != "&&":
                return None
            index += 1
        return None

    def read_namespace(self, index: int, end: int, namespace: str, is_local: bool) -> None:
        while index < end:
            token = self.word(index)
            if token == "namespace" or (token == "inline" and self.word(index + 1) == "namespace"):
                index += 2 if token == "inline" else 1
                names = []
                while self.word(index) not in ("{", ";", "="):
                    names.append(self.word(index))
                    index += 1
                if self.word(index) == "{":
                    inner = "::".join(filter(None, [namespace, "".join(names)]))
                    self.read_namespace(index + 1, self.closing.get(index, end), inner, is_local or not names)
                    index = self.after_bracket(index)
                else:
                    index = self.after_semicolon(index, end)
            elif token == "extern" and self.word(index + 1) == '""' and self.word(index + 2) == "{":
                self.read_namespace(index + 3, self.closing.get(index + 2, end), namespace, is_local)
                index = self.after_bracket(index + 2)
            else:
                index = self.read_declaration(index, end, namespace, None, "public", is_local)

    def after_semicolon(self, index: int, end: int) -> int:
        while index < end and self.word(index) != ";":
            index = self.after_bracket(index) if self.word(index) in OPENS else index + 1
        return index + 1

    def read_class_body(self, index: int, end: int, described: Class) -> None:
        access = "private" if described.keyword == "class" else "public"
        while index < end:
            if self.word(index) in ("public", "protected", "private") and self.word(index + 1) == ":":
                access = self.word(index)
                index += 2
            else:
                index = self.read_declaration(index, end, described.name, described, access, False)

    def read_declaration(self, index: int, end: int, scope: str, owner: Class | None, access: str, is_local: bool) -> int:
        """Reads one declaration that begins at index; returns where the next one begins."""
        start, is_static = index, False
        while index < end:  # what may stand before a declaration
            token = self.word(index)
            if token == "template":
                index = self.after_angles(index + 1, end) or index + 1
                if self.word(index) == "requires":
                    index = self.after_bracket(index + 1) if self.word(index + 1) == "(" else index + 1
            elif token == "[" and self.word(index + 1) == "[":
                index = self.after_bracket(index)
            elif token == "alignas":
                index = self.after_bracket(index + 1)
            elif token in ("static", "inline", "constexpr", "consteval", "constinit", "mutable", "virtual", "volatile", "const"):
                is_static |= token == "static"
                index += 1
            elif token == "explicit":
                index = self.after_bracket(index + 1) if self.word(index + 1) == "(" else index + 1
            else:
                break
        token = self.word(index)
        if token in ("", ";", "}"):
            return index + 1
        if token in NO_MEMBER:
            if token == "friend":  # may have a body
                return self.after_function(index, end)
            return self.after_semicolon(index, end)
        if token == "enum":
            index += 1
            while index < end and self.word(index) not in ("{", ";", "("):
                index += 1
            if self.word(index) == "{":
                index = self.after_bracket(index)
            return self.read_members(index, end, owner, access, is_static)
        if token in CLASS_WORDS:
            body = self.class_body(index, end)
            if body is not None:
                name, brace = body
                inner = Class("::".join(filter(None, [scope, name])), self.path, self.tokens[start][1], token)
                if brace in self.closing:
                    inner.body_lines = max(self.tokens[self.closing[brace]][1] - self.tokens[brace][1] - 1, 0)
                self.outline.classes.append(inner)
                self.read_class_body(brace + 1, self.closing.get(brace, end), inner)
                return self.read_members(self.after_bracket(brace), end, owner, access, is_static)
            if self.word(index + 2) == ";":
                return index + 3
        return self.read_function_or_data(index, end, scope, owner, access, is_static, is_local)

    def class_body(self, index: int, end: int) -> tuple[str, int] | None:
        """The name and the opening brace of the class whose keyword stands at index; None when it only names one."""
        index += 1
        parts: list[str] = []
        while index < end:
            token = self.word(index)
            if token == "{":
                return "".join(parts), index
            if token == ":":
                while index < end and self.word(index) not in ("{", ";"):
                    index += 1
                return ("".join(parts), index) if self.word(index) == "{" else None
            if token == "[":
                index = self.after_bracket(index)
            elif token == "<":
                after = self.after_angles(index, end)
                if after is None:
                    return None
                index = after
            elif token == "final" and self.word(index + 1) in (":", "{"):
                index += 1
            elif token == "::" or re.match(r"\w", token):
                if token != "::" and parts and parts[-1] != "::":
                    if not parts[-1].isupper():
                        return None  # `struct Name variable`
                    parts = []  # a macro before the name
                parts.append(token)
                index += 1
            else:
                return None
        return None

    def read_function_or_data(self, index: int, end: int, scope: str, owner: Class | None, access: str, is_static: bool,
                              is_local: bool) -> int:
        line = self.tokens[index][1]
        at = index
        while at < end:
            token = self.word(at)
            if token in (";", "=", "{", ",") or (token == ":" and at > index):
                if self.word(at - 1) != "operator":
                    return self.read_members(index, end, owner, access, is_static)
                at += 1
            elif token == "<" and self.word(at - 1) != "operator" and re.match(r"\w", self.word(at - 1)):
                at = self.after_angles(at, end) or at + 1
            elif token in WITH_PARENTHESES and self.word(at + 1) == "(":
                at = self.after_bracket(at + 1)
            elif token == "[":
                at = self.after_bracket(at)
            elif token == "(":
                if self.word(at - 1) == "operator":  # operator()
                    at = self.after_bracket(at)
                    continue
                if self.word(at + 1) in ("*", "&", "&&") and not self.word(at - 1).isidentifier():
                    return self.read_members(index, end, owner, access, is_static)
                if self.word(at + 1) == "*" and self.word(self.after_bracket(at)) == "(":  # a pointer to a function
                    return self.read_members(index, end, owner, access, is_static)
                return self.read_function(index, at, end, scope, owner, access, is_static, is_local, line)
            else:
                at += 1
        return end

    def read_function(self, start: int, parenthesis: int, end: int, scope: str, owner: Class | None, access: str,
                      is_static: bool, is_local: bool, line: int) -> int:
        qualifier, name = self.declarator(start, parenthesis)
        after = self.after_function(parenthesis, end)
        is_definition = self.word(after - 1) == "}"
        if owner is None:
            self.outline.functions.append(Function(qualifier, name, scope, line, is_definition, is_local or is_static))
        elif name.lstrip("~") != owner.name.rsplit("::", 1)[-1]:
            owner.methods.append(name)
            if access != "public":
                owner.private_methods.append(name)
        return after

    def declarator(self, start: int, parenthesis: int) -> tuple[str, str]:
        """What stands before the parenthesis of a function: its qualifier and its name."""
        at = parenthesis - 1
        for back in range(parenthesis - 1, max(start - 1, parenthesis - 6), -1):
            if self.word(back) == "operator":
                at = back
                name = "operator" + "".join(self.word(i) for i in range(back + 1, parenthesis))
                break
        else:
            name = self.word(at)
            if at > start and self.word(at - 1) == "~":
                at -= 1
                name = "~" + name
        parts: list[str] = []
        while at - 2 >= start and self.word(at - 1) == "::":
            at -= 2
            if self.word(at) == ">":  # Class<T>::Method
                depth = 0
                while at > start:
                    depth += {">": 1, "<": -1}.get(self.word(at), 0)
                    at -= 1
                    if depth == 0:
                        break
            parts.insert(0, self.word(at))
        return "::".join(parts), name

    def after_function(self, index: int, end: int) -> int:
        """Behind the ; or the body of a function of which index stands somewhere before."""
        while index < end:
            token = self.word(index)
            if token == ";":
                return index + 1
            if token == "{":
                return self.after_bracket(index)
            if token == "(" or token == "[":
                index = self.after_bracket(index)
            elif token == "try" and self.word(index + 1) == "{":
                index = self.after_bracket(index + 1)
            elif token == ":":  # initializers: each a name and a bracket
                index += 1
                while index < end:
                    while index < end and self.word(index) not in ("(", "{"):
                        if self.word(index) == "<":
                            index = self.after_angles(index, end) or index + 1
                        else:
                            index += 1
                    index = self.after_bracket(index)
                    if self.word(index) == "...":
                        index += 1
                    if self.word(index) != ",":
                        break
            else:
                index += 1
        return index

    def read_members(self, index: int, end: int, owner: Class | None, access: str, is_static: bool) -> int:
        """Data of one declaration, `type a, b = 1, c{};`, from anywhere before the first name."""
        names: list[str] = []
        last, has_name = "", False
        while index < end:
            token = self.word(index)
            if token in (",", ";"):
                if not has_name and last:
                    names.append(last)
                has_name, last = False, ""
                index += 1
                if token == ";":
                    break
            elif token == "(" and self.word(index + 1) == "*":
                last = self.word(index + 2)
                index = self.after_bracket(index)
            elif token in OPENS:
                if token == "{" and last and not has_name:
                    names.append(last)
                    has_name = True
                index = self.after_bracket(index)
            elif token == "<":
                index = self.after_angles(index, end) or index + 1
            elif token in ("=", ":"):
                if last and not has_name:
                    names.append(last)
                    has_name = True
                index += 1
            else:
                if token.isidentifier() and not has_name:
                    last = token
                index += 1
        if owner is not None and not is_static:
            owner.data_members += names
            if access != "public":
                owner.hidden_data_members += names
        return index


def outline_of(path: str, text: str) -> Outline:
    reader = _Reader(path, text)
    reader.read_namespace(0, len(reader.tokens), "", False)
    return reader.outline
