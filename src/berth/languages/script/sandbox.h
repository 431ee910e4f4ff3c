// SPDX-License-Identifier: Apache-2.0
// Sandbox: one Lua 5.4 state for a script that need not be trusted with the process: it reaches no file, clock, network
// or chance, its calls end within bounds on instructions and memory, and it keeps nothing from one call to the next.
//
// What a script has at its top level becomes read-only when it is frozen, tables and all, so that an answer cannot
// depend on what was asked before. Thread-compatible. Which functions there are, and what differs from Lua's, is in
// docs/plugins/lua.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/codec/json.h"
#include "berth/languages/script/call_random.h"

struct lua_State;
struct lua_Debug;

namespace berth::script {

struct Limits {
  // Of one call; as much again of work inside library functions (characters that a pattern looks at, entries that are
  // sorted). Ten times as many while the script is loaded. Where there are long strings an instruction counts for more.
  std::int64_t instructions_max = 100'000;
  // Held at once. Four times as many may be asked for in one call, and no table may take more than a quarter.
  std::size_t memory_bytes_max = std::size_t{8} << 20;
};

struct Failure {
  enum class Kind : std::uint8_t {
    kSyntax,
    kRuntime,  // Lua's own errors, and those that the script raises
    kRule,     // of the sandbox, or of who gave it its values: a field that does not exist, a write to a global
    kLimit,
  };
  Kind kind = Kind::kRuntime;
  int line = 0;  // 0: nobody knows
  std::string message;
};

class Sandbox {
 public:
  static constexpr std::size_t kSourceBytesMax = std::size_t{256} << 10;
  // A single instruction may go through all of a string, or of two: it counts once more for each so many bytes of the
  // longest one that the call has made, or the top level.
  static constexpr std::size_t kStringBytesMax = std::size_t{64} << 10;
  static constexpr std::size_t kStringBytesPerInstruction = std::size_t{2} << 10;
  // Or through all arguments of a function: 16 bytes each.
  static constexpr std::size_t kStackBytesMax = std::size_t{128} << 10;
  // A call by or of a function with so many arguments in "..." counts for the time in which they are copied.
  static constexpr int kCountedArguments = 256;
  static constexpr std::int64_t kCallCost = 50;  // a call of an empty function takes about as long as these
  // In one call, because the memory is full. Each goes through all that there is.
  static constexpr int kCollectionsMax = 8;
  // Local variables of the script's top level, and others that outlive a call, that its functions use.
  static constexpr std::size_t kWatchesMax = 256;

  explicit Sandbox(Limits limits);
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  lua_State* lua() const { return lua_; }
  static Sandbox& Of(lua_State* lua);

  // Sets a global from a document, before Run().
  void SetGlobal(const char* name, const codec::json::value& value);
  // Runs the script's top level. False: failure() says why, here and below.
  bool Run(std::string_view text);
  // Takes the value off the stack and keeps it. Returns the index at which it stays, from which it may be copied.
  int Pin();
  // After the last Pin(): makes read-only all that the script can reach.
  bool Freeze();
  // The function and then its arguments are on top of the stack; they are replaced by `results` values, or by nothing.
  bool Call(int arguments, int results);
  // What the latest call took, in instructions: those that were counted (a short call's are not), the work inside
  // library functions, and kCallCost for making the call. The same on every machine, whatever was called before.
  std::int64_t CostOfCall() const;
  const Failure& failure() const { return failure_; }

  // For functions that scripts call. Each jumps out like lua_error(); nothing with a destructor may be alive.
  [[noreturn]] static void RaiseRule(lua_State* lua, const char* format, ...) __attribute__((format(printf, 2, 3)));
  void Charge(lua_State* lua, std::int64_t steps);
  std::int64_t& steps_left() { return steps_left_; }
  [[noreturn]] void RaiseOutOfSteps(lua_State* lua);

  CallRandom& random() { return random_; }
  // The call is over its limits, and no script may catch that.
  bool IsOver() const { return over_ != Over::kNone; }
  // Of a call within the call that ended with this status of Lua's.
  void RecordStatus(int status);
  // The script has caught the error.
  void ForgiveRule() { is_rule_broken_ = false; }

 private:
  enum class Over : std::uint8_t { kNone, kInstructions, kMemory };
  enum class Refused : std::uint8_t { kNothing, kMemory, kString, kStack };
  // A variable that must be the same after each call. Both are stack indexes.
  struct Watch {
    int function = 0;
    int upvalue = 0;
    int value = 0;
    std::string name;
  };

  static void* Allocate(void* self, void* block, std::size_t size_before, std::size_t size);
  Refused Refuse(std::size_t bytes_before, std::size_t bytes, bool is_string);
  void RecordStack(const void* stack, std::size_t bytes);
  static void OnHook(lua_State* lua, lua_Debug* record);
  void ChargeArguments(lua_State* lua, lua_Debug* callee);
  [[noreturn]] void RaiseOver(lua_State* lua);
  std::int64_t CostOfOne() const;
  void SetHook();
  static int OnError(lua_State* lua);

  bool Guarded(int arguments, int results, std::int64_t instructions_max);
  void TakeFailure(int status);
  std::string TooMuch() const;
  bool CheckWatches(int results);
  void FreezeTable(int table, int queue, int seen);
  bool WatchFunction(int function, int queue, int seen, std::vector<void*>& known);
  void PushJson(const codec::json::value& value);

  const Limits limits_;
  lua_State* lua_ = nullptr;
  int pinned_ = 0;
  std::vector<Watch> watches_;
  Failure failure_;
  const void* stack_ = nullptr;  // Lua's
  std::size_t stack_bytes_ = 0;
  const void* newest_ = nullptr;  // of the blocks of no kind
  std::size_t newest_bytes_ = 0;
  std::size_t used_bytes_ = 0;
  std::size_t kept_string_bytes_ = 0;  // the longest string of the top level

  // Of the call under way.
  bool is_guarded_ = false;
  std::size_t allocated_bytes_ = 0;
  std::size_t string_bytes_ = 0;  // the longest string, so far
  int collections_ = 0;
  std::int64_t instructions_left_ = 0;
  int instructions_counted_ = 0;  // when the hook is called
  std::int64_t steps_left_ = 0;
  Over over_ = Over::kNone;
  bool is_rule_broken_ = false;
  Refused refused_ = Refused::kNothing;
  int error_line_ = 0;
  CallRandom random_;
};

}  // namespace berth::script
