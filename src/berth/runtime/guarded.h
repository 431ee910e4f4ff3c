// Calling plugins: what they throw becomes their own error, and nothing of ours.
#pragma once

#include <exception>
#include <string>

#include "berth/framework/operation.h"
#include "berth/framework/status.h"

namespace berth::runtime {

// `call` returns a Status.
template <typename Call>
framework::Status Guarded(Call&& call) {
  try {
    return call();
  } catch (const std::exception& e) {
    return framework::Status::Error(std::string("panic: ") + e.what());
  } catch (...) {
    return framework::Status::Error("panic: unknown exception");
  }
}

// `call` returns an Operation.
template <typename Call>
framework::Operation GuardedOperation(Call&& call) {
  framework::Operation operation;
  const framework::Status thrown = Guarded([&] {
    operation = call();
    return framework::Status();
  });
  if (!thrown.IsSuccess()) operation = framework::Operation::Done(thrown);
  return operation;
}

}  // namespace berth::runtime
