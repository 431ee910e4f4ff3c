// SPDX-License-Identifier: Apache-2.0
// FrameCache: whole frames of a Fleet as they are sent, encoded. Many readers who come at once get one frame, which is
// written and compressed once; each goes on by deltas from its revision. Thread-safe; who comes while a frame is made
// waits for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "berth/base/time.h"
#include "berth/page/fleet.h"
#include "berth/shell/serving/content_coding.h"

namespace berth::page {

class FrameCache {
 public:
  // A frame that is older is made anew, unless nothing has changed since.
  static constexpr Duration kAgeMax = std::chrono::seconds(1);
  // After so long without a request nothing is kept: one frame for each coding, a few MB.
  static constexpr Duration kUnusedMax = std::chrono::seconds(10);

  // `fleet` must outlive it.
  explicit FrameCache(Fleet& fleet) : fleet_(fleet) {}

  struct Frame {
    std::uint32_t revision = 0;
    std::shared_ptr<const std::string> bytes;
  };
  // Of the revision `revision_min` or a later one.
  Frame Get(serving::ContentCoding coding, std::uint32_t revision_min, Time now);
  void DropUnused(Time now);
  // No frame of before is good for anybody: another moment is shown.
  void Clear();
  std::size_t kept_count() const;

 private:
  struct Kept {
    Frame frame;
    Time made_at{};
    Time used_at{};
  };

  Fleet& fleet_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<serving::ContentCoding, Kept> kept_;
};

}  // namespace berth::page
