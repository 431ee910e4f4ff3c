// SPDX-License-Identifier: Apache-2.0
// Google's Common Expression Language, as Kubernetes 1.36 uses it in selectors and policies: compile once, evaluate
// often. Results, messages and costs are those of cel-go v0.26 in Kubernetes' environment for stored expressions.
//
// Not built, and refused when compiled: messages of protocol buffers, string.format, URLs and named formats. Maps are
// walked in order of insertion, where upstream's order is random.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "berth/base/expected.h"
#include "berth/languages/cel/activation.h"
#include "berth/languages/cel/environment.h"

namespace berth::cel {

class Step;

// What the API allows for a CEL expression of a selector, in bytes.
inline constexpr std::size_t kExpressionBytesMax = 10 * 1024;

struct EvaluationResult {
  // The error has upstream's text ("no such key: x", "operation cancelled: actual cost limit exceeded").
  Expected<Value> value;
  std::uint64_t cost = 0;  // in cel-go's units, also of a failed evaluation
};

// A compiled expression. Immutable: copies share it, and any thread may evaluate it.
class Program {
 public:
  // Whether a result type will do; the error becomes Compile's.
  using TypeCheck = std::function<Expected<void>(const Type& type)>;

  // The text must be within kExpressionBytesMax. The error begins with "compilation failed: " or
  // "program instantiation failed: ", as Kubernetes shows it, or is that of `check_type` (may be empty).
  static Expected<Program> Compile(const Environment& environment, std::string_view text,
                                   const TypeCheck& check_type = {});

  // Stops as soon as the cost is above the limit.
  EvaluationResult Evaluate(const Activation& activation, std::uint64_t cost_limit) const;

  // The type of the result as checked.
  const TypePtr& output_type() const { return output_type_; }

 private:
  Program(std::shared_ptr<const Step> root, TypePtr output_type);

  std::shared_ptr<const Step> root_;
  TypePtr output_type_;
};

}  // namespace berth::cel
