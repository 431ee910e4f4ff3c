// SPDX-License-Identifier: Apache-2.0
// Google's Common Expression Language as Kubernetes 1.36 uses it in selectors and policies: compiled once, evaluated
// often. Results, messages and costs equal those of cel-go v0.26 in Kubernetes' environment for stored expressions.
//
// Not implemented, and refused at compile time: protobuf messages, string.format, URLs and named formats. Maps are
// iterated in insertion order, where upstream's order is random.
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

// The API's limit on a selector's expression, in bytes.
inline constexpr std::size_t kExpressionBytesMax = 10 * 1024;

struct EvaluationResult {
  // Errors have upstream's text ("no such key: x", "operation cancelled: actual cost limit exceeded").
  Expected<Value> value;
  std::uint64_t cost = 0;  // in cel-go's units; also set for a failed evaluation
};

// A compiled expression. Immutable: copies share it, and any thread may evaluate it.
class Program {
 public:
  // Checks the result type; an error becomes Compile's.
  using TypeCheck = std::function<Expected<void>(const Type& type)>;

  // `text` must be within kExpressionBytesMax. Errors begin with "compilation failed: " or "program instantiation
  // failed: ", as in Kubernetes, or are those of `check_type` (may be empty).
  static Expected<Program> Compile(const Environment& environment, std::string_view text,
                                   const TypeCheck& check_type = {});

  // Stops as soon as the cost exceeds the limit.
  EvaluationResult Evaluate(const Activation& activation, std::uint64_t cost_limit) const;

  // The checked type of the result.
  const TypePtr& output_type() const { return output_type_; }

 private:
  Program(std::shared_ptr<const Step> root, TypePtr output_type);

  std::shared_ptr<const Step> root_;
  TypePtr output_type_;
};

}  // namespace berth::cel
