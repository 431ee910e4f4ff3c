// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/script/sandbox.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <lua.hpp>

#include "berth/base/check.h"
#include "berth/base/utf8.h"
#include "berth/languages/script/library.h"

namespace berth::script {
namespace {

// Short, so that Lua does not truncate it, and fixed, because messages add the script's name themselves.
constexpr const char* kChunkName = "=script";
constexpr std::string_view kChunkPrefix = "script:";
constexpr std::size_t kMessageBytesMax = 300;
constexpr std::int64_t kLoadingFactor = 10;
constexpr std::size_t kStringHeaderMax = 32;
constexpr int kMessageHandler = 1;  // stack index
constexpr int kStackSpare = 200;
constexpr std::size_t kBytesPerSlot = 16;    // in Lua's stack
constexpr int kArgumentsPerInstruction = 4;  // copied in the time of one instruction

// One line, with '?' for control characters.
std::string OneLine(std::string_view text) {
  std::string line(CutUtf8(text, kMessageBytesMax));
  if (line.size() < text.size()) line += "...";
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  }
  return line;
}

// Removes "script:7: " from the start; returns the line, or 0.
int TakeLine(std::string_view& message) {
  if (!message.starts_with(kChunkPrefix)) return 0;
  int line = 0;
  std::size_t i = kChunkPrefix.size();
  for (; i < message.size() && message[i] >= '0' && message[i] <= '9' && line < 100'000'000; ++i)
    line = line * 10 + (message[i] - '0');
  if (line == 0 || message.substr(i, 2) != ": ") return 0;
  message.remove_prefix(i + 2);
  return line;
}

// Compares numbers by their bits: NaN does not equal itself, while 1 and 1.0, or 0.0 and -0.0, are equal but
// distinguishable.
bool IsSame(lua_State* lua, int a, int b) {
  if (lua_type(lua, a) != LUA_TNUMBER || lua_type(lua, b) != LUA_TNUMBER) return lua_rawequal(lua, a, b) != 0;
  if (lua_isinteger(lua, a) != lua_isinteger(lua, b)) return false;
  if (lua_isinteger(lua, a) != 0) return lua_tointeger(lua, a) == lua_tointeger(lua, b);
  return std::bit_cast<std::uint64_t>(lua_tonumber(lua, a)) == std::bit_cast<std::uint64_t>(lua_tonumber(lua, b));
}

// __newindex of frozen tables: the upvalue describes the table.
int RefuseWrite(lua_State* lua) {
  const bool has_text = lua_type(lua, 2) == LUA_TSTRING || lua_type(lua, 2) == LUA_TNUMBER;
  const char* key = has_text ? lua_tostring(lua, 2) : luaL_typename(lua, 2);
  if (lua_toboolean(lua, lua_upvalueindex(1)) != 0) {
    Sandbox::RaiseRule(
        lua, "the global \"%s\" is set in a call: what a call leaves behind could change the next answer", key);
  }
  Sandbox::RaiseRule(lua, "the entry \"%s\" is set in a table of the script's top level, which is read-only in calls",
                     key);
}

int LengthOfFrozen(lua_State* lua) {
  PushEntries(lua, 1);
  lua_pushinteger(lua, static_cast<lua_Integer>(lua_rawlen(lua, -1)));
  return 1;
}

// Pops the value and appends it to the queue, unless it was seen before or cannot be frozen.
void Enqueue(lua_State* lua, int queue, int seen) {
  const int type = lua_type(lua, -1);
  const bool matters = type == LUA_TTABLE || (type == LUA_TFUNCTION && lua_iscfunction(lua, -1) == 0);
  if (!matters) {
    lua_pop(lua, 1);
    return;
  }
  lua_pushvalue(lua, -1);
  lua_rawget(lua, seen);
  const bool is_known = lua_toboolean(lua, -1) != 0;
  lua_pop(lua, 1);
  if (is_known) {
    lua_pop(lua, 1);
    return;
  }
  lua_pushvalue(lua, -1);
  lua_pushboolean(lua, 1);
  lua_rawset(lua, seen);
  lua_rawseti(lua, queue, static_cast<lua_Integer>(lua_rawlen(lua, queue)) + 1);
}

}  // namespace

void Sandbox::RecordStatus(int status) {
  if (status == LUA_ERRMEM && !IsOver()) over_ = Over::kMemory;
}

