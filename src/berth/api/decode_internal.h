// What the decoders of all kinds share: how objects, lists and scalars are read, and how an error names its place.
// Private to this folder.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "berth/api/decode_rules.h"
#include "berth/api/meta.h"
#include "berth/api/pod.h"
#include "berth/api/selector.h"
#include "berth/base/expected.h"

namespace berth::api::internal {

using simdjson::dom::element;

// Where the decoder is, as a chain on the stack: it costs nothing until an error has to name its place.
struct Path {
  const Path* parent = nullptr;
  std::string_view key;
  std::int64_t index = -1;  // of an array element
  bool is_map_key = false;  // requests[cpu] instead of requests.cpu

  Path Field(std::string_view name) const { return {this, name, -1, false}; }
  Path Entry(std::string_view name) const { return {this, name, -1, true}; }
  Path Item(std::int64_t at) const { return {this, {}, at, false}; }

  void Append(std::string& out) const {
    if (parent == nullptr) return;
    parent->Append(out);
    if (index >= 0) {
      out += '[' + std::to_string(index) + ']';
    } else if (is_map_key) {
      out += '[' + std::string(key.substr(0, kShownTextMax)) + ']';
    } else {
      if (!out.empty()) out += '.';
      out += key;
    }
  }
};

// Whether `key` is `name`. The constant length lets the compiler compare words in place of calling memcmp: with some
// sixty keys a Pod, each tried against several names, that is a fifth of the time in here.
template <std::size_t kSize>
bool Is(std::string_view key, const char (&name)[kSize]) {
  return key.size() == kSize - 1 && std::memcmp(key.data(), name, kSize - 1) == 0;
}

// Walks one object; the decoders of kinds derive from it. Each method returns false after it has noted the first
// failure; null counts as absent everywhere.
// Fields are visited once, in the document's order, because looking them up by name walks the object again each time.
class Decoder {
 public:
  explicit Decoder(std::string_view kind) : kind_(kind) {}

 protected:
  static constexpr Path kRoot{};

  bool Fail(const Path& path, std::string_view message);
  bool WrongType(const Path& path, element value, std::string_view wanted);
  // The failure with the object's kind and name in front, as far as it has one.
  Error Failure(element object) const;

  // A whole object: its metadata, and `visit(key, value, path)` for the other fields but kind.
  template <typename T, typename Visit>
  Expected<std::shared_ptr<const T>> Whole(element object, Visit visit) {
    auto out = std::make_shared<T>();
    const bool is_good = Root(object, [&](std::string_view key, element value) {
      const Path path = kRoot.Field(key);
      if (Is(key, "metadata")) return Metadata(value, path, out->metadata);
      if (Is(key, "kind")) return Kind(value, path);
      return visit(*out, key, value, path);
    });
    if (!is_good || !Named(out->metadata)) return Failure(object);
    return std::shared_ptr<const T>(std::move(out));
  }

  template <typename Visit>
  bool Root(element value, Visit visit) {
    return value.is_null() ? WrongType(kRoot, value, "an object") : Object(value, kRoot, visit);
  }

  bool Named(const ObjectMeta& metadata) {
    return !metadata.name.empty() || Fail(kRoot.Field("metadata.name"), kNameMissing);
  }

  template <typename Visit>
  bool Object(element value, const Path& path, Visit visit) {
    simdjson::dom::object object;
    if (value.get(object) != simdjson::SUCCESS) return value.is_null() ? true : WrongType(path, value, "an object");
    for (const auto field : object) {
      if (!visit(field.key, field.value)) return false;
    }
    return true;
  }

  template <typename Visit>
  bool Array(element value, const Path& path, Visit visit) {
    simdjson::dom::array array;
    if (value.get(array) != simdjson::SUCCESS) return value.is_null() ? true : WrongType(path, value, "an array");
    std::int64_t index = 0;
    for (const element item : array) {
      if (!visit(item, path.Item(index))) return false;
      ++index;
    }
    return true;
  }

