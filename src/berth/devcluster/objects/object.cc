// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/object.h"

#include <algorithm>
#include <utility>

#include "berth/base/check.h"
#include "berth/codec/json.h"

namespace berth::objects {
namespace {

// Appends a text with its quotes. What needs an escape is rare, and left to the library.
void AppendText(std::string& out, json::string_view text) {
  const bool is_plain = std::none_of(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; });
  if (!is_plain) {
    out += json::serialize(text);
    return;
  }
  out += '"';
  out.append(text.data(), text.size());
  out += '"';
}

// As json::serialize writes it, without its machinery for texts in pieces. Documents are as deep as the parser lets
// them be.
void AppendValue(std::string& out, const json::value& value) {
  switch (value.kind()) {
    case json::kind::null: out += "null"; return;
    case json::kind::bool_: out += value.get_bool() ? "true" : "false"; return;
    case json::kind::int64: out += std::to_string(value.get_int64()); return;
    case json::kind::uint64: out += std::to_string(value.get_uint64()); return;
    case json::kind::double_: out += json::serialize(value); return;
    case json::kind::string: AppendText(out, value.get_string()); return;
    case json::kind::array: {
      out += '[';
      bool is_first = true;
      for (const json::value& element : value.get_array()) {
        if (!std::exchange(is_first, false)) out += ',';
        AppendValue(out, element);
      }
      out += ']';
      return;
    }
    case json::kind::object: {
      out += '{';
      bool is_first = true;
      for (const auto& entry : value.get_object()) {
        if (!std::exchange(is_first, false)) out += ',';
        AppendText(out, entry.key());
        out += ':';
        AppendValue(out, entry.value());
      }
      out += '}';
      return;
    }
  }
}

// Appends the members of an object piece by piece, so that the place of the resourceVersion is known.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void Value(const json::value& value) { AppendValue(out_, value); }
  void Key(std::string_view key, bool& is_first) {
    out_ += is_first ? '{' : ',';
    is_first = false;
    AppendText(out_, {key.data(), key.size()});
    out_ += ':';
  }

 private:
  std::string& out_;
};

void WriteMetadata(Writer& writer, std::string& out, StoredObject& draft, const json::object& metadata) {
  bool is_first = true;
  for (const auto& entry : metadata) {
    if (entry.key() == "resourceVersion") continue;
    writer.Key(entry.key(), is_first);
    writer.Value(entry.value());
  }
  writer.Key("resourceVersion", is_first);
  out += '"';
  draft.version_begin = out.size();
  out += "\"}";
}

// True for a pod to which a binding adds a node and the first condition, and nothing else: as it was created.
bool IsFreshPod(const ResourceType& type, const json::object& document) {
  if (type.kind != "Pod" || !type.group.empty()) return false;
  const json::object* spec = ObjectMember(document, "spec");
  const json::object* status = ObjectMember(document, "status");
  return spec != nullptr && !spec->empty() && status != nullptr && !status->empty() &&
         FindMember(*spec, "nodeName") == nullptr && FindMember(*spec, "schedulingGates") == nullptr &&
         FindMember(*status, "conditions") == nullptr && FindMember(*status, "nominatedNodeName") == nullptr;
}

// Room for a resourceVersion, which Seal() puts in.
constexpr std::size_t kVersionDigitsMax = 20;
// Bytes reserved for the text of a document whose size is not known yet.
constexpr std::size_t kDraftBytes = 4096;
// Bytes of the first block for a request's documents: most fit into it.
constexpr std::size_t kRequestBytes = std::size_t{16} << 10;

std::string FieldText(const json::value* value) {
  if (value == nullptr || value->is_null()) return {};
  if (const json::string* text = value->if_string()) return std::string(View(*text));
  return json::serialize(*value);
}

}  // namespace

std::string ObjectKey(std::string_view namespace_name, std::string_view name) {
  std::string key;
  key.reserve(namespace_name.size() + name.size() + 1);
  if (!namespace_name.empty()) {
    key += namespace_name;
    key += '/';
  }
  key += name;
  return key;
}

