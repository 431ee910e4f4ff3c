// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/script/sorting.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <lua.hpp>

#include "berth/languages/script/sandbox.h"

namespace berth::script {
namespace {

// Numbers before strings before booleans.
int RankOf(int type) { return type == LUA_TNUMBER ? 0 : type == LUA_TSTRING ? 1 : 2; }

// Charges for comparing two strings, which Lua may read entirely. With zeros in them, the C library takes nanoseconds
// for each byte.
void ChargeComparison(lua_State* lua) {
  constexpr std::size_t kBytesPerStep = 64;
  if (lua_type(lua, -1) != LUA_TSTRING || lua_type(lua, -2) != LUA_TSTRING) return;
  const std::size_t bytes = std::min(lua_rawlen(lua, -1), lua_rawlen(lua, -2));
  Sandbox::Of(lua).Charge(lua, static_cast<std::int64_t>(bytes / kBytesPerStep));
}

// Merges entries [begin, middle) and [middle, end) of the table `from` into `to`; among equal ones the first goes
// first.
void Merge(lua_State* lua, int from, int to, std::array<lua_Integer, 3> bounds, IsBefore is_before, int function) {
  const auto [begin, middle, end] = bounds;
  lua_Integer left = begin;
  lua_Integer right = middle;
  for (lua_Integer at = begin; at < end; ++at) {
    bool is_right = left == middle;
    if (!is_right && right < end) {
      lua_rawgeti(lua, from, right);
      lua_rawgeti(lua, from, left);
      is_right = is_before(lua, function);
    }
    lua_rawgeti(lua, from, is_right ? right++ : left++);
    lua_rawseti(lua, to, at);
  }
}

}  // namespace

bool IsLess(lua_State* lua, int) {
  ChargeComparison(lua);
  const bool is_less = lua_compare(lua, -2, -1, LUA_OPLT) != 0;
  lua_pop(lua, 2);
  return is_less;
}

bool IsLessForScript(lua_State* lua, int function) {
  lua_pushvalue(lua, function);
  lua_insert(lua, -3);
  lua_call(lua, 2, 1);
  const bool is_less = lua_toboolean(lua, -1) != 0;
  lua_pop(lua, 1);
  return is_less;
}

bool IsKeyBefore(lua_State* lua, int) {
  const int a = RankOf(lua_type(lua, -2));
  const int b = RankOf(lua_type(lua, -1));
  if (a == b && a != 2) return IsLess(lua, 0);
  const bool is_before = a != b ? a < b : lua_toboolean(lua, -2) < lua_toboolean(lua, -1);
  lua_pop(lua, 2);
  return is_before;
}

void SortTable(lua_State* lua, int table, std::int64_t entries, IsBefore is_before, int function) {
  const lua_Integer count = entries;
  lua_createtable(lua, static_cast<int>(count), 0);
  int from = lua_gettop(lua);
  lua_createtable(lua, static_cast<int>(count), 0);
  int to = lua_gettop(lua);
  for (lua_Integer i = 1; i <= count; ++i) {
    lua_geti(lua, table, i);
    lua_rawseti(lua, from, i);
  }
  for (lua_Integer width = 1; width < count; width *= 2) {
    for (lua_Integer begin = 1; begin <= count; begin += 2 * width) {
      const lua_Integer middle = std::min(begin + width, count + 1);
      Merge(lua, from, to, {begin, middle, std::min(middle + width, count + 1)}, is_before, function);
    }
    std::swap(from, to);
  }
  for (lua_Integer i = 1; i <= count; ++i) {
    lua_rawgeti(lua, from, i);
    lua_seti(lua, table, i);
  }
  lua_pop(lua, 2);
}

std::int64_t SortingCost(std::int64_t count) {
  return count * (1 + static_cast<std::int64_t>(std::log2(static_cast<double>(count) + 1)));
}

}  // namespace berth::script
