// SPDX-License-Identifier: Apache-2.0
// The API's side of ObjectKind: names, paths and decoding. Pure functions; any thread.
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

// The kind of that name; nullopt when it is none of ours.
std::optional<ObjectKind> ObjectKindNamed(std::string_view name);

// The path under which API servers of the release list all objects of the kind:
// "/apis/storage.k8s.io/v1/storageclasses".
std::string ListPath(ObjectKind kind, int release_minor = kNewestRelease);

// False: API servers of some release that berth follows do not serve that path unless they are told to.
bool IsServedByAll(ObjectKind kind);

// `object` is the JSON of one object of the kind. Errors are those of api/decode.h.
Expected<AnyObject> DecodeObject(ObjectKind kind, const simdjson::dom::element& object);
// `message` is its protobuf without the envelope. Errors are those of api/decode.h.
Expected<AnyObject> DecodeObjectProtobuf(ObjectKind kind, std::string_view message);

// Whether it holds no object.
bool IsNull(const AnyObject& object);
// ObjectStore::Key of the object.
std::string KeyOf(const AnyObject& object);
// The same for an object of which only the names are known.
std::string KeyOf(std::string_view namespace_name, std::string_view name);

}  // namespace berth::framework
