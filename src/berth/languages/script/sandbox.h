// SPDX-License-Identifier: Apache-2.0
// Sandbox: a Lua 5.4 state for an untrusted script. The script has no access to files, clocks, the network or
// randomness, its calls are limited in instructions and memory, and it keeps no state between calls.
//
// Freeze() makes everything at the script's top level read-only, including tables, so that a result cannot depend on
// earlier calls. Thread-compatible. docs/plugins/lua.md lists the functions and the differences from Lua.
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
  // Limit of one call; the same limit applies to the work inside library functions (characters that a pattern examines,
  // entries that are sorted). Loading the script has ten times as much. If there are long strings, an instruction
  // counts as several.
  std::int64_t instructions_max = 100'000;
  // Limit on memory in use. A call may allocate four times as much in total, and no table may take more than a quarter.
  std::size_t memory_bytes_max = std::size_t{8} << 20;
};

struct Failure {
  enum class Kind : std::uint8_t {
    kSyntax,
    kRuntime,  // Lua's own errors, and errors that the script raises
    kRule,     // a rule of the sandbox or of its caller: a field that does not exist, a write to a global
    kLimit,
  };
  Kind kind = Kind::kRuntime;
  int line = 0;  // 0: unknown
  std::string message;
};

class Sandbox {
 public:
  static constexpr std::size_t kSourceBytesMax = std::size_t{256} << 10;
  // A single instruction may read a whole string, or two: its cost grows by one for each kStringBytesPerInstruction of
  // the longest string made by the call or the top level.
  static constexpr std::size_t kStringBytesMax = std::size_t{64} << 10;
  static constexpr std::size_t kStringBytesPerInstruction = std::size_t{2} << 10;
  // Limit on Lua's stack: an instruction may also copy all arguments of a function, 16 bytes each.
  static constexpr std::size_t kStackBytesMax = std::size_t{128} << 10;
  // A call with at least this many arguments in "..." is charged for copying them.
  static constexpr int kCountedArguments = 256;
  // Cost of a call itself, in instructions: about the time of calling an empty function.
  static constexpr std::int64_t kCallCost = 50;
  // Limit on collections caused by full memory in one call, because each one visits all objects.
  static constexpr int kCollectionsMax = 8;
  // Limit on variables that functions share with the top level or keep between calls.
  static constexpr std::size_t kWatchesMax = 256;

  explicit Sandbox(Limits limits);
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  lua_State* lua() const { return lua_; }
  static Sandbox& Of(lua_State* lua);

  // Sets a global variable from a document. Only before Run().
  void SetGlobal(const char* name, const codec::json::value& value);
  // Runs the script's top level. Returns false on an error, which failure() describes; the same holds for the functions
  // below.
  bool Run(std::string_view text);
  // Pops the value and keeps it. Returns its permanent stack index, from which it may be copied.
  int Pin();
  // Makes everything reachable from the script read-only. Only after the last Pin().
  bool Freeze();
  // The function and then its arguments must be on top of the stack. They are replaced by `results` values, or by
  // nothing on an error.
  bool Call(int arguments, int results);
  // The cost of the latest call in instructions: the counted ones (a short call has none), the work inside library
  // functions, and kCallCost. It is the same on every machine, and independent of earlier calls.
  std::int64_t CostOfCall() const;
  const Failure& failure() const { return failure_; }

  // For functions that scripts call. Each of them jumps like lua_error(), so that no object with a destructor may be
  // alive.
  [[noreturn]] static void RaiseRule(lua_State* lua, const char* format, ...) __attribute__((format(printf, 2, 3)));
  void Charge(lua_State* lua, std::int64_t steps);
  std::int64_t& steps_left() { return steps_left_; }
  [[noreturn]] void RaiseOutOfSteps(lua_State* lua);

  CallRandom& random() { return random_; }
  // The call has exceeded its limits; scripts cannot catch this.
  bool IsOver() const { return over_ != Over::kNone; }
  // Records the Lua status with which a nested call ended.
  void RecordStatus(int status);
  // The script has caught the error.
  void ForgiveRule() { is_rule_broken_ = false; }

 private:
  enum class Over : std::uint8_t { kNone, kInstructions, kMemory };
  enum class Refused : std::uint8_t { kNothing, kMemory, kString, kStack };
  // A variable that must be unchanged after each call. `function` and `value` are stack indices.
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
  const void* stack_ = nullptr;  // address of Lua's stack
  std::size_t stack_bytes_ = 0;
  const void* newest_ = nullptr;  // latest block that belongs to no type of object
  std::size_t newest_bytes_ = 0;
  std::size_t used_bytes_ = 0;
  std::size_t kept_string_bytes_ = 0;  // longest string of the top level

  // State of the current call.
  bool is_guarded_ = false;
  std::size_t allocated_bytes_ = 0;
  std::size_t string_bytes_ = 0;  // longest string so far
  int collections_ = 0;
  std::int64_t instructions_left_ = 0;
  int instructions_counted_ = 0;  // instructions until the hook is called
  std::int64_t steps_left_ = 0;
  Over over_ = Over::kNone;
  bool is_rule_broken_ = false;
  Refused refused_ = Refused::kNothing;
  int error_line_ = 0;
  CallRandom random_;
};

}  // namespace berth::script
