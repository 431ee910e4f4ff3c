// SPDX-License-Identifier: Apache-2.0
// Subject: whose object a thread works on (a pod's uid), so that a failure can be laid to it, even from a signal
// handler. Each thread has its own; they do not nest.
#pragma once

#include <string_view>

namespace berth {

class Subject {
 public:
  // Until it is destroyed. Longer names are cut.
  explicit Subject(std::string_view name) noexcept;
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  // Of this thread; empty: none. Safe in a signal handler.
  static const char* Current() noexcept;
};

}  // namespace berth
