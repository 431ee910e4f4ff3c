// SPDX-License-Identifier: Apache-2.0
// ResetToDefault: resets a value to its default-constructed state without a temporary that is moved from.
#pragma once

#include <memory>

namespace berth {

// For values whose default constructor does not allocate: an exception would leave no value, and ends the program.
// (std::chrono's constructors are not noexcept, so that the compiler cannot check this.)
template <typename Value>
void ResetToDefault(Value& value) noexcept {
  std::destroy_at(&value);
  std::construct_at(&value);
}

}  // namespace berth
