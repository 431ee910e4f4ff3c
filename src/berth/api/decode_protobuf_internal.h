// What the protobuf decoders of all kinds share, the counterpart of decode_internal.h. Private to this folder.
// The numbers of fields are those of the generated.proto files of k8s.io/api and k8s.io/apimachinery 0.36; the names
// beside them are the JSON ones, by which an error tells its place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/decode_rules.h"
#include "berth/api/meta.h"
#include "berth/api/pod.h"
#include "berth/api/selector.h"
#include "berth/base/expected.h"
#include "berth/codec/protobuf_reader.h"

namespace berth::api::internal {

using Field = codec::ProtobufReader;  // standing on one field

// Walks one object; the decoders of kinds derive from it. Each method returns false after it has noted the first
// failure, and each level above adds its name to the failure's path (At), so that success pays nothing for it.
// A message field that comes twice is merged, as protobuf has it.
class ProtobufDecoder {
 public:
  explicit ProtobufDecoder(std::string_view kind) : kind_(kind) {}

 protected:
  [[gnu::cold]] bool Fail(std::string_view message);
  [[gnu::cold]] bool WrongType(const Field& in, std::string_view wanted);
  // False, always, with `key` in front of the path: spec.nodeName, containers[2], requests[cpu].
  [[gnu::cold]] bool At(std::string_view key);
  [[gnu::cold]] bool At(std::string_view key, std::size_t index);
  [[gnu::cold]] bool AtEntry(std::string_view key, std::string_view entry);
  [[gnu::cold]] Error Failure(const ObjectMeta& metadata) const;

  // The fields of a message, each given to `visit(field)`.
  template <typename Visit>
  bool Message(std::string_view bytes, Visit visit) {
    Field reader(bytes);
    while (reader.Next()) {
      if (!visit(reader)) return false;
    }
    return !reader.is_malformed() || Malformed();
  }
  template <typename Visit>
  bool Message(const Field& in, Visit visit) {
    return in.is_bytes() ? Message(in.bytes(), visit) : WrongType(in, "a message");
  }

  // A whole object, whose field 1 is its metadata; `visit(object, field)` gets the others.
  template <typename T, typename Visit>
  Expected<std::shared_ptr<const T>> Whole(std::string_view raw, Visit visit) {
    auto out = std::make_shared<T>();
    const bool is_good = Message(raw, [&](const Field& in) {
      if (in.number() == 1) return Metadata(in, out->metadata) || At("metadata");
      return visit(*out, in);
    });
    if (!is_good || !Named(out->metadata)) return Failure(out->metadata);
    return std::shared_ptr<const T>(std::move(out));
  }

  bool Named(const ObjectMeta& metadata) { return !metadata.name.empty() || NameMissing(); }

  bool View(const Field& in, std::string_view& out) {
    if (!in.is_bytes()) return WrongType(in, "a string");
    out = in.bytes();
    return true;
  }
  bool String(const Field& in, std::string& out) {
    if (!in.is_bytes()) return WrongType(in, "a string");
    out.assign(in.bytes());
    return true;
  }
  bool String(const Field& in, std::optional<std::string>& out) {
    return String(in, out.has_value() ? *out : out.emplace());
  }

  bool Boolean(const Field& in, bool& out) {
    if (!in.is_number()) return WrongType(in, "a boolean");
    out = in.value() != 0;
    return true;
  }
  bool Boolean(const Field& in, std::optional<bool>& out) { return Boolean(in, out.emplace()); }

  bool Int64(const Field& in, std::int64_t& out) {
    if (!in.is_number()) return WrongType(in, "a whole number");
    out = static_cast<std::int64_t>(in.value());
    return true;
  }
  bool Int64(const Field& in, std::optional<std::int64_t>& out) { return Int64(in, out.emplace()); }
  // Of a longer number the low bits, as protobuf has it.
  bool Int32(const Field& in, std::int32_t& out) {
    if (!in.is_number()) return WrongType(in, "a whole number");
    out = static_cast<std::int32_t>(static_cast<std::uint32_t>(in.value()));
    return true;
  }
  bool Int32(const Field& in, std::optional<std::int32_t>& out) { return Int32(in, out.emplace()); }

  // One element of a repeated field called `name`, decoded by `decode(field, slot)`.
  template <typename Item, typename Decode>
  bool Append(const Field& in, std::vector<Item>& out, std::string_view name, Decode decode) {
    if (out.empty()) out.reserve(in.CountRun());
    return decode(in, out.emplace_back()) || At(name, out.size() - 1);
  }
  bool Append(const Field& in, std::vector<std::string>& out, std::string_view name) {
    return Append(in, out, name, [this](const Field& item, std::string& slot) { return String(item, slot); });
  }

  // One entry of a map called `name`. Once all are there they need SortMap.
  template <typename Value, typename Decode>
  bool Entry(const Field& in, std::vector<std::pair<std::string, Value>>& out, std::string_view name, Decode decode) {
    if (out.empty()) out.reserve(in.CountRun());
    auto& [key, value] = out.emplace_back();
    const bool is_good = Message(in, [&](const Field& part) {
      if (part.number() == 1) return String(part, key);
      return part.number() != 2 || decode(part, value);
    });
    return is_good || AtEntry(name, key);
  }
  bool Entry(const Field& in, std::vector<StringMap::Entry>& out, std::string_view name) {
    return Entry(in, out, name, [this](const Field& item, std::string& slot) { return String(item, slot); });
  }
  bool Entry(const Field& in, ResourceList& out, std::string_view name) {
    return Entry(in, out, name, [this](const Field& item, Quantity& slot) { return QuantityField(item, slot); });
  }

  bool QuantityField(const Field& in, Quantity& out);
  bool QuantityField(const Field& in, std::optional<Quantity>& out) { return QuantityField(in, out.emplace()); }
  // metav1.Time: whole seconds. An empty message is Go's zero time, which JSON writes as null: absent.
  bool TimeField(const Field& in, std::optional<Time>& out);
  // The `requests` (field 2) of a ResourceRequirements or a VolumeResourceRequirements.
  bool Requests(const Field& in, ResourceList& out);

  // `finalizers` and `owners`, where wanted, get all of them.
  bool Metadata(const Field& in, ObjectMeta& out, std::vector<std::string>* finalizers = nullptr,
                std::vector<OwnerReference>* owners = nullptr);
  bool Owner(const Field& in, OwnerReference& out, bool& is_controller);

  bool Effect(const Field& in, TaintEffect& out);
  // A LabelSelectorRequirement or a NodeSelectorRequirement.
  bool RequirementItem(const Field& in, Requirement& out);
  bool Selector(const Field& in, LabelSelector& out);
  bool Selector(const Field& in, std::optional<LabelSelector>& out) { return Selector(in, out.emplace()); }
  bool TermItem(const Field& in, NodeSelectorTerm& out);
  // A NodeSelector.
  bool NodeTerms(const Field& in, std::optional<std::vector<NodeSelectorTerm>>& out);

  // One source of a pod's volume, or of a PersistentVolume; `kind` is what FindSource says of its field.
  struct SourceShape;
  static const SourceShape* FindSource(std::uint32_t number, bool is_persistent);
  bool Source(const Field& in, const SourceShape& shape, VolumeSource& out);

 private:
  [[gnu::cold]] bool Malformed();
  [[gnu::cold]] bool NameMissing();

  std::string_view kind_;
  std::string path_;
  std::string failure_;
};

}  // namespace berth::api::internal
