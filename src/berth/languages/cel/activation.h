// SPDX-License-Identifier: Apache-2.0
// Activation: the input variables of an evaluation.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/languages/cel/value.h"

namespace berth::cel {

// Variables by name, searched linearly because there are few.
class Activation {
 public:
  void Set(std::string_view name, Value value) { variables_.emplace_back(name, std::move(value)); }
  // Null when there is none.
  const Value* Find(std::string_view name) const {
    for (const auto& [known, value] : variables_) {
      if (known == name) return &value;
    }
    return nullptr;
  }

 private:
  std::vector<std::pair<std::string, Value>> variables_;
};

}  // namespace berth::cel
