// SPDX-License-Identifier: Apache-2.0
// Subject: the pod (uid) that a thread is working on, so that a failure can be attributed to it, even in a signal
// handler. Thread-local; scopes do not nest.
#pragma once

#include <string_view>

namespace berth {

class Subject {
 public:
  // Sets the subject until it is destroyed. Longer names are cut.
  explicit Subject(std::string_view name) noexcept;
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  // The calling thread's subject; empty: none. Async-signal-safe.
  static const char* Current() noexcept;
};

}  // namespace berth
