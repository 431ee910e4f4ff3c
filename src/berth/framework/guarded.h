// SPDX-License-Identifier: Apache-2.0
// Guards calls into plugins: an exception becomes kError ("panic: ...") and does not propagate. Used by the runtime,
// the queue and the scheduler.
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <variant>

#include "berth/framework/operation.h"
#include "berth/framework/status.h"

namespace berth::framework {

// `call` returns a Status, or an Answer whose first member is one.
template <typename Answer = Status, typename Call>
Answer Guarded(Call&& call) {
  try {
    return call();
  } catch (const std::exception& e) {
    return Answer{Status::Error(std::string("panic: ") + e.what())};
  } catch (...) {
    return Answer{Status::Error("panic: unknown exception")};
  }
}

// `call` returns nothing.
template <typename Call>
Status GuardedCall(Call&& call) {
  return Guarded([&] {
    call();
    return Status();
  });
}

// Returns an error for an operation that could never end because nothing would answer it.
inline Status CheckOperation(const Operation& operation) {
  if (operation.work && !operation.writes.empty()) return Status::Error("an operation that writes and works at once");
  for (const ApiWrite& write : operation.writes) {
    // These two are reserved for the scheduler: it does not wait for status writes, and reads a binding's outcome with
    // a PodRead.
    if (std::holds_alternative<PodStatusWrite>(write))
      return Status::Error("an operation with a PodStatusWrite: an ObjectPatch of the pod's status is meant");
    if (std::holds_alternative<PodRead>(write))
      return Status::Error("an operation with a PodRead: an ObjectRead of the pod is meant");
  }
  return {};
}

// `call` returns an Operation.
template <typename Call>
Operation GuardedOperation(Call&& call) {
  Operation operation;
  const Status failed = Guarded([&] {
    operation = call();
    return CheckOperation(operation);
  });
  if (!failed.IsSuccess()) operation = Operation::Done(failed);
  return operation;
}

}  // namespace berth::framework
