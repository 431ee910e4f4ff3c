// SPDX-License-Identifier: Apache-2.0
// Sorting for scripts. Lua's own sort uses the clock for its pivot in long uneven lists, so that the order of equal
// entries differs between runs. This sort is stable. Functions may jump like lua_error(). Thread-compatible.
#pragma once

#include <cstdint>

struct lua_State;

namespace berth::script {

// Whether the second value from the top of the stack sorts before the top one; pops both. `function` is the stack index
// of the script's comparison function, for those that call one.
using IsBefore = bool (*)(lua_State* lua, int function);

bool IsLess(lua_State* lua, int function);           // Lua's operator <
bool IsLessForScript(lua_State* lua, int function);  // the script's function
bool IsKeyBefore(lua_State* lua, int function);      // numbers before strings before booleans

// The number of steps to charge in advance for `count` entries.
std::int64_t SortingCost(std::int64_t count);

// Sorts entries 1 to `count` of the table at this stack index. If it jumps, the table is unchanged or frozen.
void SortTable(lua_State* lua, int table, std::int64_t count, IsBefore is_before, int function);

}  // namespace berth::script
