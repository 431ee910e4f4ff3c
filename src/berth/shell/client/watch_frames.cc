// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/watch_frames.h"

#include <algorithm>
#include <utility>

namespace berth::client {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kRetainedBytesMax = std::size_t{1} << 20;

}  // namespace

void WatchFrames::Reset(Format format) {
  format_ = format;
  pending_.clear();
}

Error WatchFrames::TooLarge() const {
  return Error{ErrorCode::kTooLarge, "a watch event is longer than " + std::to_string(event_bytes_max_) + " bytes"};
}

Expected<std::size_t> WatchFrames::FrameSize(std::string_view bytes) const {
  std::size_t size = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) size = (size << 8) | static_cast<unsigned char>(bytes[i]);
  if (size > event_bytes_max_) return TooLarge();
  return size;
}

Expected<bool> WatchFrames::Take(std::string_view& bytes, std::string_view& event) const {
  if (format_ == Format::kLengths) {
    if (bytes.size() < kLengthBytes) return false;
    BERTH_ASSIGN_OR_RETURN(const std::size_t size, FrameSize(bytes));
    if (bytes.size() - kLengthBytes < size) return false;
    event = bytes.substr(kLengthBytes, size);
    bytes.remove_prefix(kLengthBytes + size);
    return true;
  }
  const std::size_t size = std::min(bytes.find('\n'), bytes.size());
  if (size > event_bytes_max_) return TooLarge();
  if (size == bytes.size()) return false;
  event = bytes.substr(0, size);
  bytes.remove_prefix(size + 1);
  return true;
}

Expected<bool> WatchFrames::Complete(std::string_view& bytes) {
  const auto move = [&](std::size_t count) {
    pending_.append(bytes.substr(0, count));
    bytes.remove_prefix(std::min(count, bytes.size()));
  };
  if (format_ == Format::kLengths) {
    if (pending_.size() < kLengthBytes) move(kLengthBytes - pending_.size());
    if (pending_.size() < kLengthBytes) return false;
    BERTH_ASSIGN_OR_RETURN(const std::size_t size, FrameSize(pending_));
    pending_.reserve(kLengthBytes + size);
    move(kLengthBytes + size - pending_.size());
    return pending_.size() == kLengthBytes + size;
  }
  const std::size_t end = bytes.find('\n');
  if (pending_.size() + std::min(end, bytes.size()) > event_bytes_max_) return TooLarge();
  move(end == std::string_view::npos ? bytes.size() : end + 1);
  return end != std::string_view::npos;
}

// An event that comes in pieces is parsed once it is complete: parsing it with each piece would take quadratic time.
Expected<void> WatchFrames::Feed(std::string_view bytes, const OnEvent& on_event) {
  std::string_view event;
  if (!pending_.empty()) {
    BERTH_ASSIGN_OR_RETURN(const bool is_whole, Complete(bytes));
    if (!is_whole) return {};
    std::string whole = std::exchange(pending_, {});
    std::string_view rest = whole;
    BERTH_ASSIGN_OR_RETURN(const bool has_event, Take(rest, event));
    if (has_event && !on_event(event)) return {};
    if (whole.capacity() <= kRetainedBytesMax) {
      pending_ = std::move(whole);
      pending_.clear();
    }
  }
  for (;;) {
    BERTH_ASSIGN_OR_RETURN(const bool is_whole, Take(bytes, event));
    if (!is_whole) break;
    if (!on_event(event)) return {};
  }
  pending_.append(bytes);
  return {};
}

}  // namespace berth::client
