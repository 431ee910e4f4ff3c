// SPDX-License-Identifier: Apache-2.0
// AnswerWait: how a thread waits for answers of servers while the program may get a signal to end. All its waits
// together are over kEndingMax after one of them first sees that. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <utility>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/shell/client/rest_client.h"

namespace berth::app {

class AnswerWait {
 public:
  static constexpr Duration kEndingMax = std::chrono::seconds(2);

  // `clock` must outlive it. `is_ending` is asked again and again.
  AnswerWait(const Clock& clock, std::function<bool()> is_ending) : clock_(clock), is_ending_(std::move(is_ending)) {}

  // False: the program ends, and the answer has not come in time.
  template <typename T>
  bool Await(const std::future<T>& answer) {
    while (answer.wait_for(kLook) != std::future_status::ready) {
      if (IsOver()) return false;
    }
    return true;
  }
  // As RestClient::DoSync(). When the wait was broken off, the outcome is unknown.
  Expected<net::Response> Do(client::RestClient& rest, net::Request request, const client::RestOptions& options = {});

  // kCancelled, with an outcome that is not known: of an answer that was not waited for any longer.
  static Error BrokenOff() { return {ErrorCode::kCancelled, "berth ends, and no answer had come", true}; }

 private:
  static constexpr auto kLook = std::chrono::milliseconds(20);

  bool IsOver() {
    if (!ending_since_ && is_ending_()) ending_since_ = clock_.Now();
    return ending_since_ && clock_.Now() - *ending_since_ >= kEndingMax;
  }

  const Clock& clock_;
  const std::function<bool()> is_ending_;
  std::optional<Time> ending_since_;
};

}  // namespace berth::app
