// SPDX-License-Identifier: Apache-2.0
// Compares with Lua's own matcher for any pattern with which that ends in time.
#include <cstdint>
#include <string>
#include <string_view>

#include <lua.hpp>

#include "berth/base/check.h"
#include "berth/languages/script/pattern.h"

namespace {

using berth::script::Pattern;

struct Found {
  std::string text;  // the result of string.find, or the error
  bool is_bounded = true;
};

Found FindOwn(std::string_view subject, std::string_view pattern) {
  // Lua's matcher has no limit, and takes the same steps.
  std::int64_t steps = 20'000;
  const bool is_anchored = pattern.starts_with('^');
  if (is_anchored) pattern.remove_prefix(1);
  Pattern match(subject, pattern, steps);
  for (std::size_t at = 0; at <= subject.size(); ++at) {
    switch (match.MatchAt(at)) {
      case Pattern::Result::kNoMatch: break;
      case Pattern::Result::kOutOfSteps: return {"", false};
      case Pattern::Result::kMalformed: return {match.error(), true};
      case Pattern::Result::kMatch: {
        std::string text = std::to_string(at + 1) + "-" + std::to_string(match.end());
        for (int i = 0; i < match.capture_count(); ++i) {
          const Pattern::Capture& capture = match.capture(i);
          if (capture.length == Pattern::kOpen) return {"unfinished capture", true};
          text += "|";
          text += capture.length == Pattern::kPosition ? std::to_string(capture.begin + 1)
                                                       : std::string(subject.substr(capture.begin, capture.length));
        }
        return {text, true};
      }
    }
    if (is_anchored) break;
  }
  return {"none", true};
}

std::string FindLua(lua_State* lua, std::string_view subject, std::string_view pattern) {
  lua_settop(lua, 0);
  lua_getglobal(lua, "string");
  lua_getfield(lua, -1, "find");
  lua_pushlstring(lua, subject.data(), subject.size());
  lua_pushlstring(lua, pattern.data(), pattern.size());
  if (lua_pcall(lua, 2, LUA_MULTRET, 0) != LUA_OK) return lua_tostring(lua, -1);
  if (lua_isnil(lua, 2)) return "none";
  std::string text = std::to_string(lua_tointeger(lua, 2)) + "-" + std::to_string(lua_tointeger(lua, 3));
  for (int i = 4; i <= lua_gettop(lua); ++i) {
    std::size_t size = 0;
    const char* capture = lua_tolstring(lua, i, &size);
    text.append("|").append(capture, size);
  }
  return text;
}

}  // namespace

// Input: the pattern, a line break, the subject.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\n');
  if (end == std::string_view::npos) return 0;
  const std::string_view pattern = input.substr(0, end);
  const std::string_view subject = input.substr(end + 1);
  if (Pattern::IsPlain(pattern)) return 0;
  const Found own = FindOwn(subject, pattern);
  // Lua counts nesting differently.
  if (!own.is_bounded || own.text == "pattern too complex") return 0;
  lua_State* lua = luaL_newstate();
  BERTH_CHECK(lua != nullptr);
  luaL_requiref(lua, LUA_STRLIBNAME, luaopen_string, 1);
  const std::string theirs = FindLua(lua, subject, pattern);
  lua_close(lua);
  if (theirs != "pattern too complex") BERTH_CHECK(own.text == theirs, pattern, subject, own.text, theirs);
  return 0;
}
