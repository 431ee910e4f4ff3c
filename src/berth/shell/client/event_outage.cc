// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/event_outage.h"

#include <chrono>

#include "berth/shell/client/rest_client.h"

namespace berth::client {

Duration EventOutage::DelayAfter(int failures, const Error& error) {
  const Duration base = std::min(backoff_max_, backoff_min_ * (std::int64_t{1} << std::min(failures, 20)));
  const Duration wait = base / 2 + Duration(random_.Below(static_cast<std::uint64_t>(base.count() / 2 + 1)));
  return std::max(wait, std::min<Duration>(std::chrono::milliseconds(error.retry_after_ms), kRetryAfterMax));
}

std::optional<Duration> EventOutage::Pause(const Error& error) {
  is_probing_ = true;
  if (is_paused_) return std::nullopt;
  is_paused_ = true;
  return DelayAfter(pauses_++, error);
}

}  // namespace berth::client