StoredObject MakeDraft(const ResourceType& type, const json::object& document) {
  StoredObject draft;
  const json::object* metadata = ObjectMember(document, "metadata");
  BERTH_CHECK(metadata != nullptr);
  const std::string_view namespace_name = type.namespaced ? StringMember(*metadata, "namespace") : std::string_view();
  const std::string_view name = StringMember(*metadata, "name");
  draft.key = ObjectKey(namespace_name, name);
  draft.name_begin = draft.key.size() - name.size();
  draft.uid = StringMember(*metadata, "uid");
  if (const json::object* labels = ObjectMember(*metadata, "labels")) {
    std::vector<api::StringMap::Entry> entries;
    for (const auto& entry : *labels) {
      if (entry.value().is_string())
        entries.emplace_back(std::string(entry.key()), std::string(View(entry.value().get_string())));
    }
    draft.labels = api::StringMap(std::move(entries));
  }
  draft.is_being_deleted = !StringMember(*metadata, "deletionTimestamp").empty();
  for (const std::string& field : type.selectable_fields) {
    draft.fields.push_back(FieldText(type.field ? type.field(document, field) : nullptr));
  }

  std::string bytes;
  bytes.reserve(kDraftBytes);
  Writer writer(bytes);
  bool is_first = true;
  for (const std::string_view key : {"kind", "apiVersion", "metadata"}) {
    const json::value* value = FindMember(document, key);
    if (value == nullptr) continue;
    writer.Key(key, is_first);
    if (key == "metadata") {
      WriteMetadata(writer, bytes, draft, *metadata);
    } else {
      writer.Value(*value);
    }
  }
  std::size_t spec_end = 0;
  std::size_t status_end = 0;
  for (const auto& entry : document) {
    if (entry.key() == "kind" || entry.key() == "apiVersion" || entry.key() == "metadata") continue;
    writer.Key(entry.key(), is_first);
    writer.Value(entry.value());
    if (entry.key() == "spec") spec_end = bytes.size() - 1;
    if (entry.key() == "status") status_end = bytes.size() - 1;
  }
  bytes += '}';
  if (!draft.is_being_deleted && spec_end < status_end && IsFreshPod(type, document)) {
    const json::value* generation = FindMember(*metadata, "generation");
    draft.fresh = {.spec_tail = bytes.size() - spec_end,
                   .status_tail = bytes.size() - status_end,
                   .generation = generation != nullptr && generation->is_int64() ? generation->get_int64() : 0};
  }
  // What is kept for long takes no more memory than it needs.
  draft.bytes.reserve(bytes.size() + kVersionDigitsMax);
  draft.bytes = bytes;
  return draft;
}

StoredObject WithSpecAndStatus(const StoredObject& pod, std::string_view spec, std::string_view status) {
  BERTH_CHECK(pod.fresh.spec_tail != 0, pod.key);
  StoredObject draft;
  draft.key = pod.key;
  draft.name_begin = pod.name_begin;
  draft.uid = pod.uid;
  draft.labels = pod.labels;
  draft.fields = pod.fields;
  draft.version_begin = pod.version_begin;
  draft.version_length = pod.version_length;
  const std::string_view bytes = pod.bytes;
  const std::size_t spec_end = bytes.size() - pod.fresh.spec_tail;
  const std::size_t status_end = bytes.size() - pod.fresh.status_tail;
  draft.bytes.reserve(bytes.size() + spec.size() + status.size() + kVersionDigitsMax);
  draft.bytes.append(bytes.substr(0, spec_end)).append(spec);
  draft.bytes.append(bytes.substr(spec_end, status_end - spec_end)).append(status);
  draft.bytes.append(bytes.substr(status_end));
  return draft;
}

ObjectPtr Seal(StoredObject draft, std::int64_t resource_version) {
  const std::string digits = std::to_string(resource_version);
  draft.bytes.replace(draft.version_begin, draft.version_length, digits);
  draft.version_length = digits.size();
  draft.resource_version = resource_version;
  return std::make_shared<const StoredObject>(std::move(draft));
}

void AppendWithVersion(std::string& out, const StoredObject& object, std::int64_t resource_version) {
  const std::string_view bytes = object.bytes;
  out += bytes.substr(0, object.version_begin);
  out += std::to_string(resource_version);
  out += bytes.substr(object.version_begin + object.version_length);
}

bool SameContent(const StoredObject& draft, const StoredObject& current) {
  if (draft.bytes.size() - draft.version_length != current.bytes.size() - current.version_length ||
      draft.version_begin != current.version_begin) {
    return false;
  }
  const std::string_view a = draft.bytes;
  const std::string_view b = current.bytes;
  return a.substr(0, draft.version_begin) == b.substr(0, current.version_begin) &&
         a.substr(draft.version_begin + draft.version_length) ==
             b.substr(current.version_begin + current.version_length);
}

json::object ParseStored(const StoredObject& object, json::storage_ptr storage) {
  // Our own bytes: what does not parse here was a bug of ours when it was written.
  auto parsed =
      codec::ParseJson(object.bytes, {.bytes_max = object.bytes.size(), .depth_max = 1024}, std::move(storage));
  BERTH_CHECK(parsed.ok(), object.key, parsed.ok() ? "" : parsed.error().message);
  return std::move(parsed->as_object());
}

json::storage_ptr RequestStorage() { return json::make_shared_resource<json::monotonic_resource>(kRequestBytes); }

const json::value* FindMember(const json::object& object, std::string_view name) {
  return object.if_contains(json::string_view(name.data(), name.size()));
}

std::string_view StringMember(const json::object& object, std::string_view name) {
  const json::value* member = FindMember(object, name);
  const json::string* text = member == nullptr ? nullptr : member->if_string();
  return text == nullptr ? std::string_view() : View(*text);
}

const json::object* ObjectMember(const json::object& object, std::string_view name) {
  const json::value* member = FindMember(object, name);
  return member == nullptr ? nullptr : member->if_object();
}

const json::array* ArrayMember(const json::object& object, std::string_view name) {
  const json::value* member = FindMember(object, name);
  return member == nullptr ? nullptr : member->if_array();
}

json::object& MutableObject(json::object& object, std::string_view name) {
  json::value& member = object[json::string_view(name.data(), name.size())];
  if (!member.is_object()) member.emplace_object();
  return member.get_object();
}

std::string_view View(const json::string& text) { return {text.data(), text.size()}; }

}  // namespace berth::objects
