// SPDX-License-Identifier: Apache-2.0
// ServedType: a type as it is served: where its objects lie, and how they are spelled there. Immutable.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "berth/devcluster/objects/resource.h"

namespace berth::objects {

struct ServedType {
  const ResourceType* type = nullptr;
  const ResourceType* stored = nullptr;                 // the type whose spelling the store holds; mostly the same
  std::size_t table = 0;                                // where its objects lie in the server's store
  std::string definition_uid;                           // of a custom resource's definition; else empty
  std::function<void(json::object& object)> to_stored;  // null: nothing to do
  std::function<void(json::object& object)> from_stored;
  std::string (*field_to_stored)(std::string_view field) = nullptr;

  bool IsPods() const { return type->group.empty() && type->plural == "pods"; }
  bool IsPodGroups() const { return type->kind == "PodGroup" || type->kind == "CompositePodGroup"; }
  bool IsServiceAccounts() const { return type->group.empty() && type->plural == "serviceaccounts"; }
  bool IsNamespaces() const { return type->group.empty() && type->plural == "namespaces"; }
  bool IsDefinitions() const {
    return type->plural == "customresourcedefinitions" && type->group == "apiextensions.k8s.io";
  }
};

}  // namespace berth::objects
