// SPDX-License-Identifier: Apache-2.0
// What a script can do, what it cannot do, and that it ends.
#include "berth/languages/script/sandbox.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <lua.hpp>

namespace berth::script {
namespace {

using Kind = Failure::Kind;

// A loaded and frozen script with a function run().
class Loaded {
 public:
  explicit Loaded(const std::string& text, Limits limits = {}) : sandbox(std::make_unique<Sandbox>(limits)) {
    sandbox->SetGlobal("args",
                       codec::ParseJson(R"({"zone":"a","list":[1,2.5,"x"],"deep":{"no":null,"yes":true}})").value());
    is_good = sandbox->Run(text);
    if (!is_good) return;
    lua_getglobal(sandbox->lua(), "run");
    run = sandbox->Pin();
    is_good = sandbox->Freeze();
  }
  // The result of run() as text, or "line: message".
  std::string Run() {
    if (!is_good) return Shown();
    lua_State* lua = sandbox->lua();
    lua_pushvalue(lua, run);
    if (!sandbox->Call(0, 1)) return Shown();
    std::string text;
    switch (lua_type(lua, -1)) {
      case LUA_TSTRING: text = lua_tostring(lua, -1); break;
      case LUA_TNUMBER:
        text = lua_isinteger(lua, -1) != 0 ? std::to_string(lua_tointeger(lua, -1))
                                           : std::to_string(lua_tonumber(lua, -1));
        break;
      case LUA_TBOOLEAN: text = lua_toboolean(lua, -1) != 0 ? "true" : "false"; break;
      default: text = luaL_typename(lua, -1);
    }
    lua_pop(lua, 1);
    return text;
  }
  std::string Shown() const {
    const Failure& failure = sandbox->failure();
    return std::to_string(failure.line) + ": " + failure.message;
  }
  Kind kind() const { return sandbox->failure().kind; }