Sandbox::Sandbox(Limits limits) : limits_(limits) {
  lua_ = lua_newstate(&Sandbox::Allocate, this);
  BERTH_CHECK(lua_ != nullptr, "no memory for a Lua state");
  Sandbox* self = this;
  std::memcpy(lua_getextraspace(lua_), &self, sizeof(self));
  OpenLibrary(lua_);
  lua_settop(lua_, 0);
  lua_pushcfunction(lua_, &Sandbox::OnError);
  pinned_ = kMessageHandler;
}

Sandbox::~Sandbox() { lua_close(lua_); }

Sandbox& Sandbox::Of(lua_State* lua) {
  Sandbox* self = nullptr;
  std::memcpy(&self, lua_getextraspace(lua), sizeof(self));
  return *self;
}

void* Sandbox::Allocate(void* self, void* block, std::size_t size_before, std::size_t size) {
  Sandbox& sandbox = *static_cast<Sandbox*>(self);
  // For a new block, Lua passes the type of object in `size_before`.
  const std::size_t before = block == nullptr ? 0 : size_before;
  const bool is_of_no_kind = block == nullptr && size_before == 0;
  const bool is_stack = block != nullptr && block == sandbox.stack_;
  if (size == 0) {
    std::free(block);
    sandbox.used_bytes_ -= before;
    // Lua moves its stack in two calls: it allocates a new block without a type, then frees the old one.
    if (is_stack) sandbox.RecordStack(sandbox.newest_, sandbox.newest_bytes_);
    return nullptr;
  }
  const bool is_string = block == nullptr && size_before == LUA_TSTRING;
  // Lua assumes that shrinking a block always succeeds.
  if (size > before && sandbox.is_guarded_) {
    const Refused refused = sandbox.Refuse(before, size, is_string);
    if (refused != Refused::kNothing) {
      if (sandbox.over_ == Over::kNone) sandbox.refused_ = refused;
      return nullptr;
    }
  }
  void* moved = std::realloc(block, size);
  if (moved == nullptr) return nullptr;
  sandbox.used_bytes_ += size - before;
  if (size > before) sandbox.allocated_bytes_ += size;
  if (is_string) sandbox.string_bytes_ = std::max(sandbox.string_bytes_, size);
  if (is_of_no_kind) {
    sandbox.newest_ = moved;
    sandbox.newest_bytes_ = size;
  }
  // The first block without a type in a new state is its stack.
  const bool is_first = sandbox.stack_ == nullptr && sandbox.newest_ == moved;
  if (is_stack || is_first) sandbox.RecordStack(moved, size);
  return moved;
}

// Records the address and size of Lua's stack. If it is too large, the call ends with its next instruction.
void Sandbox::RecordStack(const void* stack, std::size_t bytes) {
  stack_ = stack;
  stack_bytes_ = bytes;
  if (!is_guarded_ || bytes <= kStackBytesMax || over_ != Over::kNone) return;
  over_ = Over::kMemory;
  refused_ = Refused::kStack;
  lua_sethook(lua_, &Sandbox::OnHook, LUA_MASKCOUNT, 1);
}

// Why a block may not grow. If memory is full, Lua collects garbage and tries once more.
Sandbox::Refused Sandbox::Refuse(std::size_t bytes_before, std::size_t bytes, bool is_string) {
  const std::size_t max = limits_.memory_bytes_max;
  if (is_string && bytes > kStringBytesMax + kStringHeaderMax) return Refused::kString;
  if (bytes > max / 4 || allocated_bytes_ + bytes > 4 * max) return Refused::kMemory;
  const bool is_full = used_bytes_ + (bytes - bytes_before) > max;
  if (is_full) ++collections_;
  return is_full || collections_ > kCollectionsMax ? Refused::kMemory : Refused::kNothing;
}

std::int64_t Sandbox::CostOfOne() const {
  return 1 + static_cast<std::int64_t>(string_bytes_ / kStringBytesPerInstruction);
}

void Sandbox::SetHook() {
  // Strings made before the next hook only affect the cost after it.
  constexpr std::int64_t kCountMax = 1000;
  instructions_counted_ = static_cast<int>(std::clamp<std::int64_t>(instructions_left_ / CostOfOne(), 1, kCountMax));
  lua_sethook(lua_, &Sandbox::OnHook, LUA_MASKCOUNT | LUA_MASKCALL, instructions_counted_);
}

