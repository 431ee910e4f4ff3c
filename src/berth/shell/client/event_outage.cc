// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/event_outage.h"

#include <chrono>

#include "berth/base/backoff.h"
#include "berth/shell/client/rest_client.h"

namespace berth::client {

Duration EventOutage::DelayAfter(int failures, const Error& error) {
  const Duration wait = WithJitter(Doubled(backoff_min_, backoff_max_, failures), random_);
  return std::max(wait, std::min<Duration>(std::chrono::milliseconds(error.retry_after_ms), kRetryAfterMax));
}

std::optional<Duration> EventOutage::Pause(const Error& error) {
  is_probing_ = true;
  if (is_paused_) return std::nullopt;
  is_paused_ = true;
  return DelayAfter(pauses_++, error);
}

}  // namespace berth::client
