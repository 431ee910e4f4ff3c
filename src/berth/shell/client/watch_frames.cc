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

Expected<bool> WatchFrames::Take(std::string_view& bytes, std::string_view& event) const {
  std::size_t head = 0;
  std::size_t size = 0;
  bool is_whole = false;
  if (format_ == Format::kLengths) {
    if (bytes.size() < kLengthBytes) return false;
    head = kLengthBytes;
    for (std::size_t i = 0; i < kLengthBytes; ++i) size = (size << 8) | static_cast<unsigned char>(bytes[i]);
    is_whole = bytes.size() - head >= size;
  } else {
    size = std::min(bytes.find('\n'), bytes.size());
    is_whole = size < bytes.size();
  }
  if (size > event_bytes_max_) {
    return Error{ErrorCode::kTooLarge, "a watch event is longer than " + std::to_string(event_bytes_max_) + " bytes"};
  }
  if (!is_whole) return false;
  event = bytes.substr(head, size);
  bytes.remove_prefix(head + size + (format_ == Format::kLines ? 1 : 0));
  return true;
}

Expected<void> WatchFrames::Feed(std::string_view bytes, const OnEvent& on_event) {
  // A long line is not looked through again with each piece of it.
  if (format_ == Format::kLines && !pending_.empty() && bytes.find('\n') == std::string_view::npos &&
      pending_.size() + bytes.size() <= event_bytes_max_) {
    pending_.append(bytes);
    return {};
  }
  std::string kept = std::exchange(pending_, {});
  std::string_view rest = bytes;
  if (!kept.empty()) {
    kept.append(bytes);
    rest = kept;
  }
  for (;;) {
    std::string_view event;
    BERTH_ASSIGN_OR_RETURN(const bool is_whole, Take(rest, event));
    if (!is_whole) break;
    if (!on_event(event)) return {};
  }
  if (rest.empty()) return {};
  if (kept.empty() || kept.capacity() > kRetainedBytesMax) {
    pending_ = std::string(rest);
  } else {
    kept.erase(0, kept.size() - rest.size());
    pending_ = std::move(kept);
  }
  return {};
}

}  // namespace berth::client