void Sandbox::OnHook(lua_State* lua, lua_Debug* record) {
  Sandbox& sandbox = Of(lua);
  const bool is_call = record->event != LUA_HOOKCOUNT;
  // A smaller stack has no room for that many arguments.
  if (is_call && sandbox.stack_bytes_ <= std::size_t{kCountedArguments} * kBytesPerSlot) return;
  if (sandbox.over_ == Over::kNone) {
    if (is_call) {
      sandbox.ChargeArguments(lua, record);
    } else {
      sandbox.instructions_left_ -= sandbox.instructions_counted_ * sandbox.CostOfOne();
    }
    if (sandbox.instructions_left_ > 0) {
      if (!is_call) sandbox.SetHook();
      return;
    }
    sandbox.over_ = Over::kInstructions;
  }
  sandbox.RaiseOver(lua);
}

// Raises an error that the hook raises again with each instruction, so that catching it does not help.
void Sandbox::RaiseOver(lua_State* lua) {
  lua_sethook(lua, &Sandbox::OnHook, LUA_MASKCOUNT, 1);
  lua_pushnil(lua);
  lua_error(lua);
  std::abort();  // unreachable
}

// The instruction `f(...)` copies the caller's "...", and a function with "..." copies its arguments again. Their
// number is found by doubling, as the largest power of two that does not exceed it.
void Sandbox::ChargeArguments(lua_State* lua, lua_Debug* callee) {
  lua_Debug caller;
  const bool has_caller = lua_getstack(lua, 1, &caller) != 0;
  for (lua_Debug* const function : {callee, has_caller ? &caller : nullptr}) {
    if (function == nullptr) continue;
    int count = 0;
    for (int probed = kCountedArguments; lua_getlocal(lua, function, -probed) != nullptr; probed *= 2) {
      lua_pop(lua, 1);
      count = probed;
    }
    instructions_left_ -= count / kArgumentsPerInstruction;
  }
}

// Records the script's line of the error, and passes the error on.
int Sandbox::OnError(lua_State* lua) {
  Sandbox& sandbox = Of(lua);
  lua_Debug record;
  for (int level = 0; lua_getstack(lua, level, &record) != 0; ++level) {
    if (lua_getinfo(lua, "l", &record) != 0 && record.currentline > 0) {
      sandbox.error_line_ = record.currentline;
      break;
    }
  }
  return 1;
}

void Sandbox::RaiseRule(lua_State* lua, const char* format, ...) {
  std::array<char, kMessageBytesMax> text;
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  Of(lua).is_rule_broken_ = true;
  lua_pushstring(lua, text.data());
  lua_error(lua);
  std::abort();  // unreachable
}

void Sandbox::Charge(lua_State* lua, std::int64_t steps) {
  steps_left_ -= steps;
  if (steps_left_ < 0) RaiseOutOfSteps(lua);
}

void Sandbox::RaiseOutOfSteps(lua_State* lua) {
  over_ = Over::kInstructions;
  RaiseOver(lua);
}

bool Sandbox::Guarded(int arguments, int results, std::int64_t instructions_max) {
  instructions_left_ = steps_left_ = instructions_max;
  allocated_bytes_ = 0;
  collections_ = 0;
  over_ = Over::kNone;
  is_rule_broken_ = false;
  error_line_ = 0;
  refused_ = Refused::kNothing;
  random_.BeginCall();
  SetHook();
  is_guarded_ = true;
  const int status = lua_pcall(lua_, arguments, results, kMessageHandler);
  is_guarded_ = false;
  // Shrinks the stack, so that the next call starts as any other.
  if (stack_bytes_ > kStackBytesMax) lua_gc(lua_, LUA_GCCOLLECT);
  if (status == LUA_OK) return true;
  TakeFailure(status);
  return false;
}

// Pops the error.
void Sandbox::TakeFailure(int status) {
  failure_ = {};
  failure_.line = error_line_;
  if (status == LUA_ERRMEM) over_ = over_ == Over::kNone ? Over::kMemory : over_;
  if (over_ == Over::kInstructions) {
    failure_.kind = Failure::Kind::kLimit;
    failure_.message =
        "over " + std::to_string(limits_.instructions_max) + " instructions (instructionsMax): does it loop for ever?";
  } else if (over_ == Over::kMemory) {
    failure_.kind = Failure::Kind::kLimit;
    failure_.message = TooMuch();
  } else if (lua_type(lua_, -1) == LUA_TSTRING) {
    std::size_t size = 0;
    const char* text = lua_tolstring(lua_, -1, &size);
    std::string_view message(text, size);
    if (const int line = TakeLine(message); line > 0) failure_.line = line;
    failure_.message = OneLine(message);
    if (is_rule_broken_) failure_.kind = Failure::Kind::kRule;
    if (status == LUA_ERRSYNTAX) failure_.kind = Failure::Kind::kSyntax;
  } else if (lua_type(lua_, -1) == LUA_TNUMBER) {
    std::array<char, 40> text;
    std::snprintf(text.data(), text.size(), "%.14g", lua_tonumber(lua_, -1));
    failure_.message = text.data();
  } else {
    failure_.message = std::string("an error that is no text but a value of type ") + luaL_typename(lua_, -1);
  }
  lua_pop(lua_, 1);
}