  // An array whose items are decoded by `decode(item, path, slot)`.
  template <typename Item, typename Decode>
  bool List(element value, const Path& path, std::vector<Item>& out, Decode decode) {
    simdjson::dom::array array;
    out.clear();  // Of a doubled field the last one wins.
    if (value.get(array) == simdjson::SUCCESS) out.reserve(array.size());
    return Array(value, path, [&](element item, const Path& at) { return decode(item, at, out.emplace_back()); });
  }

  bool View(element value, const Path& path, std::string_view& out) {
    if (value.get(out) == simdjson::SUCCESS) return true;
    out = {};
    return value.is_null() ? true : WrongType(path, value, "a string");
  }

  bool String(element value, const Path& path, std::string& out) {
    std::string_view text;
    if (!View(value, path, text)) return false;
    out = text;
    return true;
  }

  bool Strings(element value, const Path& path, std::vector<std::string>& out) {
    return List(value, path, out,
                [this](element item, const Path& at, std::string& slot) { return String(item, at, slot); });
  }

  // Null leaves it absent, as it does below.
  bool String(element value, const Path& path, std::optional<std::string>& out) {
    out.reset();
    return value.is_null() || String(value, path, out.emplace());
  }

  bool Boolean(element value, const Path& path, bool& out) {
    if (value.get(out) == simdjson::SUCCESS) return true;
    return value.is_null() ? true : WrongType(path, value, "a boolean");
  }

  bool Boolean(element value, const Path& path, std::optional<bool>& out) {
    out.reset();
    return value.is_null() || Boolean(value, path, out.emplace());
  }

  bool Int64(element value, const Path& path, std::int64_t& out);
  bool Int32(element value, const Path& path, std::int32_t& out);
  bool Int32(element value, const Path& path, std::optional<std::int32_t>& out) {
    out.reset();
    return value.is_null() || Int32(value, path, out.emplace());
  }
  bool TimeField(element value, const Path& path, std::optional<Time>& out);
  bool Strings(element value, const Path& path, StringMap& out);

  // Quantities may also be written as JSON numbers.
  bool QuantityField(element value, const Path& path, Quantity& out);
  bool QuantityField(element value, const Path& path, std::optional<Quantity>& out) {
    out.reset();
    return value.is_null() || QuantityField(value, path, out.emplace());
  }
  bool Resources(element value, const Path& path, ResourceList& out);
  // The `requests` of a ResourceRequirements object.
  bool Requests(element value, const Path& path, ResourceList& out);

  // A map whose values are decoded by `decode(item, path, slot)`, sorted by key. Of a doubled key the last one wins.
  template <typename Value, typename Decode>
  bool Map(element value, const Path& path, std::vector<std::pair<std::string, Value>>& out, Decode decode) {
    simdjson::dom::object object;
    out.clear();
    if (value.get(object) == simdjson::SUCCESS) out.reserve(object.size());
    const bool is_good = Object(value, path, [&](std::string_view key, element item) {
      auto& entry = out.emplace_back(key, Value());
      return decode(item, path.Entry(key), entry.second);
    });
    if (!is_good) return false;
    SortMap(out);
    return true;
  }

  bool Kind(element value, const Path& path);
  bool Metadata(element value, const Path& path, ObjectMeta& out);
  bool Owner(element value, const Path& path, OwnerReference& out, bool& is_controller);

  bool Effect(element value, const Path& path, TaintEffect& out);
  bool RequirementItem(element value, const Path& path, Requirement& out);
  bool Selector(element value, const Path& path, LabelSelector& out);
  // Null leaves it absent: it matches nothing.
  bool Selector(element value, const Path& path, std::optional<LabelSelector>& out) {
    out.reset();
    return value.is_null() || Selector(value, path, out.emplace());
  }
  bool TermItem(element value, const Path& path, NodeSelectorTerm& out);
  // A NodeSelector object. Null leaves it absent.
  bool NodeTerms(element value, const Path& path, std::optional<std::vector<NodeSelectorTerm>>& out);

  // One member of a pod's volume or of a PersistentVolume's spec; members that are no volume source that scheduling
  // tells apart are passed over.
  bool Source(std::string_view key, element value, const Path& path, VolumeSource& out);

 private:
  std::string kind_;
  std::string failure_;
};

}  // namespace berth::api::internal
