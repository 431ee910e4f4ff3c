#include "berth/apiserver/object.h"

#include "berth/base/check.h"
#include "berth/codec/json.h"

namespace berth::apiserver {
namespace {

// Appends JSON text piece by piece, so that the place of the resourceVersion is known.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void Value(const json::value& value) {
    serializer_.reset(&value);
    Drain();
  }
  void Key(std::string_view key, bool& is_first) {
    out_ += is_first ? '{' : ',';
    is_first = false;
    serializer_.reset(json::string_view(key.data(), key.size()));
    Drain();
    out_ += ':';
  }

 private:
  void Drain() {
    while (!serializer_.done()) {
      const auto piece = serializer_.read(buffer_, sizeof(buffer_));
      out_.append(piece.data(), piece.size());
    }
  }

  std::string& out_;
  json::serializer serializer_;
  char buffer_[4096];
};

void WriteMetadata(Writer& writer, StoredObject& draft, const json::object& metadata) {
  bool is_first = true;
  for (const auto& entry : metadata) {
    if (entry.key() == "resourceVersion") continue;
    writer.Key(entry.key(), is_first);
    writer.Value(entry.value());
  }
  writer.Key("resourceVersion", is_first);
  draft.bytes += '"';
  draft.version_begin = draft.bytes.size();
  draft.bytes += "\"}";
}

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
  if (const json::array* owners = ArrayMember(*metadata, "ownerReferences")) {
    for (const json::value& owner : *owners) {
      if (owner.is_object()) draft.owner_uids.emplace_back(StringMember(owner.get_object(), "uid"));
    }
  }
  draft.is_being_deleted = !StringMember(*metadata, "deletionTimestamp").empty();
  for (const std::string& field : type.selectable_fields) {
    draft.fields.push_back(FieldText(type.field ? type.field(document, field) : nullptr));
  }

  draft.bytes.reserve(1024);
  Writer writer(draft.bytes);
  bool is_first = true;
  for (const std::string_view key : {"kind", "apiVersion", "metadata"}) {
    const json::value* value = FindMember(document, key);
    if (value == nullptr) continue;
    writer.Key(key, is_first);
    if (key == "metadata") {
      WriteMetadata(writer, draft, *metadata);
    } else {
      writer.Value(*value);
    }
  }
  for (const auto& entry : document) {
    if (entry.key() == "kind" || entry.key() == "apiVersion" || entry.key() == "metadata") continue;
    writer.Key(entry.key(), is_first);
    writer.Value(entry.value());
  }
  draft.bytes += '}';
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

json::storage_ptr RequestStorage() { return json::make_shared_resource<json::monotonic_resource>(); }

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

}  // namespace berth::apiserver
