// SPDX-License-Identifier: Apache-2.0
// API names, paths and decoders of ObjectKinds. Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "berth/base/expected.h"
#include "berth/framework/objects.h"
#include "berth/framework/release.h"

namespace simdjson::dom {
class element;
}

namespace berth::framework {

struct ObjectKindInfo {
  std::string_view name;           // "PersistentVolume"
  std::string_view group_version;  // "v1", "storage.k8s.io/v1"
  std::string_view resource;       // "persistentvolumes"
};

const ObjectKindInfo& InfoOf(ObjectKind kind);

// The kind with this name; nullopt when there is none.
std::optional<ObjectKind> ObjectKindNamed(std::string_view name);

// The path that lists all objects of the kind on API servers of this release: "/apis/storage.k8s.io/v1/storageclasses".
std::string ListPath(ObjectKind kind, int release_minor = kNewestRelease);

// False if API servers of some followed release do not serve that path by default.
bool IsServedByAll(ObjectKind kind);

// `object` is the JSON of one object of this kind. Errors are those of api/decode.h.
Expected<AnyObject> DecodeObject(ObjectKind kind, const simdjson::dom::element& object);
// `message` is the object's protobuf without the envelope. Errors are those of api/decode.h.
Expected<AnyObject> DecodeObjectProtobuf(ObjectKind kind, std::string_view message);

// Whether the pointer is null.
bool IsNull(const AnyObject& object);
// The ObjectStore::Key of the object.
std::string KeyOf(const AnyObject& object);
// The same from the names.
std::string KeyOf(std::string_view namespace_name, std::string_view name);

}  // namespace berth::framework
