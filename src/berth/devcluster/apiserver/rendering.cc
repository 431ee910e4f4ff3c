// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/rendering.h"

#include <span>
#include <utility>

namespace berth::apiserver {
namespace {

std::string ApiVersion(const objects::ResourceType& type) {
  return type.group.empty() ? type.version : type.group + '/' + type.version;
}

json::object Document(const Rendering& rendering, const objects::StoredObject& object, std::int64_t resource_version) {
  json::object document = objects::ParseStored(object, objects::RequestStorage());
  objects::MutableObject(document, "metadata")["resourceVersion"] = std::to_string(resource_version);
  if (rendering.served->from_stored != nullptr) rendering.served->from_stored(document);
  return document;
}

json::object Metadata(const ListMetadata& metadata) {
  json::object rendered{{"resourceVersion", std::to_string(metadata.resource_version)}};
  if (!metadata.continue_token.empty()) rendered["continue"] = metadata.continue_token;
  if (metadata.remaining > 0) rendered["remainingItemCount"] = metadata.remaining;
  return rendered;
}

json::object Transform(const Rendering& rendering, const json::object& document, bool with_column_definitions) {
  if (rendering.representation == objects::Representation::kPartialObjectMetadata)
    return objects::PartialObjectMetadata(document);
  const json::object* item = &document;
  const json::object* metadata = objects::ObjectMember(document, "metadata");
  json::object list_metadata;
  if (metadata != nullptr) list_metadata["resourceVersion"] = objects::StringMember(*metadata, "resourceVersion");
  return objects::MakeTable(*rendering.served->type, std::span(&item, 1), std::move(list_metadata), rendering.include,
                            rendering.now_seconds, with_column_definitions);
}

}  // namespace

void AppendObject(std::string& out, const Rendering& rendering, const objects::StoredObject& object,
                  std::int64_t resource_version, bool with_column_definitions) {
  if (rendering.IsVerbatim()) {
    if (resource_version == object.resource_version) {
      out += object.bytes;
    } else {
      objects::AppendWithVersion(out, object, resource_version);
    }
    return;
  }
  const json::object document = Document(rendering, object, resource_version);
  out += rendering.representation == objects::Representation::kPlain
             ? json::serialize(document)
             : json::serialize(Transform(rendering, document, with_column_definitions));
}

std::string RenderObject(const Rendering& rendering, const objects::StoredObject& object) {
  std::string out;
  AppendObject(out, rendering, object, object.resource_version);
  return out;
}

std::string RenderList(const Rendering& rendering, const std::vector<objects::ObjectPtr>& objects,
                       const ListMetadata& metadata) {
  const objects::ResourceType& type = *rendering.served->type;
  if (rendering.representation == objects::Representation::kTable) {
    std::vector<json::object> documents;
    documents.reserve(objects.size());
    for (const objects::ObjectPtr& object : objects)
      documents.push_back(Document(rendering, *object, object->resource_version));
    std::vector<const json::object*> items;
    items.reserve(documents.size());
    for (const json::object& document : documents) items.push_back(&document);
    return json::serialize(
        objects::MakeTable(type, items, Metadata(metadata), rendering.include, rendering.now_seconds));
  }
  const bool is_partial = rendering.representation == objects::Representation::kPartialObjectMetadata;
  std::string out;
  std::size_t size = 256;
  for (const objects::ObjectPtr& object : objects) size += object->bytes.size() + 1;
  out.reserve(size);
  out += is_partial ? R"({"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":)"
                    : R"({"kind":")" + type.kind + R"(List","apiVersion":")" + ApiVersion(type) + R"(","metadata":)";
  out += json::serialize(Metadata(metadata));
  out += R"(,"items":[)";
  bool is_first = true;
  for (const objects::ObjectPtr& object : objects) {
    if (!is_first) out += ',';
    is_first = false;
    AppendObject(out, rendering, *object, object->resource_version);
  }
  out += "]}";
  return out;
}

std::string RenderBookmark(const Rendering& rendering, std::int64_t resource_version, bool ends_initial_events) {
  const objects::ResourceType& type = *rendering.served->type;
  json::object metadata{{"resourceVersion", std::to_string(resource_version)}, {"creationTimestamp", nullptr}};
  if (ends_initial_events) metadata["annotations"] = json::object{{"k8s.io/initial-events-end", "true"}};
  json::object bookmark{{"kind", type.kind}, {"apiVersion", ApiVersion(type)}, {"metadata", std::move(metadata)}};
  if (rendering.representation == objects::Representation::kPlain) return json::serialize(bookmark);
  if (rendering.representation == objects::Representation::kPartialObjectMetadata)
    return json::serialize(objects::PartialObjectMetadata(bookmark));
  // A Table's bookmark has one row of empty cells, as upstream's.
  json::array cells;
  for (std::size_t i = 0; i < type.columns.size(); ++i) cells.emplace_back("");
  json::object row{{"cells", std::move(cells)}, {"object", objects::PartialObjectMetadata(bookmark)}};
  return json::serialize(json::object{{"kind", "Table"},
                                      {"apiVersion", "meta.k8s.io/v1"},
                                      {"metadata", json::object{{"resourceVersion", std::to_string(resource_version)}}},
                                      {"columnDefinitions", json::array()},
                                      {"rows", json::array{std::move(row)}}});
}

std::string PrettyJson(std::string_view text) {
  std::string out;
  out.reserve(text.size() * 2);
  int depth = 0;
  bool in_string = false;
  const auto line = [&] {
    out += '\n';
    out.append(static_cast<std::size_t>(depth) * 2, ' ');
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out += c;
      if (c == '\\') out += text[++i];
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
      out += c;
    } else if (c == '{' || c == '[') {
      out += c;
      if (i + 1 < text.size() && (text[i + 1] == '}' || text[i + 1] == ']')) {
        out += text[++i];
      } else {
        ++depth;
        line();
      }
    } else if (c == '}' || c == ']') {
      --depth;
      line();
      out += c;
    } else if (c == ',') {
      out += c;
      line();
    } else if (c == ':') {
      out += ": ";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace berth::apiserver