// Which memory limit was exceeded.
std::string Sandbox::TooMuch() const {
  switch (refused_) {
    case Refused::kString: return "a string of over " + std::to_string(kStringBytesMax) + " bytes";
    case Refused::kStack:
      return "over " + std::to_string(kStackBytesMax) +
             " bytes of arguments and local variables: does a function call itself for ever?";
    case Refused::kMemory:
    case Refused::kNothing: break;
  }
  return "over " + std::to_string(limits_.memory_bytes_max) + " bytes of memory (memoryBytesMax)";
}

void Sandbox::SetGlobal(const char* name, const codec::json::value& value) {
  PushJson(value);
  lua_setglobal(lua_, name);
}

// Recursion is safe, because documents are at most a few hundred levels deep (codec::ParseLimits).
void Sandbox::PushJson(const codec::json::value& value) {
  BERTH_CHECK(lua_checkstack(lua_, 8) != 0);
  switch (value.kind()) {
    case codec::json::kind::null: lua_pushnil(lua_); return;
    case codec::json::kind::bool_: lua_pushboolean(lua_, value.get_bool() ? 1 : 0); return;
    case codec::json::kind::int64: lua_pushinteger(lua_, value.get_int64()); return;
    case codec::json::kind::uint64: lua_pushnumber(lua_, static_cast<double>(value.get_uint64())); return;
    case codec::json::kind::double_: lua_pushnumber(lua_, value.get_double()); return;
    case codec::json::kind::string: {
      const std::string_view text(value.get_string());
      lua_pushlstring(lua_, text.data(), text.size());
      return;
    }
    case codec::json::kind::array: {
      lua_newtable(lua_);
      lua_Integer index = 0;
      for (const codec::json::value& item : value.get_array()) {
        PushJson(item);
        lua_rawseti(lua_, -2, ++index);
      }
      return;
    }
    case codec::json::kind::object: {
      lua_newtable(lua_);
      for (const auto& entry : value.get_object()) {
        const std::string_view key(entry.key());
        lua_pushlstring(lua_, key.data(), key.size());
        PushJson(entry.value());
        lua_rawset(lua_, -3);
      }
      return;
    }
  }
}

bool Sandbox::Run(std::string_view text) {
  if (text.size() > kSourceBytesMax) {
    failure_ = {Failure::Kind::kSyntax, 0, "longer than " + std::to_string(kSourceBytesMax) + " bytes"};
    return false;
  }
  over_ = Over::kNone;
  is_rule_broken_ = false;
  error_line_ = 0;
  refused_ = Refused::kNothing;
  allocated_bytes_ = 0;
  collections_ = 0;
  is_guarded_ = true;
  // Only source text is accepted ("t"): a compiled chunk could read arbitrary memory.
  const int status = luaL_loadbufferx(lua_, text.data(), text.size(), kChunkName, "t");
  is_guarded_ = false;
  if (status != LUA_OK) {
    TakeFailure(status);
    return false;
  }
  return Guarded(0, 0, limits_.instructions_max * kLoadingFactor);
}

int Sandbox::Pin() {
  BERTH_CHECK(lua_gettop(lua_) == pinned_ + 1, lua_gettop(lua_), pinned_);
  BERTH_CHECK(lua_checkstack(lua_, kStackSpare) != 0);
  return ++pinned_;
}

