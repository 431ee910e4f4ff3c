// SPDX-License-Identifier: Apache-2.0
// Sorting for scripts. Lua's own sort looks at the clock where a list is long and uneven, so that equal entries change
// places from run to run. This one keeps their order. Each function may jump out like lua_error(). Thread-compatible.
#pragma once

#include <cstdint>

struct lua_State;

namespace berth::script {

// Whether the first of the two values on top of the stack comes before the second; pops them. `function` is the stack
// index of the script's own, for those that call one.
using IsBefore = bool (*)(lua_State* lua, int function);

bool IsLess(lua_State* lua, int function);           // as Lua's "<"
bool IsLessForScript(lua_State* lua, int function);  // what the function says
bool IsKeyBefore(lua_State* lua, int function);      // numbers before strings before booleans

// What is to be charged for `count` entries, beforehand.
std::int64_t SortingCost(std::int64_t count);

// Sorts entries 1 to `count` of the table at that stack index. When it jumps out the table is as it was, or frozen.
void SortTable(lua_State* lua, int table, std::int64_t count, IsBefore is_before, int function);

}  // namespace berth::script
