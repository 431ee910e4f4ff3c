// SPDX-License-Identifier: Apache-2.0
// MakeAnew: the state of a new value for one that is there, without a second one that is then moved.
#pragma once

#include <memory>

namespace berth {

// For values that are made from nothing without an allocation: an exception would leave none, and ends the program.
// (std::chrono's constructors do not say that they throw none, so that the compiler cannot check it.)
template <typename Value>
void MakeAnew(Value& value) noexcept {
  std::destroy_at(&value);
  std::construct_at(&value);
}

}  // namespace berth
