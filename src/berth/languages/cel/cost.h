// SPDX-License-Identifier: Apache-2.0
// Tracks the cost of an evaluation exactly as cel-go's interpreter/runtimecost.go (v0.26) does with Kubernetes'
// estimator. Which calls are charged depends on a stack of observed values indexed by node numbers, including
// upstream's quirks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/languages/cel/ast.h"

namespace berth::cel {

class CostTracker {
 public:
  explicit CostTracker(std::uint64_t limit) : limit_(limit) {}

  std::uint64_t cost() const { return cost_; }
  // The limit was exceeded: nothing is observed any more, and results are discarded.
  bool is_cancelled() const { return !cancel_message_.empty(); }
  const std::string& cancel_message() const { return cancel_message_; }
  void Cancel(std::string message) {
    if (!is_cancelled()) cancel_message_ = std::move(message);
  }

  // The evaluation observes a node or qualifier by charges and drops, followed by Push.
  void Charge(std::uint64_t amount) { cost_ += amount; }
  void Refund(std::uint64_t amount) { cost_ -= amount; }
  // Removes the topmost value with this number and all values above it.
  void Drop(ExprId id);
  // Moves the values of a call's arguments to `values`, and removes all values above them. Returns false if an argument
  // is not on the stack; some may have been removed then.
  bool DropArguments(std::span<const ExprId> ids, std::vector<Value>& values);
  void Push(const Value& value, ExprId id);

 private:
  struct Entry {
    Value value;
    ExprId id = 0;
  };
  void Truncate(std::size_t size);

  std::uint64_t limit_;
  std::uint64_t cost_ = 0;
  std::string cancel_message_;
  std::vector<Entry> stack_;
  std::vector<std::vector<std::uint32_t>> positions_;  // positions in the stack, by number
};

inline constexpr std::string_view kCostLimitMessage = "operation cancelled: actual cost limit exceeded";
inline constexpr std::uint64_t kListCreateCost = 10;
inline constexpr std::uint64_t kMapCreateCost = 30;

// The charge for a call. `overload` is empty if the checker left several possible.
std::uint64_t CallCost(std::string_view function, std::string_view overload, std::span<const Value> arguments,
                       const Value& result, WorkLimit& work);

}  // namespace berth::cel
