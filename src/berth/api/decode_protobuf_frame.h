// SPDX-License-Identifier: Apache-2.0
// Kubernetes' protobuf around objects: the envelope, lists, watch events and Status, and the metadata by which a
// reflector stores an object. decode.h decodes objects themselves. A std::string_view in a result points into the given
// bytes. Malformed bytes are an error, never a crash. Thread-safe, except ProtobufListReader: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"

namespace berth::api {

inline constexpr std::string_view kProtobufMagic{"k8s\0", 4};
inline constexpr std::string_view kProtobufMediaType = "application/vnd.kubernetes.protobuf";

// runtime.Unknown: the envelope of every object that is sent by itself, and of every list.
struct ProtobufUnknown {
  std::string_view api_version;
  std::string_view kind;
  std::string_view raw;  // the message of this kind
  std::string_view content_encoding;
  std::string_view content_type;
};

// `bytes` are the magic number and a runtime.Unknown: a response's body, or ProtobufWatchEvent::object.
Expected<ProtobufUnknown> UnwrapUnknown(std::string_view bytes);

// A part of an object's metadata.
struct ProtobufMeta {
  std::string_view name;
  std::string_view namespace_name;
  std::string_view uid;
  std::string_view resource_version;
  // The bookmark that ends a streamed list has this annotation.
  bool has_initial_events_end = false;
};

// `object` is a message of any kind (ProtobufUnknown::raw, or an item of a list), whose first field is its metadata.
Expected<ProtobufMeta> ReadProtobufMeta(std::string_view object);

struct ProtobufListMeta {
  std::string_view resource_version;
  std::string_view continue_token;
  std::optional<std::int64_t> remaining_item_count;
};
struct ProtobufList {
  ProtobufListMeta metadata;
  std::vector<std::string_view> items;
};

// `raw` is the message of any list kind.
Expected<ProtobufList> ReadProtobufList(std::string_view raw);

// Reads a list while it arrives, so that it is never in memory as a whole: at most one item is kept between two pieces.
class ProtobufListReader {
 public:
  // Called for each item, which is valid during the call. An error ends the reading.
  using OnItem = std::function<Expected<void>(std::string_view item)>;

  explicit ProtobufListReader(OnItem on_item, std::size_t item_bytes_max = std::size_t{16} << 20)
      : on_item_(std::move(on_item)), item_bytes_max_(item_bytes_max) {}

  // The next bytes of the body, beginning with magic number and envelope, split anywhere. After an error every further
  // call fails.
  Expected<void> Feed(std::string_view piece);
  // To be called after the last piece. Returns an error if the body was incomplete.
  Expected<void> Finish();

  // Complete once Finish() has succeeded; a list's metadata precedes its items.
  const std::string& resource_version() const { return resource_version_; }
  const std::string& continue_token() const { return continue_token_; }
  std::optional<std::int64_t> remaining_item_count() const { return remaining_item_count_; }
  const std::string& api_version() const { return api_version_; }
  const std::string& kind() const { return kind_; }

 private:
  enum class Place : std::uint8_t { kMagic, kEnvelope, kList, kFailed };

  // Consumes one element of `bytes` and returns its size. 0: more bytes are needed.
  Expected<std::size_t> Step(std::string_view bytes);
  Expected<void> Take(std::uint32_t number, std::string_view payload);
  Error Fail(Error error);

  OnItem on_item_;
  std::size_t item_bytes_max_;
  Place place_ = Place::kMagic;
  std::string rest_;              // input that is not consumed yet: less than one element
  std::uint64_t list_bytes_ = 0;  // bytes of the list's message that are still to come
  bool has_list_ = false;
  std::string api_version_;
  std::string kind_;
  std::string resource_version_;
  std::string continue_token_;
  std::optional<std::int64_t> remaining_item_count_;
};

// meta/v1.Status: the error of a request, or the object of an ERROR event.
struct ProtobufStatus {
  std::int32_t code = 0;
  std::string_view status;  // "Success", "Failure"
  std::string_view reason;
  std::string_view message;
  std::int32_t retry_after_seconds = 0;  // from its details
};
Expected<ProtobufStatus> ReadProtobufStatus(std::string_view raw);

// A frame of a watch, without its length.
struct ProtobufWatchEvent {
  std::string_view type;    // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
  std::string_view object;  // with its envelope
};
Expected<ProtobufWatchEvent> ReadProtobufWatchEvent(std::string_view bytes);

}  // namespace berth::api
