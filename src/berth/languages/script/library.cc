// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/script/library.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <lua.hpp>

#include "berth/languages/script/pattern.h"
#include "berth/languages/script/sandbox.h"
#include "berth/languages/script/sorting.h"

namespace berth::script {

namespace {

constexpr std::size_t kNumeralBytesMax = 200;
constexpr std::uint64_t kUnpackMax = 250;

std::string_view CheckText(lua_State* lua, int index) {
  std::size_t size = 0;
  const char* text = luaL_checklstring(lua, index, &size);
  return {text, size};
}

// Lua accepts a string for a number wherever it needs one. Such strings are limited in length and charged for, because
// the time of the conversion grows with the square of the number of digits.
void CheckNumeral(lua_State* lua, int index) {
  if (lua_type(lua, index) != LUA_TSTRING) return;
  const std::size_t size = lua_rawlen(lua, index);
  if (size > kNumeralBytesMax)
    Sandbox::RaiseRule(lua, "a string of over %d bytes is no number", static_cast<int>(kNumeralBytesMax));
  constexpr std::size_t kSquaresPerStep = 64;
  Sandbox::Of(lua).Charge(lua, static_cast<std::int64_t>(size * size / kSquaresPerStep));
}

// Calls the wrapped function (upvalue 1) with the same arguments. Its errors name that function.
int CallWrapped(lua_State* lua) { return lua_tocfunction(lua, lua_upvalueindex(1))(lua); }

// Wraps a function of Lua's whose arguments kFirst to kLast are numbers.
template <int kFirst, int kLast>
int WithNumerals(lua_State* lua) {
  for (int i = kFirst; i <= std::min(kLast, lua_gettop(lua)); ++i) CheckNumeral(lua, i);
  return CallWrapped(lua);
}
constexpr int kAll = 1'000'000;  // calls have fewer arguments

// ---- base ----

int ProtectedCall(lua_State* lua) {
  luaL_checkany(lua, 1);
  const int status = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0);
  if (status == LUA_OK) {
    lua_pushboolean(lua, 1);
    lua_insert(lua, 1);
    return lua_gettop(lua);
  }
  // The error of a call that exceeds its limits cannot be caught.
  Sandbox& sandbox = Sandbox::Of(lua);
  sandbox.RecordStatus(status);
  if (sandbox.IsOver()) return lua_error(lua);
  sandbox.ForgiveRule();
  lua_pushboolean(lua, 0);
  lua_insert(lua, -2);
  return 2;
}

// Does not show addresses, which differ between runs.
int ToString(lua_State* lua) {
  luaL_checkany(lua, 1);
  const int type = lua_type(lua, 1);
  if (type == LUA_TSTRING || type == LUA_TNUMBER || type == LUA_TBOOLEAN || type == LUA_TNIL) {
    luaL_tolstring(lua, 1, nullptr);
  } else {
    lua_pushstring(lua, luaL_typename(lua, 1));
  }
  return 1;
}

int ToNumber(lua_State* lua) {
  if (lua_type(lua, 1) == LUA_TSTRING && lua_rawlen(lua, 1) > kNumeralBytesMax) {
    lua_pushnil(lua);
    return 1;
  }
  CheckNumeral(lua, 2);
  return CallWrapped(lua);
}

// Upvalues: the keys, the number of keys returned so far, the table.
int NextPair(lua_State* lua) {
  const lua_Integer count = static_cast<lua_Integer>(lua_rawlen(lua, lua_upvalueindex(1)));
  for (lua_Integer i = lua_tointeger(lua, lua_upvalueindex(2)) + 1; i <= count; ++i) {
    lua_pushinteger(lua, i);
    lua_replace(lua, lua_upvalueindex(2));
    lua_rawgeti(lua, lua_upvalueindex(1), i);
    lua_pushvalue(lua, -1);
    lua_gettable(lua, lua_upvalueindex(3));
    // The entry was removed during the iteration.
    if (!lua_isnil(lua, -1)) return 2;
    lua_settop(lua, 0);
  }
  lua_pushnil(lua);
  return 1;
}

// Iterates in the order of keys, because the order of Lua's own tables differs between processes.
int Pairs(lua_State* lua) {
  if (luaL_getmetafield(lua, 1, "__pairs") != LUA_TNIL) {
    lua_pushvalue(lua, 1);
    lua_call(lua, 1, 1);
    return 1;
  }
  if (lua_type(lua, 1) != LUA_TTABLE) {
    Sandbox::RaiseRule(lua, "pairs wants a table or a map, not %s: a list is for ipairs", luaL_typename(lua, 1));
  }
  lua_settop(lua, 1);
  PushEntries(lua, 1);
  lua_newtable(lua);
  lua_Integer count = 0;
  lua_pushnil(lua);
  while (lua_next(lua, 2) != 0) {
    lua_pop(lua, 1);
    const int type = lua_type(lua, -1);
    if (type != LUA_TNUMBER && type != LUA_TSTRING && type != LUA_TBOOLEAN)
      Sandbox::RaiseRule(lua, "pairs goes by the order of the keys, and a %s has none", luaL_typename(lua, -1));
    lua_pushvalue(lua, -1);
    lua_rawseti(lua, 3, ++count);
  }
  Sandbox::Of(lua).Charge(lua, SortingCost(count));
  SortTable(lua, 3, count, &IsKeyBefore, 0);
  lua_pushinteger(lua, 0);
  lua_pushvalue(lua, 1);
  lua_pushcclosure(lua, &NextPair, 3);
  return 1;
}

// ---- table ----

enum class Cost : lua_Integer { kInserting, kRemoving, kUnpacking };

// A function of Lua's (upvalue 1) that processes a whole table (first argument) without being interruptible, and is
// therefore charged in advance.
int ChargedTableFunction(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const lua_Integer length = luaL_len(lua, 1);
  const auto cost = static_cast<Cost>(lua_tointeger(lua, lua_upvalueindex(2)));
  switch (cost) {
    case Cost::kInserting:
    case Cost::kRemoving:
      Sandbox::Of(lua).Charge(lua, length);
      // Any string may be appended to a list: table.insert(list, value).
      if (cost == Cost::kRemoving || lua_gettop(lua) > 2) CheckNumeral(lua, 2);
      break;
    case Cost::kUnpacking: {
      CheckNumeral(lua, 2);
      CheckNumeral(lua, 3);
      const lua_Integer first = luaL_optinteger(lua, 2, 1);
      const lua_Integer last = luaL_optinteger(lua, 3, length);
      const std::uint64_t more = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
      if (last > first && more >= kUnpackMax)
        Sandbox::RaiseRule(lua, "table.unpack gives %d values at most", static_cast<int>(kUnpackMax));
      break;
    }
  }
  return CallWrapped(lua);
}

// table.sort(list, is_before)
int Sort(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const bool has_function = !lua_isnoneornil(lua, 2);
  if (has_function) luaL_checktype(lua, 2, LUA_TFUNCTION);
  lua_settop(lua, 2);
  const lua_Integer count = luaL_len(lua, 1);
  Sandbox::Of(lua).Charge(lua, SortingCost(count));
  if (count > 1) SortTable(lua, 1, count, has_function ? &IsLessForScript : &IsLess, 2);
  return 0;
}

// table.concat(list, separator, from, to) reads the requested range even if the list is shorter.
int Concat(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  CheckNumeral(lua, 3);
  CheckNumeral(lua, 4);
  const lua_Integer first = luaL_optinteger(lua, 3, 1);
  const lua_Integer last = luaL_opt(lua, luaL_checkinteger, 4, luaL_len(lua, 1));
  if (last >= first) {
    const auto count = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
    Sandbox::Of(lua).Charge(lua, static_cast<std::int64_t>(std::min<std::uint64_t>(count, INT32_MAX)) + 1);
  }
  return CallWrapped(lua);
}

// ---- string ----

// The cost of a floating-point directive: the digits before and after the point determine the size of the number that
// is divided repeatedly. `precision` is the directive's.
std::int64_t StepsOfFloat(lua_State* lua, int index, int precision) {
  constexpr std::int64_t kStepsPerDigit = 2;
  const double value = lua_type(lua, index) == LUA_TNUMBER ? std::fabs(lua_tonumber(lua, index)) : HUGE_VAL;
  int exponent = 0;
  std::frexp(value, &exponent);  // the binary exponent
  const bool is_ordinary = value == 0 || (std::isfinite(value) && std::abs(exponent) <= 64);
  constexpr int kOrdinaryDigits = 20;
  constexpr int kDigitsMax = 310;
  return kStepsPerDigit * (precision + (is_ordinary ? kOrdinaryDigits : kDigitsMax));
}

// Formats values, but not addresses.
int Format(lua_State* lua) {
  const std::string_view format = CheckText(lua, 1);
  for (int i = 2; i <= lua_gettop(lua); ++i) {
    const int type = lua_type(lua, i);
    if (type != LUA_TSTRING && type != LUA_TNUMBER && type != LUA_TBOOLEAN && type != LUA_TNIL)
      Sandbox::RaiseRule(lua, "string.format writes strings, numbers and booleans, not a %s", luaL_typename(lua, i));
  }
  // A formatted number may have hundreds of digits.
  constexpr std::int64_t kStepsPerValue = 20;
  constexpr std::string_view kFloats = "aAeEfFgG";
  std::int64_t steps = kStepsPerValue;
  int argument = 1;
  bool is_directive = false;
  std::size_t point = std::string_view::npos;  // position of the directive's point
  for (std::size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    if (!is_directive) {
      is_directive = c == '%';
      if (is_directive) ++argument;
      point = std::string_view::npos;
      continue;
    }
    if (c == '.') point = i;
    is_directive = (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '%';
    if (c == 'p') Sandbox::RaiseRule(lua, "string.format has no '%%p'");
    if (c == '%') --argument;
    if (is_directive || c == '%') continue;
    if (c != 's' && c != 'q') CheckNumeral(lua, argument);
    steps += kStepsPerValue;
    if (kFloats.find(c) == std::string_view::npos) continue;
    // Lua rejects more than two digits of precision.
    const int precision = point == std::string_view::npos ? 6 : std::min(99, std::atoi(format.data() + point + 1));
    steps += StepsOfFloat(lua, argument, precision);
  }
  Sandbox::Of(lua).Charge(lua, steps);
  return CallWrapped(lua);
}

// Lua's own string.rep loops over all copies, even of an empty string.
int Repeat(lua_State* lua) {
  const std::size_t size = CheckText(lua, 1).size();
  CheckNumeral(lua, 2);
  const lua_Integer count = luaL_checkinteger(lua, 2);
  const std::size_t separator_size = lua_isnoneornil(lua, 3) ? 0 : CheckText(lua, 3).size();
  if (count <= 0 || size + separator_size == 0) {
    lua_pushliteral(lua, "");
    return 1;
  }
  return CallWrapped(lua);
}

int Byte(lua_State* lua) {
  CheckNumeral(lua, 2);
  CheckNumeral(lua, 3);
  const auto size = static_cast<lua_Integer>(CheckText(lua, 1).size());
  const lua_Integer first = luaL_optinteger(lua, 2, 1);
  const lua_Integer last = luaL_optinteger(lua, 3, first);
  // The number of characters requested is limited by the size.
  Sandbox::Of(lua).Charge(lua, first == last ? 1 : size);
  return CallWrapped(lua);
}

// The start of a search for a given `init`; 0 is the first character. Greater than `size`: there is nothing to search.
std::size_t BeginOf(lua_Integer init, std::size_t size) {
  if (init > 0) return static_cast<std::size_t>(init) - 1;
  if (init == 0) return 0;
  return init < -static_cast<lua_Integer>(size) ? 0 : size - static_cast<std::size_t>(-init);
}

// Returns whether there is a match; raises an error if the search failed.
bool Matched(lua_State* lua, const Pattern& match, Pattern::Result result) {
  switch (result) {
    case Pattern::Result::kMatch: return true;
    case Pattern::Result::kNoMatch: return false;
    case Pattern::Result::kMalformed: luaL_error(lua, "%s", match.error()); break;
    case Pattern::Result::kOutOfSteps: break;
  }
  Sandbox::Of(lua).RaiseOutOfSteps(lua);
}

// Pushes capture i, or the whole match if i is 0 and there are no captures.
void PushCapture(lua_State* lua, const Pattern& match, int i, std::string_view subject, std::size_t begin) {
  if (i >= match.capture_count()) {
    if (i != 0) luaL_error(lua, "invalid capture index %%%d", i + 1);
    lua_pushlstring(lua, subject.data() + begin, match.end() - begin);
    return;
  }
  const Pattern::Capture& capture = match.capture(i);
  if (capture.length == Pattern::kOpen) luaL_error(lua, "unfinished capture");
  if (capture.length == Pattern::kPosition) {
    lua_pushinteger(lua, static_cast<lua_Integer>(capture.begin) + 1);
  } else {
    lua_pushlstring(lua, subject.data() + capture.begin, capture.length);
  }
}

// Pushes all captures; without captures the whole match, if `wants_whole`.
int PushCaptures(lua_State* lua, const Pattern& match, std::string_view subject, std::size_t begin, bool wants_whole) {
  const int count = match.capture_count() == 0 && wants_whole ? 1 : match.capture_count();
  luaL_checkstack(lua, count, "too many captures");
  for (int i = 0; i < count; ++i) PushCapture(lua, match, i, subject, begin);
  return count;
}

int FindPlain(lua_State* lua, std::string_view subject, std::string_view wanted, std::size_t begin) {
  constexpr double kBytesPerStep = 32;
  const double work = static_cast<double>(subject.size() - begin) * static_cast<double>(wanted.size() + 1);
  Sandbox::Of(lua).Charge(lua, 1 + static_cast<std::int64_t>(std::min(work / kBytesPerStep, 1e15)));
  const std::size_t at = subject.find(wanted, begin);
  if (at == std::string_view::npos) {
    lua_pushnil(lua);
    return 1;
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(at) + 1);
  lua_pushinteger(lua, static_cast<lua_Integer>(at + wanted.size()));
  return 2;
}

int FindOrMatch(lua_State* lua, bool is_find) {
  const std::string_view subject = CheckText(lua, 1);
  std::string_view pattern = CheckText(lua, 2);
  CheckNumeral(lua, 3);
  const std::size_t begin = BeginOf(luaL_optinteger(lua, 3, 1), subject.size());
  if (begin > subject.size()) {
    lua_pushnil(lua);
    return 1;
  }
  if (is_find && (lua_toboolean(lua, 4) != 0 || Pattern::IsPlain(pattern)))
    return FindPlain(lua, subject, pattern, begin);
  const bool is_anchored = pattern.starts_with('^');
  if (is_anchored) pattern.remove_prefix(1);
  Pattern match(subject, pattern, Sandbox::Of(lua).steps_left());
  for (std::size_t at = begin; at <= subject.size(); ++at) {
    if (Matched(lua, match, match.MatchAt(at))) {
      if (!is_find) return PushCaptures(lua, match, subject, at, true);
      lua_pushinteger(lua, static_cast<lua_Integer>(at) + 1);
      lua_pushinteger(lua, static_cast<lua_Integer>(match.end()));
      return 2 + PushCaptures(lua, match, subject, at, false);
    }
    if (is_anchored) break;
  }
  lua_pushnil(lua);
  return 1;
}

int Find(lua_State* lua) { return FindOrMatch(lua, true); }
int MatchFunction(lua_State* lua) { return FindOrMatch(lua, false); }

// Upvalues: subject, pattern, where to continue, the end of the last match (-1: none).
int NextMatch(lua_State* lua) {
  std::size_t size = 0;
  const char* text = lua_tolstring(lua, lua_upvalueindex(1), &size);
  const std::string_view subject(text, size);
  text = lua_tolstring(lua, lua_upvalueindex(2), &size);
  Pattern match(subject, {text, size}, Sandbox::Of(lua).steps_left());
  const lua_Integer last_end = lua_tointeger(lua, lua_upvalueindex(4));
  for (auto at = static_cast<std::size_t>(lua_tointeger(lua, lua_upvalueindex(3))); at <= subject.size(); ++at) {
    if (!Matched(lua, match, match.MatchAt(at)) || static_cast<lua_Integer>(match.end()) == last_end) continue;
    lua_pushinteger(lua, static_cast<lua_Integer>(match.end()));
    lua_pushvalue(lua, -1);
    lua_replace(lua, lua_upvalueindex(3));
    lua_replace(lua, lua_upvalueindex(4));
    return PushCaptures(lua, match, subject, at, true);
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(subject.size()) + 1);
  lua_replace(lua, lua_upvalueindex(3));
  return 0;
}

int EachMatch(lua_State* lua) {
  CheckText(lua, 1);
  CheckText(lua, 2);
  lua_settop(lua, 2);
  lua_pushinteger(lua, 0);
  lua_pushinteger(lua, -1);
  lua_pushcclosure(lua, &NextMatch, 4);
  return 1;
}

// Appends a replacement string after expanding "%1" and the like.
void AddReplacement(lua_State* lua, luaL_Buffer& out, const Pattern& match, std::string_view subject,
                    std::size_t begin) {
  std::size_t size = 0;
  const char* text = lua_tolstring(lua, 3, &size);
  for (std::size_t i = 0; i < size; ++i) {
    if (text[i] != '%') {
      luaL_addchar(&out, text[i]);
      continue;
    }
    const char next = ++i < size ? text[i] : '\0';
    if (next == '%') {
      luaL_addchar(&out, '%');
    } else if (next == '0') {
      luaL_addlstring(&out, subject.data() + begin, match.end() - begin);
    } else if (next >= '1' && next <= '9') {
      PushCapture(lua, match, next - '1', subject, begin);
      luaL_tolstring(lua, -1, nullptr);
      lua_remove(lua, -2);
      luaL_addvalue(&out);
    } else {
      luaL_error(lua, "invalid use of '%%' in replacement string");
    }
  }
}

// Appends the replacement of the match.
void Substitute(lua_State* lua, luaL_Buffer& out, const Pattern& match, std::string_view subject, std::size_t begin) {
  switch (lua_type(lua, 3)) {
    case LUA_TFUNCTION: {
      lua_pushvalue(lua, 3);
      const int count = PushCaptures(lua, match, subject, begin, true);
      lua_call(lua, count, 1);
      break;
    }
    case LUA_TTABLE:
      PushCapture(lua, match, 0, subject, begin);
      lua_gettable(lua, 3);
      break;
    default: AddReplacement(lua, out, match, subject, begin); return;
  }
  if (lua_toboolean(lua, -1) == 0) {
    lua_pop(lua, 1);
    luaL_addlstring(&out, subject.data() + begin, match.end() - begin);
  } else if (lua_isstring(lua, -1) == 0) {
    luaL_error(lua, "invalid replacement value (a %s)", luaL_typename(lua, -1));
  } else {
    luaL_addvalue(&out);
  }
}

int GlobalSubstitute(lua_State* lua) {
  const std::string_view subject = CheckText(lua, 1);
  std::string_view pattern = CheckText(lua, 2);
  const int type = lua_type(lua, 3);
  luaL_argexpected(lua, type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION || type == LUA_TTABLE, 3,
                   "string/function/table");
  CheckNumeral(lua, 4);
  const lua_Integer count_max = luaL_optinteger(lua, 4, static_cast<lua_Integer>(subject.size()) + 1);
  const bool is_anchored = pattern.starts_with('^');
  if (is_anchored) pattern.remove_prefix(1);
  Pattern match(subject, pattern, Sandbox::Of(lua).steps_left());
  luaL_Buffer out;
  luaL_buffinit(lua, &out);
  lua_Integer count = 0;
  std::size_t at = 0;
  std::size_t last_end = Pattern::kNone;
  while (count < count_max) {
    const bool is_match = Matched(lua, match, match.MatchAt(at));
    if (is_match && match.end() != last_end) {
      ++count;
      Substitute(lua, out, match, subject, at);
      at = last_end = match.end();
    } else if (at < subject.size()) {
      luaL_addchar(&out, subject[at++]);
    } else {
      break;
    }
    if (is_anchored) break;
  }
  luaL_addlstring(&out, subject.data() + std::min(at, subject.size()), subject.size() - std::min(at, subject.size()));
  luaL_pushresult(&out);
  lua_pushinteger(lua, count);
  return 2;
}

// ---- math ----

// Like Lua's: random() is in [0, 1), random(n) from 1 to n, random(m, n) from m to n.
int RandomFunction(lua_State* lua) {
  const int arguments = lua_gettop(lua);
  CheckNumeral(lua, 1);
  CheckNumeral(lua, 2);
  CallRandom& source = Sandbox::Of(lua).random();
  Random* drawn_from = source.Draw();
  if (drawn_from == nullptr) Sandbox::RaiseRule(lua, "%s", source.reason());
  Random& random = *drawn_from;
  if (arguments == 0) {
    lua_pushnumber(lua, static_cast<double>(random.Next() >> 11) * 0x1p-53);
    return 1;
  }
  const lua_Integer low = arguments == 1 ? 1 : luaL_checkinteger(lua, 1);
  const lua_Integer high = luaL_checkinteger(lua, arguments == 1 ? 1 : 2);
  luaL_argcheck(lua, low <= high, arguments == 1 ? 1 : 2, "interval is empty");
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  const std::uint64_t drawn = span == 0 ? random.Next() : random.Below(span);
  lua_pushinteger(lua, static_cast<lua_Integer>(static_cast<std::uint64_t>(low) + drawn));
  return 1;
}

// ---- Available functions ----

void Open(lua_State* lua, const char* name, lua_CFunction open) {
  luaL_requiref(lua, name, open, 0);
  lua_pop(lua, 1);
}

// Removes all other entries from the table on top of the stack.
template <std::size_t kCount>
void KeepOnly(lua_State* lua, const std::array<const char*, kCount>& names) {
  lua_newtable(lua);
  for (const char* name : names) {
    lua_getfield(lua, -2, name);
    lua_setfield(lua, -2, name);
  }
  lua_pushnil(lua);
  while (lua_next(lua, -3) != 0) {
    lua_pop(lua, 1);
    lua_pushvalue(lua, -1);
    lua_pushnil(lua);
    lua_rawset(lua, -5);
  }
  for (const char* name : names) {
    lua_getfield(lua, -1, name);
    lua_setfield(lua, -3, name);
  }
  lua_pop(lua, 1);
}

// Replaces a function in the table on top of the stack by a wrapper with the function as its first upvalue.
void Wrap(lua_State* lua, const char* name, lua_CFunction wrapper, lua_Integer second = 0) {
  lua_getfield(lua, -1, name);
  lua_pushinteger(lua, second);
  lua_pushcclosure(lua, wrapper, 2);
  lua_setfield(lua, -2, name);
}

void Set(lua_State* lua, const char* name, lua_CFunction function) {
  lua_pushcfunction(lua, function);
  lua_setfield(lua, -2, name);
}

void PushLibrary(lua_State* lua, const char* name) {
  luaL_getsubtable(lua, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(lua, -1, name);
  lua_remove(lua, -2);
}

}  // namespace

void PushEntries(lua_State* lua, int table) {
  if (lua_getmetatable(lua, table) == 0) {
    lua_pushvalue(lua, table);
    return;
  }
  lua_pushliteral(lua, "__index");
  lua_rawget(lua, -2);
  lua_remove(lua, -2);
}

void OpenLibrary(lua_State* lua) {
  Open(lua, LUA_GNAME, luaopen_base);
  Open(lua, LUA_STRLIBNAME, luaopen_string);
  Open(lua, LUA_TABLIBNAME, luaopen_table);
  Open(lua, LUA_MATHLIBNAME, luaopen_math);

  PushLibrary(lua, LUA_STRLIBNAME);
  KeepOnly(lua, std::to_array({"byte", "char", "format", "len", "lower", "rep", "reverse", "sub", "upper"}));
  Wrap(lua, "format", &Format);
  Wrap(lua, "byte", &Byte);
  Wrap(lua, "char", &WithNumerals<1, kAll>);
  Wrap(lua, "rep", &Repeat);
  Wrap(lua, "sub", &WithNumerals<2, 3>);
  Set(lua, "find", &Find);
  Set(lua, "match", &MatchFunction);
  Set(lua, "gmatch", &EachMatch);
  Set(lua, "gsub", &GlobalSubstitute);

  lua_pushliteral(lua, "");
  lua_getmetatable(lua, -1);
  for (const char* operation : {"__add", "__sub", "__mul", "__mod", "__pow", "__div", "__idiv", "__unm"})
    Wrap(lua, operation, &WithNumerals<1, 2>);
  lua_pop(lua, 2);

  PushLibrary(lua, LUA_TABLIBNAME);
  KeepOnly(lua, std::to_array({"concat", "insert", "pack", "remove", "sort", "unpack"}));
  Wrap(lua, "insert", &ChargedTableFunction, static_cast<lua_Integer>(Cost::kInserting));
  Wrap(lua, "remove", &ChargedTableFunction, static_cast<lua_Integer>(Cost::kRemoving));
  Set(lua, "sort", &Sort);
  Wrap(lua, "unpack", &ChargedTableFunction, static_cast<lua_Integer>(Cost::kUnpacking));
  Wrap(lua, "concat", &Concat);

  PushLibrary(lua, LUA_MATHLIBNAME);
  KeepOnly(lua, std::to_array({"abs", "ceil", "exp", "floor", "fmod", "huge", "log", "max", "maxinteger", "min",
                               "mininteger", "modf", "pi", "sqrt", "tointeger", "type", "ult"}));
  for (const char* name :
       {"abs", "ceil", "exp", "floor", "fmod", "log", "max", "min", "modf", "sqrt", "tointeger", "ult"})
    Wrap(lua, name, &WithNumerals<1, kAll>);
  Set(lua, "random", &RandomFunction);

  lua_pushglobaltable(lua);
  KeepOnly(lua, std::to_array({"assert", "error", "ipairs", "select", "tonumber", "tostring", "type"}));
  Set(lua, "pairs", &Pairs);
  Wrap(lua, "error", &WithNumerals<2, 2>);
  Wrap(lua, "select", &WithNumerals<1, 1>);
  Wrap(lua, "tonumber", &ToNumber);
  Set(lua, "tostring", &ToString);
  Set(lua, "pcall", &ProtectedCall);
  for (const char* name : {LUA_STRLIBNAME, LUA_TABLIBNAME, LUA_MATHLIBNAME}) {
    PushLibrary(lua, name);
    lua_setfield(lua, -2, name);
  }
  lua_pop(lua, 4);
  // Drops the last reference to the remaining functions of the libraries.
  lua_pushnil(lua);
  lua_setfield(lua, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
}

}  // namespace berth::script
