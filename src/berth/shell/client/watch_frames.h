// SPDX-License-Identifier: Apache-2.0
// WatchFrames: cuts the bytes of a watch into its events: frames with a big-endian length of four bytes before each, as
// protobuf watches are, or lines of JSON. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "berth/base/expected.h"

namespace berth::client {

class WatchFrames {
 public:
  enum class Format : std::uint8_t { kLines, kLengths };
  // Returns false to end the reading. The view is valid during the call, which may Reset.
  using OnEvent = std::function<bool(std::string_view event)>;

  explicit WatchFrames(std::size_t event_bytes_max) : event_bytes_max_(event_bytes_max) {}

  // To be called when a stream begins.
  void Reset(Format format);
  Format format() const { return format_; }

  // Calls `on_event` for each event that the bytes complete. kTooLarge for one over the bound.
  Expected<void> Feed(std::string_view bytes, const OnEvent& on_event);
  // False while an event is incomplete.
  bool is_between_events() const { return pending_.empty(); }

 private:
  Error TooLarge() const;
  // The size of the frame that begins with these four bytes, without them.
  Expected<std::size_t> FrameSize(std::string_view bytes) const;
  // Takes one event from the front of `bytes`; false when none is complete.
  Expected<bool> Take(std::string_view& bytes, std::string_view& event) const;
  // Moves bytes from the front of `bytes` to pending_ until the event there is complete. Returns whether it is.
  Expected<bool> Complete(std::string_view& bytes);

  const std::size_t event_bytes_max_;
  Format format_ = Format::kLines;
  std::string pending_;  // the beginning of an incomplete event
};

}  // namespace berth::client
