// SPDX-License-Identifier: Apache-2.0
// The functions that scripts may use: Lua's own where they are harmless, bounded where they are not, and nothing that
// reaches outside or tells one process from another (addresses, the order of a hash table). One thread a state.
#pragma once

struct lua_State;

namespace berth::script {

// Puts the functions that scripts may use into the globals of a new state.
void OpenLibrary(lua_State* lua);

// Pushes the table that holds the entries of the table at `table`: it itself, or the one behind a frozen one. A table
// is frozen exactly when it has a metatable, for scripts cannot set one.
void PushEntries(lua_State* lua, int table);

}  // namespace berth::script
