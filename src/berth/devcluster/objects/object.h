// SPDX-License-Identifier: Apache-2.0
// StoredObject: one version of one object as the server keeps it: its JSON bytes, serialised once and sent to every
// reader, and the few facts that selectors and deletion need. Immutable once stored; shared between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/meta.h"
#include "berth/devcluster/objects/resource.h"

namespace berth::objects {

struct StoredObject {
  std::string key;             // "namespace/name", or "name"
  std::size_t name_begin = 0;  // in key
  std::string uid;
  api::StringMap labels;
  std::vector<std::string> fields;  // values of the type's selectable_fields, in their order
  bool is_being_deleted = false;    // has a deletionTimestamp
  std::int64_t resource_version = 0;

  // The document in the type's storage version. The digits of metadata.resourceVersion stand at version_begin, so that
  // a new version costs a splice and no serialisation. They are empty in a draft.
  std::string bytes;
  std::size_t version_begin = 0;
  std::size_t version_length = 0;

  // Of a pod that is as it was created: where its spec and its status end, as distances from the end of `bytes` to
  // their closing braces, so that binding it costs two splices and no parsing. All 0 for everything else.
  struct Fresh {
    std::size_t spec_tail = 0;
    std::size_t status_tail = 0;
    std::int64_t generation = 0;  // of its metadata; 0: it has none
  };
  Fresh fresh;

  std::string_view name() const { return std::string_view(key).substr(name_begin); }
  std::string_view namespace_name() const {
    return std::string_view(key).substr(0, name_begin == 0 ? 0 : name_begin - 1);
  }
};

using ObjectPtr = std::shared_ptr<const StoredObject>;

std::string ObjectKey(std::string_view namespace_name, std::string_view name);

// The document as an object that is not stored yet. `document` has its kind, apiVersion and metadata; its
// resourceVersion is left out. `type` is the one that stores.
StoredObject MakeDraft(const ResourceType& type, const json::object& document);

// A draft of `pod`, whose `fresh` is set, with members added to spec and to status; both begin with a comma. `fields`
// stay as they were.
StoredObject WithSpecAndStatus(const StoredObject& pod, std::string_view spec, std::string_view status);

// `draft` as the version `resource_version`.
ObjectPtr Seal(StoredObject draft, std::int64_t resource_version);

// The bytes of `object` with another resourceVersion, appended to `out`. Watches end an object with the version of its
// end.
void AppendWithVersion(std::string& out, const StoredObject& object, std::int64_t resource_version);

// Whether a write of `draft` would change nothing but the version.
bool SameContent(const StoredObject& draft, const StoredObject& current);

// The parsed document, allocated in `storage`.
json::object ParseStored(const StoredObject& object, json::storage_ptr storage = {});

// Memory that one request's documents are built in and freed with.
json::storage_ptr RequestStorage();

// Members as REST code reads them: null or an empty view when absent or of another type.
const json::value* FindMember(const json::object& object, std::string_view name);
std::string_view StringMember(const json::object& object, std::string_view name);
const json::object* ObjectMember(const json::object& object, std::string_view name);
const json::array* ArrayMember(const json::object& object, std::string_view name);
// The member as an object, made when absent or of another type.
json::object& MutableObject(json::object& object, std::string_view name);
std::string_view View(const json::string& text);

}  // namespace berth::objects
