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

  // A stream begins.
  void Reset(Format format);
  Format format() const { return format_; }

  // Calls `on_event` for each event that the bytes complete. kTooLarge for one over the bound.
  Expected<void> Feed(std::string_view bytes, const OnEvent& on_event);
  // False within an event.
  bool is_between_events() const { return pending_.empty(); }

 private:
  Error TooLarge() const;
  // Of the frame that begins with these four bytes, without them.
  Expected<std::size_t> FrameSize(std::string_view bytes) const;
  // Takes one event off the front of `bytes`; false when none is whole.
  Expected<bool> Take(std::string_view& bytes, std::string_view& event) const;
  // Moves what the event in pending_ lacks from the front of `bytes` to it; whether it is whole then.
  Expected<bool> Complete(std::string_view& bytes);

  const std::size_t event_bytes_max_;
  Format format_ = Format::kLines;
  std::string pending_;  // the part of an event that has come so far
};

}  // namespace berth::client
