// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/default_storage_class.h"

#include <string>
#include <string_view>

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/reading.h"

namespace berth::objects {
namespace {

bool IsDefault(const json::object& storage_class) {
  const json::object& annotations = internal::Part(internal::Part(storage_class, "metadata"), "annotations");
  return StringMember(annotations, "storageclass.kubernetes.io/is-default-class") == "true";
}

}  // namespace

void ApplyDefaultStorageClass(json::object& claim, const std::vector<const json::object*>& classes) {
  json::object& spec = MutableObject(claim, "spec");
  if (FindMember(spec, "storageClassName") != nullptr) return;
  std::string_view newest;
  std::string_view created;
  for (const json::object* each : classes) {
    if (!IsDefault(*each)) continue;
    const json::object& metadata = internal::Part(*each, "metadata");
    const std::string_view at = StringMember(metadata, "creationTimestamp");
    // Among classes that are equally old the first by name wins, as upstream.
    if (!newest.empty() && at <= created) continue;
    newest = StringMember(metadata, "name");
    created = at;
  }
  if (!newest.empty()) spec["storageClassName"] = json::string(newest);
}

}  // namespace berth::objects
