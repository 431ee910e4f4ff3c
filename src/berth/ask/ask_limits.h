// SPDX-License-Identifier: Apache-2.0
// Bounds of a question. Plain values.
#pragma once

#include <cstddef>
#include <functional>

namespace berth::ask {

// Asked now and then while an answer is found; true: nobody wants it any more. Empty: nobody interrupts.
using IsInterrupted = std::function<bool()>;

// How much one question may ask for.
struct AskLimits {
  std::size_t added_pods_max = 500'000;
  std::size_t node_copies_max = 100'000;
  std::size_t capacity_max = 10'000'000;
};

}  // namespace berth::ask
