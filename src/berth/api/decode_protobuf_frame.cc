// SPDX-License-Identifier: Apache-2.0
#include "berth/api/decode_protobuf_frame.h"

#include <algorithm>
#include <utility>

#include "berth/codec/protobuf_reader.h"

namespace berth::api {
namespace {

using codec::ProtobufReader;

// Field numbers of meta/v1 ListMeta, of the envelope and of lists.
constexpr std::uint32_t kUnknownRaw = 2;
constexpr std::uint32_t kListMetadata = 1;
constexpr std::uint32_t kListItems = 2;
constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";

Error Malformed(std::string_view what) { return InvalidError(std::string(what) + ": is no valid protobuf"); }

Error NoMagic() { return InvalidError("is no Kubernetes protobuf: it should begin with \"k8s\" and a zero byte"); }

// Calls `visit` for each field of a message. Returns an error for malformed bytes, or if `visit` refuses the type of a
// field.
template <typename Visit>
Expected<void> Read(std::string_view what, std::string_view bytes, Visit visit) {
  ProtobufReader reader(bytes);
  while (reader.Next()) {
    if (!visit(reader)) {
      return InvalidError(std::string(what) + ": field " + std::to_string(reader.number()) + " is of the wrong type");
    }
  }
  if (reader.is_malformed()) return Malformed(what);
  return {};
}

bool Take(const ProtobufReader& field, std::string_view& out) {
  out = field.bytes();
  return field.is_bytes();
}

bool Take(const ProtobufReader& field, std::int32_t& out) {
  out = static_cast<std::int32_t>(static_cast<std::uint32_t>(field.value()));
  return field.is_number();
}

Expected<void> ReadTypeMeta(std::string_view bytes, std::string_view& api_version, std::string_view& kind) {
  return Read("typeMeta", bytes, [&](const ProtobufReader& field) {
    if (field.number() == 1) return Take(field, api_version);
    return field.number() != 2 || Take(field, kind);
  });
}

Expected<ProtobufListMeta> ReadListMeta(std::string_view bytes) {
  ProtobufListMeta out;
  BERTH_RETURN_IF_ERROR(Read("ListMeta", bytes, [&](const ProtobufReader& field) {
    switch (field.number()) {
      case 2: return Take(field, out.resource_version);
      case 3: return Take(field, out.continue_token);
      case 4: out.remaining_item_count = static_cast<std::int64_t>(field.value()); return field.is_number();
      default: return true;
    }
  }));
  return out;
}

bool IsInitialEventsEnd(std::string_view entry) {
  std::string_view key;
  std::string_view value;
  const auto read = Read("annotation", entry, [&](const ProtobufReader& field) {
    if (field.number() == 1) return Take(field, key);
    return field.number() != 2 || Take(field, value);
  });
  return read.ok() && key == kInitialEventsEnd && value == "true";
}

// The head of a field: its number, its type, and its value or the length of its bytes.
struct FieldHead {
  std::uint32_t number = 0;
  std::uint32_t type = 0;
  std::uint64_t value = 0;
  std::size_t size = 0;  // size of the head itself
};
constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kFixed64 = 1;
constexpr std::uint32_t kBytes = 2;
constexpr std::uint32_t kFixed32 = 5;
constexpr std::size_t kVarintBytesMax = 10;

enum class Parsed : std::uint8_t { kWhole, kCutShort, kBad };

Parsed ParseVarint(std::string_view bytes, std::size_t& at, std::uint64_t& out) {
  out = 0;
  for (std::size_t i = 0; i < kVarintBytesMax; ++i) {
    if (at == bytes.size()) return Parsed::kCutShort;
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    out |= std::uint64_t{byte & 0x7FU} << (7 * i);
    if ((byte & 0x80U) == 0) return Parsed::kWhole;
  }
  return Parsed::kBad;
}

Parsed ParseHead(std::string_view bytes, FieldHead& out) {
  std::uint64_t tag = 0;
  if (const Parsed parsed = ParseVarint(bytes, out.size, tag); parsed != Parsed::kWhole) return parsed;
  out.number = static_cast<std::uint32_t>(tag >> 3);
  out.type = static_cast<std::uint32_t>(tag & 7U);
  if (tag >> 32 != 0 || out.number == 0) return Parsed::kBad;
  switch (out.type) {
    case kVarint:
    case kBytes: return ParseVarint(bytes, out.size, out.value);
    case kFixed64:
    case kFixed32: {
      const std::size_t length = out.type == kFixed64 ? 8 : 4;
      if (bytes.size() - out.size < length) return Parsed::kCutShort;
      out.size += length;
      return Parsed::kWhole;
    }
    default: return Parsed::kBad;
  }
}

}  // namespace

Expected<ProtobufUnknown> UnwrapUnknown(std::string_view bytes) {
  if (!bytes.starts_with(kProtobufMagic)) return NoMagic();
  ProtobufUnknown out;
  std::string_view type_meta;
  BERTH_RETURN_IF_ERROR(Read("runtime.Unknown", bytes.substr(kProtobufMagic.size()), [&](const ProtobufReader& field) {
    switch (field.number()) {
      case 1: return Take(field, type_meta);
      case kUnknownRaw: return Take(field, out.raw);
      case 3: return Take(field, out.content_encoding);
      case 4: return Take(field, out.content_type);
      default: return true;
    }
  }));
  BERTH_RETURN_IF_ERROR(ReadTypeMeta(type_meta, out.api_version, out.kind));
  return out;
}

Expected<ProtobufMeta> ReadProtobufMeta(std::string_view object) {
  ProtobufMeta out;
  // The metadata is the first field, so that the rest of the object is skipped.
  ProtobufReader root(object);
  while (root.Next() && root.number() != 1) {
  }
  if (root.is_malformed()) return Malformed("object");
  if (root.number() != 1 || !root.is_bytes()) return InvalidError("object: has no metadata");
  BERTH_RETURN_IF_ERROR(Read("metadata", root.bytes(), [&](const ProtobufReader& field) {
    switch (field.number()) {
      case 1: return Take(field, out.name);
      case 3: return Take(field, out.namespace_name);
      case 5: return Take(field, out.uid);
      case 6: return Take(field, out.resource_version);
      case 12:
        out.has_initial_events_end = out.has_initial_events_end || IsInitialEventsEnd(field.bytes());
        return field.is_bytes();
      default: return true;
    }
  }));
  return out;
}

Expected<ProtobufList> ReadProtobufList(std::string_view raw) {
  ProtobufList out;
  std::string_view metadata;
  BERTH_RETURN_IF_ERROR(Read("list", raw, [&](const ProtobufReader& field) {
    if (field.number() == kListMetadata) return Take(field, metadata);
    if (field.number() != kListItems) return true;
    if (out.items.empty()) out.items.reserve(field.CountRun());
    return Take(field, out.items.emplace_back());
  }));
  BERTH_ASSIGN_OR_RETURN(out.metadata, ReadListMeta(metadata));
  return out;
}

Expected<ProtobufStatus> ReadProtobufStatus(std::string_view raw) {
  ProtobufStatus out;
  std::string_view details;
  BERTH_RETURN_IF_ERROR(Read("Status", raw, [&](const ProtobufReader& field) {
    switch (field.number()) {
      case 2: return Take(field, out.status);
      case 3: return Take(field, out.message);
      case 4: return Take(field, out.reason);
      case 5: return Take(field, details);
      case 6: return Take(field, out.code);
      default: return true;
    }
  }));
  BERTH_RETURN_IF_ERROR(Read("Status.details", details, [&](const ProtobufReader& field) {
    return field.number() != 5 || Take(field, out.retry_after_seconds);
  }));
  return out;
}

Expected<ProtobufWatchEvent> ReadProtobufWatchEvent(std::string_view bytes) {
  ProtobufWatchEvent out;
  std::string_view extension;
  BERTH_RETURN_IF_ERROR(Read("WatchEvent", bytes, [&](const ProtobufReader& field) {
    if (field.number() == 1) return Take(field, out.type);
    return field.number() != 2 || Take(field, extension);
  }));
  BERTH_RETURN_IF_ERROR(Read("WatchEvent.object", extension, [&](const ProtobufReader& field) {
    return field.number() != 1 || Take(field, out.object);
  }));
  return out;
}

Error ProtobufListReader::Fail(Error error) {
  place_ = Place::kFailed;
  rest_ = std::string();
  return error;
}

Expected<void> ProtobufListReader::Feed(std::string_view piece) {
  if (place_ == Place::kFailed) return InvalidError("the list has failed already");
  const bool is_joined = !rest_.empty();
  if (is_joined) rest_ += piece;
  const std::string_view bytes = is_joined ? std::string_view(rest_) : piece;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto step = Step(bytes.substr(at));
    if (!step.ok()) return Fail(step.error());
    if (*step == 0) break;
    at += *step;
  }
  if (is_joined) {
    rest_.erase(0, at);
  } else {
    rest_ = piece.substr(at);
  }
  return {};
}

