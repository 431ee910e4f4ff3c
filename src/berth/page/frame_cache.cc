// SPDX-License-Identifier: Apache-2.0
#include "berth/page/frame_cache.h"

#include <utility>

namespace berth::page {

FrameCache::Frame FrameCache::Get(serving::ContentCoding coding, std::uint32_t revision_min, Time now) {
  const std::lock_guard lock(mutex_);
  Kept& kept = kept_[coding];
  kept.used_at = now;
  const Frame& frame = kept.frame;
  if (frame.bytes != nullptr && frame.revision >= revision_min) {
    const bool is_of_now = frame.revision == fleet_.counts().revision;
    if (is_of_now || (now - kept.made_at < kAgeMax && fleet_.KnowsChangesSince(frame.revision))) return frame;
  }
  Fleet::Framed made = fleet_.Frame();
  std::string bytes =
      coding == serving::ContentCoding::kIdentity ? std::move(made.bytes) : serving::Encoded(coding, made.bytes);
  kept.frame = {made.revision, std::make_shared<const std::string>(std::move(bytes))};
  kept.made_at = now;
  return kept.frame;
}

void FrameCache::DropUnused(Time now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [&](const auto& entry) { return now - entry.second.used_at > kUnusedMax; });
}

void FrameCache::Clear() {
  const std::lock_guard lock(mutex_);
  kept_.clear();
}

std::size_t FrameCache::kept_count() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

}  // namespace berth::page
