// SPDX-License-Identifier: Apache-2.0
// The functions available to scripts: Lua's own if they are harmless, bounded versions of others, and nothing that
// reaches outside or reveals differences between processes (addresses, the order of a hash table). One thread for each
// state.
#pragma once

struct lua_State;

namespace berth::script {

// Adds the functions to the globals of a new state.
void OpenLibrary(lua_State* lua);

// Pushes the table with the entries of the table at `table`: the table itself, or the one behind a frozen one. Exactly
// the frozen tables have a metatable, because scripts cannot set one.
void PushEntries(lua_State* lua, int table);

}  // namespace berth::script