bool Sandbox::Freeze() {
  lua_newtable(lua_);
  const int queue = lua_gettop(lua_);
  lua_newtable(lua_);
  const int seen = lua_gettop(lua_);
  std::vector<void*> known;
  lua_pushglobaltable(lua_);
  Enqueue(lua_, queue, seen);
  for (int i = 2; i <= pinned_; ++i) {
    lua_pushvalue(lua_, i);
    Enqueue(lua_, queue, seen);
  }
  bool is_done = true;
  for (lua_Integer i = 1; is_done && lua_rawgeti(lua_, queue, i) != LUA_TNIL; ++i) {
    if (lua_type(lua_, -1) == LUA_TTABLE) {
      FreezeTable(lua_gettop(lua_), queue, seen);
    } else {
      is_done = WatchFunction(lua_gettop(lua_), queue, seen, known);
    }
    lua_settop(lua_, seen);
  }
  lua_settop(lua_, queue - 1);
  if (!is_done) {
    watches_.clear();
    failure_ = {Failure::Kind::kRule, 0, "over " + std::to_string(kWatchesMax) + " local variables outlive a call"};
    return false;
  }
  // Watched values stay on the stack, above pinned ones.
  BERTH_CHECK(lua_checkstack(lua_, static_cast<int>(2 * watches_.size()) + kStackSpare) != 0);
  for (Watch& watch : watches_) {
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, watch.function);
    luaL_unref(lua_, LUA_REGISTRYINDEX, watch.function);
    watch.function = lua_gettop(lua_);
    lua_getupvalue(lua_, watch.function, watch.upvalue);
    watch.value = lua_gettop(lua_);
  }
  pinned_ = lua_gettop(lua_);
  kept_string_bytes_ = string_bytes_;
  return true;
}

// Moves the entries to a second table. The table itself stays empty, so that each write triggers __newindex.
void Sandbox::FreezeTable(int table, int queue, int seen) {
  lua_newtable(lua_);
  const int entries = lua_gettop(lua_);
  lua_pushnil(lua_);
  while (lua_next(lua_, table) != 0) {
    lua_pushvalue(lua_, -1);
    Enqueue(lua_, queue, seen);
    lua_pushvalue(lua_, -2);
    Enqueue(lua_, queue, seen);
    lua_pushvalue(lua_, -2);
    lua_insert(lua_, -2);
    lua_rawset(lua_, entries);
  }
  lua_pushnil(lua_);
  while (lua_next(lua_, table) != 0) {
    lua_pop(lua_, 1);
    lua_pushvalue(lua_, -1);
    lua_pushnil(lua_);
    lua_rawset(lua_, table);
  }
  lua_createtable(lua_, 0, 4);
  lua_pushvalue(lua_, entries);
  lua_setfield(lua_, -2, "__index");
  lua_pushglobaltable(lua_);
  lua_pushboolean(lua_, lua_rawequal(lua_, -1, table));
  lua_replace(lua_, -2);
  lua_pushcclosure(lua_, &RefuseWrite, 1);
  lua_setfield(lua_, -2, "__newindex");
  lua_pushcfunction(lua_, &LengthOfFrozen);
  lua_setfield(lua_, -2, "__len");
  lua_pushboolean(lua_, 0);
  lua_setfield(lua_, -2, "__metatable");
  lua_setmetatable(lua_, table);
}

// Records the variables that the function shares or keeps. Returns false when there are too many.
bool Sandbox::WatchFunction(int function, int queue, int seen, std::vector<void*>& known) {
  for (int n = 1;; ++n) {
    const char* name = lua_getupvalue(lua_, function, n);
    if (name == nullptr) return true;
    Enqueue(lua_, queue, seen);
    void* id = lua_upvalueid(lua_, function, n);
    if (std::find(known.begin(), known.end(), id) != known.end()) continue;
    if (known.size() == kWatchesMax) return false;
    known.push_back(id);
    lua_pushvalue(lua_, function);
    watches_.push_back({luaL_ref(lua_, LUA_REGISTRYINDEX), n, 0, name});
  }
}

bool Sandbox::Call(int arguments, int results) {
  string_bytes_ = kept_string_bytes_;
  const bool is_done = Guarded(arguments, results, limits_.instructions_max);
  return CheckWatches(is_done ? results : 0) && is_done;
}

std::int64_t Sandbox::CostOfCall() const {
  return kCallCost + 2 * limits_.instructions_max - instructions_left_ - steps_left_;
}

// Restores variables that the call has changed, and pops its results if there are any such.
bool Sandbox::CheckWatches(int results) {
  const Watch* changed = nullptr;
  for (const Watch& watch : watches_) {
    lua_getupvalue(lua_, watch.function, watch.upvalue);
    const bool is_same = IsSame(lua_, -1, watch.value);
    lua_pop(lua_, 1);
    if (is_same) continue;
    lua_pushvalue(lua_, watch.value);
    lua_setupvalue(lua_, watch.function, watch.upvalue);
    if (changed == nullptr) changed = &watch;
  }
  if (changed == nullptr) return true;
  lua_pop(lua_, results);
  failure_ = {Failure::Kind::kRule, 0,
              "the local variable \"" + changed->name +
                  "\" of the script's top level is changed in a call: what a call leaves behind could change the next "
                  "answer"};
  return false;
}

}  // namespace berth::script
