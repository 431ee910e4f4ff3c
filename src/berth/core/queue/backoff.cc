// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/backoff.h"

#include <cmath>
#include <limits>

namespace berth::queue {

Duration Backoff::Length(std::int32_t count) const {
  if (count <= 0) return Duration(0);
  const std::int32_t shift = count - 1;
  if (shift >= std::numeric_limits<Duration::rep>::digits || initial.count() > (max.count() >> shift)) return max;
  return Duration(initial.count() << shift);
}

Time Backoff::Expiration(Time timestamp, std::int32_t count) const {
  if (max == Duration(0) || count <= 0) return Time::min();
  return AlignToWindow(timestamp + Length(count));
}

Time Backoff::ExpirationOfGroup(Time timestamp, std::int32_t count, std::size_t size) const {
  Backoff longer = *this;
  if (size > 1) {
    const double most = static_cast<double>(max.count()) * std::sqrt(static_cast<double>(size));
    longer.max = Duration(static_cast<Duration::rep>(most));
  }
  return longer.Expiration(timestamp, count);
}

}  // namespace berth::queue
