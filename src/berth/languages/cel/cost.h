// SPDX-License-Identifier: Apache-2.0
// What an evaluation has cost, counted as cel-go's interpreter/runtimecost.go (v0.26) with Kubernetes' estimator counts
// it: which calls are charged depends on a stack of observed values that is kept by node numbers, quirks included.
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
  // The limit was exceeded: nothing is observed any more, and whatever is evaluated is thrown away.
  bool is_cancelled() const { return !cancel_message_.empty(); }
  const std::string& cancel_message() const { return cancel_message_; }
  void Cancel(std::string message) {
    if (!is_cancelled()) cancel_message_ = std::move(message);
  }

  // Each observation of a node or qualifier is some charges and drops, and then Push.
  void Charge(std::uint64_t amount) { cost_ += amount; }
  void Refund(std::uint64_t amount) { cost_ -= amount; }
  // Removes the topmost value of the number and all above it.
  void Drop(ExprId id);
  // The values of a call's arguments, removed with all above them; false, with part of them removed, when one is not
  // there.
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
  std::vector<std::vector<std::uint32_t>> positions_;  // in the stack, by number
};

inline constexpr std::string_view kCostLimitMessage = "operation cancelled: actual cost limit exceeded";
inline constexpr std::uint64_t kListCreateCost = 10;
inline constexpr std::uint64_t kMapCreateCost = 30;

// The charge for a call. `overload` is empty when the checker left several open.
std::uint64_t CallCost(std::string_view function, std::string_view overload, std::span<const Value> arguments,
                       const Value& result, WorkLimit& work);

}  // namespace berth::cel