  std::unique_ptr<Sandbox> sandbox;
  int run = 0;
  bool is_good = false;
};

// The result of a function with this body.
std::string Eval(const std::string& body) { return Loaded("function run()\n" + body + "\nend").Run(); }

TEST(Sandbox, Computes) {
  const struct {
    const char* body;
    const char* want;
  } kCases[] = {
      {"return 1 + 2", "3"},
      {"return 7 // 2 .. ''", "3"},
      {"return 'a' .. 1", "a1"},
      {"return args.zone", "a"},
      {"return args.list[2]", "2.500000"},
      {"return #args.list", "3"},
      {"return args.deep.no == nil and args.deep.yes", "true"},
      {"local sum = 0 for _, v in ipairs({1, 2, 3}) do sum = sum + v end return sum", "6"},
      {"local t = {} for k in pairs({b = 1, a = 2, [2] = 3, [1] = 4, c = 5}) do t[#t + 1] = tostring(k) end "
       "return table.concat(t, ',')",
       "1,2,a,b,c"},
      {"local t = {} for k in pairs(args) do t[#t + 1] = k end return table.concat(t, ',')", "deep,list,zone"},
      {"local t = {} for i, v in ipairs(args.list) do t[i] = tostring(v) end return table.concat(t, ',')", "1,2.5,x"},
      {"return table.concat(args.list, ' ')", "1 2.5 x"},
      {"return select('#', table.unpack(args.list))", "3"},
      {"local t = {3, 1, 2} table.sort(t) return table.concat(t)", "123"},
      {"local t = {3, 1, 2} table.sort(t, function(a, b) return a > b end) return table.concat(t)", "321"},
      {"local t = {1} table.insert(t, 2) table.insert(t, 1, 0) table.remove(t) return table.concat(t)", "01"},
      {"local t = table.pack(1, nil, 3) return t.n", "3"},
      {"return ('zone-a'):upper():sub(1, 4)", "ZONE"},
      {"return ('x'):rep(3, '-')", "x-x-x"},
      {"return string.format('%s %d %5.1f %q', 'a', 3, 2.25, 'b')", "a 3   2.2 \"b\""},
      {"return ('m5.large'):match('^(%w+)%.')", "m5"},
      {"return (('a,b,,c'):gsub(',', ';'))", "a;b;;c"},
      {"return (('hello world'):gsub('o', {o = '0'}))", "hell0 w0rld"},
      {"return (('abc'):gsub('%w', function(c) return c:upper() .. '.' end))", "A.B.C."},
      {"return (('abc'):gsub('%w', '%0%0', 2))", "aabbc"},
      {"return (('key=1'):gsub('(%w+)=(%w+)', '%2=%1'))", "1=key"},
      {"return (('abc'):gsub('', '-'))", "-a-b-c-"},
      {"return (('hello'):gsub('^l', 'x'))", "hello"},
      {"local t = {} for w in ('one two  three'):gmatch('%a+') do t[#t + 1] = w end return table.concat(t, '|')",
       "one|two|three"},
      {"local t = {} for k, v in ('a=1, b=2'):gmatch('(%w+)=(%w+)') do t[#t + 1] = k .. v end "
       "return table.concat(t)",
       "a1b2"},
      {"local n = 0 for _ in ('abc'):gmatch('') do n = n + 1 end return n", "4"},
      {"local b, e, c = ('zone-a'):find('%-(%w)') return b .. e .. c", "56a"},
      {"local b, e = ('a.b'):find('.', 2, true) return b .. e", "22"},
      {"return ('abc'):find('c', -1)", "3"},
      {"return ('abc'):find('', 10) == nil", "true"},
      {"return tostring({}) .. tostring(print) .. tostring(1.5)", "tablenil1.5"},
      {"return tonumber('0x10') + tonumber(' 7 ') + tonumber('ff', 16)", "278"},
      {"return tonumber(('1'):rep(1000)) == nil", "true"},
      {"return math.floor(2.7) + math.max(1, 5) + math.tointeger(2.0)", "9"},
      {"return '10' + 1 - ('2' * '3')", "5"},
      {"return -'4' .. ('b'):byte() .. select('#', ('abc'):byte(1, -1))", "-4983"},
      {"local ok, e = pcall(function() return ('1'):rep(300) + 1 end) return e",
       "a string of over 200 bytes is no number"},
      {"local ok, e = pcall(error, 'no') return tostring(ok) .. e", "falseno"},
      {"local ok, e = pcall(function() return nil + 1 end) return ok", "false"},
      {"return select(2, pcall(error, {1}))[1]", "1"},
      {"goto done do return 1 end ::done:: return 2", "2"},
  };
  for (const auto& test : kCases) EXPECT_EQ(Eval(test.body), test.want) << test.body;
}

TEST(Sandbox, HasNoWayOut) {
  for (const char* name : {"io",
                           "os",
                           "package",
                           "require",
                           "dofile",
                           "load",
                           "loadfile",
                           "loadstring",
                           "debug",
                           "collectgarbage",
                           "print",
                           "coroutine",
                           "utf8",
                           "setmetatable",
                           "getmetatable",
                           "rawset",
                           "rawget",
                           "rawequal",
                           "rawlen",
                           "next",
                           "xpcall",
                           "warn",
                           "_G",
                           "_VERSION",
                           "string.dump",
                           "string.pack",
                           "string.unpack",
                           "table.move",
                           "math.randomseed"}) {
    EXPECT_EQ(Eval("return " + std::string(name)), "nil") << name;
  }
  EXPECT_EQ(Loaded("\x1bLua").Run(), "0: attempt to load a binary chunk (mode is 't')");
  EXPECT_EQ(Eval("('').x = 1").substr(0, 3), "2: ");
  EXPECT_EQ(Eval("return ('').x == nil"), "true");
}

TEST(Sandbox, SaysWhatAndWhere) {
  const struct {
    const char* text;
    const char* want;
    Kind kind = Kind::kRuntime;
  } kCases[] = {
      {"function run() return nil + 1 end", "1: attempt to perform arithmetic on a nil value"},
      {"function run()\n\n local zone\n return zone.name end", "4: attempt to index a nil value (local 'zone')"},
      {"function run()\n missing() end", "2: attempt to call a nil value (global 'missing')"},
      {"function run()\n error('so it is') end", "2: so it is"},
      {"function run()\n error('so it is', 0) end", "2: so it is"},
      {"function run()\n error('a\\nb') end", "2: a?b"},
      {"function run()\n error(42) end", "2: 42"},
      {"function run()\n error({}) end", "2: an error that is no text but a value of type table"},
      {"function run()\n error() end", "2: an error that is no text but a value of type nil"},
      {"function run()\n assert(false, 'said') end", "2: said"},
      {"function run()\n ('x'):rep() end", "2: bad argument #1 to 'rep' (number expected, got no value)"},
      {"function run()\n return ('x'):find('[') end", "2: malformed pattern (missing ']')"},
      {"x = = 1", "1: unexpected symbol near '='", Kind::kSyntax},
      {"function run()\n\n", "3: 'end' expected (to close 'function' at line 1) near <eof>", Kind::kSyntax},
      {"\n\nerror('at the top')", "3: at the top"},
      {"function run()\n return string.format('%s', {}) end",
       "2: string.format writes strings, numbers and booleans, not a table", Kind::kRule},
      {"function run()\n return string.format('%5p', 1) end", "2: string.format has no '%p'", Kind::kRule},
      {"function run()\n return table.unpack({}, 1, 1000) end", "2: table.unpack gives 250 values at most",
       Kind::kRule},
      {"function run()\n for _ in pairs({[{}] = 1}) do end end",
       "2: pairs goes by the order of the keys, and a table has none", Kind::kRule},
      {"function run()\n return math.random() end", "2: math.random draws within calls only", Kind::kRule},
  };
  for (const auto& test : kCases) {
    Loaded script(test.text);
    EXPECT_EQ(script.Run(), test.want) << test.text;
    EXPECT_EQ(script.kind(), test.kind) << test.text;
  }
  EXPECT_EQ(Loaded(std::string(Sandbox::kSourceBytesMax + 1, ' ')).Run(), "0: longer than 262144 bytes");
}

TEST(Sandbox, KeepsNothingBetweenCalls) {
  const struct {
    const char* text;
    const char* want;
  } kCases[] = {
      {"function run() count = 1 end", "the global \"count\" is set in a call"},
      {"count = 0\nfunction run() count = count + 1 end", "the global \"count\" is set in a call"},
      {"function run() run = nil end", "the global \"run\" is set in a call"},
      {"function run() string.find = nil end", "the entry \"find\" is set in a table"},
      {"function run() args.zone = 'b' end", "the entry \"zone\" is set in a table"},
      {"function run() args.list[1] = 7 end", "the entry \"1\" is set in a table"},
      {"function run() table.insert(args.list, 7) end", "the entry \"4\" is set in a table"},
      {"function run() table.sort(args.list, function(a, b) return tostring(a) > tostring(b) end) end",
       "the entry \"1\" is set in a table"},
      {"local seen = {}\nfunction run() seen.x = 1 end", "the entry \"x\" is set in a table"},
      {"local seen = {deep = {}}\nfunction run() seen.deep.x = 1 end", "the entry \"x\" is set in a table"},
      {"local function list() return {} end local seen = list()\nfunction run() seen[1] = 1 end",
       "the entry \"1\" is set in a table"},
      {"local count = 0\nfunction run() count = count + 1 return count end",
       "the local variable \"count\" of the script's top level is changed in a call"},
      {"local function counter() local n = 0 return function() n = n + 1 return n end end\n"
       "local next_one = counter()\nfunction run() return next_one() end",
       "the local variable \"n\" of the script's top level is changed in a call"},
      {"local t = {f = (function() local n = 0 return function() n = n + 1 return n end end)()}\n"
       "function run() return t.f() end",
       "the local variable \"n\""},
      {"function run() _ENV = {} end", "the local variable \"_ENV\""},
      {"local kept\nfunction run() pcall(function() kept = 1 error('x') end) end", "the local variable \"kept\""},
      {"local kept\nfunction run() kept = 1 error('x') end", "the local variable \"kept\""},
      // Equal numbers that have different texts.
      {"local kept = 1\nfunction run() kept = 1.0 return 1 end", "the local variable \"kept\""},
      {"local kept = 0.0\nfunction run() kept = -0.0 return 1 end", "the local variable \"kept\""},
      {"local kept = 0 / 0\nfunction run() kept = -kept return 1 end", "the local variable \"kept\""},
      {"local kept = 0 / 0\nfunction run() kept = 1 return 1 end", "the local variable \"kept\""},
  };
  for (const auto& test : kCases) {
    Loaded script(test.text);
    const std::string first = script.Run();
    EXPECT_NE(first.find(test.want), std::string::npos) << test.text << "\n" << first;
    EXPECT_EQ(script.kind(), Kind::kRule) << test.text;
    EXPECT_EQ(script.Run(), first) << "the first call has left something behind: " << test.text;
  }
  // A call may change the variables and tables that it creates.
  EXPECT_EQ(Eval("local n, t = 0, {} for i = 1, 3 do (function() n = n + i t[i] = n end)() end return t[3]"), "6");
  EXPECT_EQ(Eval("local _ENV = {} x = 1 return x"), "1");
  EXPECT_EQ(
      Loaded("local function twice(n) return n < 2 and n or twice_(n) end\n"
             "local function fact(n) return n < 2 and 1 or n * fact(n - 1) end\nfunction run() return fact(5) end")
          .Run(),
      "120");
}

TEST(Sandbox, WhatIsNoNumberIsTheSameAfterACall) {
  Loaded script("local unknown = 0 / 0\nfunction run() return unknown ~= unknown end");
  EXPECT_EQ(script.Run(), "true");
  EXPECT_EQ(script.Run(), "true");
}

TEST(Sandbox, EndsWhateverTheScriptDoes) {
  const std::string instructions = "over 100000 instructions (instructionsMax): does it loop for ever?";
  const std::string memory = "over 8388608 bytes of memory (memoryBytesMax)";
  const std::string string = "a string of over 65536 bytes";
  const std::string stack = "over 131072 bytes of arguments and local variables: does a function call itself for ever?";
  const struct {
    const char* body;
    const std::string& want;
  } kCases[] = {
      {"while true do end", instructions},
      {"repeat until false", instructions},
      {"pcall(function() while true do end end) return 1", instructions},
      {"while true do pcall(function() while true do end end) end", instructions},
      {"local function f() return f() end return f()", instructions},
      {"while true do pcall(error, 'x') end", instructions},
      {"local s = 'x' while true do s = s .. s end", string},
      {"local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end", memory},
      {"pcall(function() local s = 'x' while true do s = s .. s end end) return 1", string},
      {"return ('x'):rep(1e9)", memory},
      {"return ('x'):rep(1e6):rep(1e3)", string},
      {"while true do local s = ('x'):rep(60000) end", memory},
      {"return table.concat({('x'):rep(60000), ('y'):rep(60000), ('z'):rep(60000)})", string},
      {"local s = ('a'):rep(100) return s:find('.-.-.-.-.-.-.-b')", instructions},
      {"local s = ('a'):rep(100) return pcall(s.find, s, '.-.-.-.-.-.-.-b')", instructions},
      {"local s = ('a'):rep(100) return (s:gsub('.-.-.-.-.-.-.-b', ''))", instructions},
      {"local s = ('a'):rep(100) for _ in s:gmatch('.-.-.-.-.-.-.-b') do end", instructions},
      {"local s = ('a'):rep(60000) return s:find(('a'):rep(1000) .. 'b', 1, true)", instructions},
      {"return table.concat({}, '', 1, 1 << 60)", instructions},
      {"local s = ('a'):rep(2000) while true do s:byte(1, -1) end", instructions},
      {"local s = ('a'):rep(50000) while true do s:byte(1, -1) end", stack},
      {"local s = ('a'):rep(50000) while true do pcall(s.byte, s, 1, -1) end", stack},
      {"local function f(...) return f(1, 2, 3, 4, 5, 6, 7, 8, ...) end return f()", instructions},
      {"local function f(...) local a, b, c, d, e, f1, g, h, i, j, k, l, m, n, o, p = ... return (f(1, ...)) end "
       "return f()",
       stack},
      {"local function f(n) return 1 + f(n + 1) end return f(1)", stack},
      {"local t = {} for i = 1, 20000 do t[i] = i end for i = 1, 1000 do table.insert(t, 1, i) end", instructions},
      {"local t = {} for i = 1, 9000 do t[i] = -i end for i = 1, 10 do table.sort(t) end", instructions},
      {"local t = {} for i = 1, 9000 do t[i] = -i end for i = 1, 10 do pairs(t) end", instructions},
  };
  for (const auto& test : kCases) {
    Loaded script("function run()\n" + std::string(test.body) + "\nend\n");
    const std::string said = script.Run();
    EXPECT_NE(said.find(test.want), std::string::npos) << test.body << "\n" << said;
    EXPECT_EQ(script.kind(), Kind::kLimit) << test.body;
    EXPECT_EQ(script.Run(), said) << "not the same again: " << test.body;
  }
  // Lua's own limits on nesting.
  EXPECT_NE(Eval("local function f() return (pcall(f)) end return f()").find("true"), std::string::npos);
  EXPECT_NE(Eval("return (('a'):gsub('a', function() return nil + 1 end))").find("nil value"), std::string::npos);
  EXPECT_NE(Loaded("local x = " + std::string(300, '(') + "1" + std::string(300, ')')).Run().find("overflow"),
            std::string::npos);
  // Limits apply while loading, too.
  EXPECT_EQ(Loaded("while true do end").kind(), Kind::kLimit);
  EXPECT_EQ(Loaded("t = {} for i = 1, 1e9 do t[i] = i end").kind(), Kind::kLimit);
  EXPECT_NE(Loaded("t = {} for i = 1, 300 do local n = i t[i] = function() return n end "
                   "end function run() return 1 end")
                .Run()
                .find("over 256 local variables outlive a call"),
            std::string::npos);
}

// The work of a single Lua instruction is limited as well.
TEST(Sandbox, EndsInTime) {
  EXPECT_EQ(Eval("return #(''):rep(1 << 62)"), "0");
  EXPECT_EQ(Eval("return #(''):rep(1 << 62, '')"), "0");
  EXPECT_EQ(Eval("return #('x'):rep(-1) .. ('x'):rep(2)"), "0xx");
  // 20,000 instructions usually suffice, but not if each of them may read 60,000 bytes.
  const std::string loop = " for i = 1, 4000 do local b = s < s end return 1 end";
  EXPECT_EQ(Loaded("function run() local s = ('\\0x'):rep(500)" + loop).Run(), "1");
  EXPECT_NE(Loaded("function run() local s = ('\\0x'):rep(30000)" + loop).Run().find("over 100000 instructions"),
            std::string::npos);
  EXPECT_NE(Loaded("local s = ('\\0x'):rep(30000) function run()" + loop).Run().find("over 100000 instructions"),
            std::string::npos);
  // Sorting reads strings as well.
  const std::string list = "function run() local t, a = {}, ('\\0x'):rep(";
  const std::string sort = ") for i = 1, 500 do t[i] = a end table.sort(t) return 1 end";
  EXPECT_EQ(Loaded(list + "10" + sort).Run(), "1");
  EXPECT_NE(Loaded(list + "30000" + sort).Run().find("over 100000 instructions"), std::string::npos);
}

// Operations that cost far more than an instruction are charged: a loop of a few thousand exceeds the limit, while the
// same loop with ordinary values does not.
TEST(Sandbox, ChargesWhatIsDear) {
  const auto loop = [](const std::string& head, int times, const std::string& body) {
    return Loaded("function run() " + head + " for i = 1, " + std::to_string(times) + " do " + body +
                  " end return 1 end")
        .Run();
  };
  const std::string over = "over 100000 instructions";
  const std::string digits = "local s = '" + std::string(3, '2') + "." + std::string(190, '7') + "e-30'";
  EXPECT_EQ(loop("local s = '2.5'", 4000, "local x = s * 1"), "1");
  EXPECT_NE(loop(digits, 4000, "local x = s * 1").find(over), std::string::npos);
  EXPECT_EQ(loop(digits, 100, "local x = s * 1"), "1");
  EXPECT_NE(loop(digits, 4000, "local x = math.floor(s)").find(over), std::string::npos);
  EXPECT_EQ(loop("", 1000, "local x = ('%5.2f'):format(12.5)"), "1");
  EXPECT_NE(loop("", 1000, "local x = ('%99.99f'):format(1e300)").find(over), std::string::npos);
  EXPECT_NE(loop("", 1000, "local x = ('%.99g'):format(1e-300)").find(over), std::string::npos);
  // A "..." of many values; table.unpack() returns fewer.
  const std::string wide =
      "local function sink() end local function grow(n, ...) if n > 0 then return grow(n - 1, 1, 2, 3, 4, 5, 6, 7, 8, "
      "...) end for i = 1, 2000 do sink(...) end return 1 end return grow(";
  EXPECT_EQ(Loaded("function run() " + wide + "20) end").Run(), "1");
  const std::string said = Loaded("function run() " + wide + "120) end").Run();
  EXPECT_NE(said.find(over), std::string::npos) << said;
  Loaded again("function run() " + wide + "120) end");
  EXPECT_EQ(again.Run(), again.Run()) << "whether the stack was large before makes no difference";
}

// With full memory, a call would trigger a collection for each value.
TEST(Sandbox, CollectsGarbageAFewTimes) {
  const std::string fill = "local t = {} for i = 1, 120 do t[i] = ('x'):rep(60000) .. i end ";
  EXPECT_EQ(Eval(fill + "return #t"), "120");
  EXPECT_NE(Eval(fill + "for i = 121, 138 do t[i] = ('x'):rep(60000) .. i end "
                        "for i = 1, 10000 do local s = ('y'):rep(2000) .. i end return 1")
                .find("over 8388608 bytes of memory"),
            std::string::npos);
}

// The same order in every run: Lua's own sort would use the clock here.
TEST(Sandbox, SortsAndKeepsTheOrderOfEquals) {
  EXPECT_EQ(Eval("local t = {} for i = 1, 1000 do t[i] = {i, i * i % 7} end "
                 "table.sort(t, function(a, b) return a[2] < b[2] end) "
                 "for i = 2, 1000 do local a, b = t[i - 1], t[i] "
                 "if a[2] > b[2] or (a[2] == b[2] and a[1] > b[1]) then return i end end return 'sorted'"),
            "sorted");
  EXPECT_EQ(Eval("local t = {} for i = 1, 2500 do t[i] = i * 7919 % 2503 end table.sort(t) "
                 "for i = 2, 2500 do if t[i - 1] >= t[i] then return i end end return 'sorted'"),
            "sorted");
  EXPECT_EQ(Eval("local t = {'b', 'a', 'c'} table.sort(t, nil) return table.concat(t)"), "abc");
  EXPECT_EQ(Eval("table.sort({}) table.sort({1}) return 1"), "1");
  EXPECT_EQ(Eval("table.sort({1, 'x'})"), "2: attempt to compare string with number");
  EXPECT_EQ(Eval("table.sort({1, 2}, 7)"), "2: bad argument #2 to 'sort' (function expected, got number)");
  EXPECT_EQ(Eval("local t = {3, 1, 2} pcall(table.sort, t, function() error('x') end) return table.concat(t)"), "312");
  EXPECT_EQ(Eval("local t = {3, 1, 2} table.sort(t, function() return true end) return #t"), "3");
}

TEST(Sandbox, LongStringsAreNoNumbers) {
  // Lua takes a millisecond to convert 60 KB of digits, wherever a library function expects a number.
  for (const char* call :
       {"math.floor(s)", "math.max(1, s)", "math.random(s)", "('x'):sub(s)", "('x'):rep(s)", "('x'):byte(1, s)",
        "string.char(s)", "('x'):find('y', s)", "('x'):gsub('y', '', s)", "string.format('%s %d', s, s)",
        "table.insert({}, s, 1)", "table.remove({}, s)", "table.concat({}, '', s)", "table.unpack({}, s)",
        "select(s, 1)", "error('x', s)", "tonumber('1', s)", "s + 1", "-s"}) {
    const std::string said = Eval("local s = ('1'):rep(201) local x = " + std::string(call));
    EXPECT_EQ(said, "2: a string of over 200 bytes is no number") << call;
  }
  for (const char* fine : {"math.floor('1')", "('x'):sub('1')", "string.format('%s %%', s) and 1", "tonumber(s) or 1",
                           "table.insert({}, s) or 1", "string.format('%d', '1')", "#table.concat({s}, s) // 200"})
    EXPECT_EQ(Eval("local s = ('1'):rep(201) return " + std::string(fine) + " and 1"), "1") << fine;
  // Errors about arguments name the function.
  EXPECT_NE(Eval("return math.floor({})").find("bad argument #1 to 'floor'"), std::string::npos);
}

TEST(Sandbox, LimitsAreThoseThatAreSet) {
  const std::string loop = "function run() for i = 1, 1000 do end return 1 end";
  EXPECT_EQ(Loaded(loop).Run(), "1");
  EXPECT_NE(Loaded(loop, {.instructions_max = 500}).Run().find("over 500 instructions"), std::string::npos);
  const std::string fill = "function run() local t = {} for i = 1, 5000 do t[i] = i end return #t end";
  EXPECT_EQ(Loaded(fill).Run(), "5000");
  EXPECT_NE(Loaded(fill, {.memory_bytes_max = std::size_t{128} << 10}).Run().find("over 131072 bytes"),
            std::string::npos);
}

TEST(Sandbox, AfterAnOverrunItGoesOn) {
  Loaded script("function run() if not args.go then while true do end end end\nok = 1");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(script.Run().find("over 100000"), 3U);
  Loaded other("function run() return 1 end");
  EXPECT_EQ(other.Run(), "1");
}

TEST(Sandbox, ChanceComesFromTheSeed) {
  Loaded script(
      "function run() return math.random(1000) .. ' ' .. math.random(5, 5) .. ' ' .. "
      "tostring(math.random() < 1) end");
  std::uint64_t seed = 1;
  script.sandbox->random().SetSource([&seed]() -> std::optional<Random> {
    if (seed == 0) return std::nullopt;
    return Random(seed);
  });
  const std::string first = script.Run();
  EXPECT_EQ(script.Run(), first) << "what was drawn before matters";
  seed = 2;
  EXPECT_NE(script.Run(), first);
  script.sandbox->random().SetReason("not now");
  seed = 0;
  EXPECT_EQ(script.Run(), "1: not now");
  EXPECT_EQ(Loaded("function run() return 1 end x = math.random()").Shown(), "1: math.random draws within calls only");
}

}  // namespace
}  // namespace berth::script