Expected<std::size_t> ProtobufListReader::Step(std::string_view bytes) {
  constexpr std::size_t kMore = 0;
  if (place_ == Place::kMagic) {
    const std::size_t size = std::min(bytes.size(), kProtobufMagic.size());
    if (bytes.substr(0, size) != kProtobufMagic.substr(0, size)) return NoMagic();
    if (size < kProtobufMagic.size()) return kMore;
    place_ = Place::kEnvelope;
    return size;
  }
  FieldHead head;
  if (place_ == Place::kList) bytes = bytes.substr(0, std::min<std::uint64_t>(bytes.size(), list_bytes_));
  const Parsed parsed = ParseHead(bytes, head);
  const bool is_list_over = place_ == Place::kList && bytes.size() == list_bytes_;
  if (parsed == Parsed::kBad || (parsed == Parsed::kCutShort && is_list_over)) return Malformed("list");
  if (parsed == Parsed::kCutShort) return kMore;

  if (place_ == Place::kEnvelope && head.number == kUnknownRaw) {
    if (head.type != kBytes || has_list_) return Malformed("list");
    has_list_ = true;
    list_bytes_ = head.value;
    if (list_bytes_ > 0) place_ = Place::kList;
    return head.size;
  }
  std::size_t size = head.size;
  if (head.type == kBytes) {
    if (place_ == Place::kList && head.value > list_bytes_ - head.size) return Malformed("list");
    if (head.value > item_bytes_max_) {
      return Error{ErrorCode::kTooLarge, "list: an object of " + std::to_string(head.value) + " bytes: at most " +
                                             std::to_string(item_bytes_max_) + " are read"};
    }
    if (bytes.size() - head.size < head.value) return kMore;
    size += static_cast<std::size_t>(head.value);
    BERTH_RETURN_IF_ERROR(Take(head.number, bytes.substr(head.size, static_cast<std::size_t>(head.value))));
  }
  if (place_ == Place::kList) {
    list_bytes_ -= size;
    if (list_bytes_ == 0) place_ = Place::kEnvelope;
  }
  return size;
}

Expected<void> ProtobufListReader::Take(std::uint32_t number, std::string_view payload) {
  if (place_ == Place::kEnvelope) {
    if (number != 1) return {};
    std::string_view api_version;
    std::string_view kind;
    BERTH_RETURN_IF_ERROR(ReadTypeMeta(payload, api_version, kind));
    api_version_ = api_version;
    kind_ = kind;
    return {};
  }
  if (number == kListItems) return on_item_(payload);
  if (number != kListMetadata) return {};
  BERTH_ASSIGN_OR_RETURN(const ProtobufListMeta metadata, ReadListMeta(payload));
  resource_version_ = metadata.resource_version;
  continue_token_ = metadata.continue_token;
  remaining_item_count_ = metadata.remaining_item_count;
  return {};
}

Expected<void> ProtobufListReader::Finish() {
  if (place_ == Place::kEnvelope && rest_.empty() && has_list_) return {};
  if (place_ == Place::kFailed) return InvalidError("the list has failed already");
  return Fail(InvalidError("the list was cut short"));
}

}  // namespace berth::api
