// SPDX-License-Identifier: Apache-2.0
// CustomDefinition: a CustomResourceDefinition as types that are served. Immutable; what it gives out lives as long as
// it does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/devcluster/objects/custom/custom_schema.h"
#include "berth/devcluster/objects/resource.h"
#include "berth/devcluster/objects/served_type.h"

namespace berth::objects {

class CustomDefinition {
 public:
  // `definition` is valid and established; its objects lie in `table`.
  CustomDefinition(const json::object& definition, std::size_t table);
  CustomDefinition(const CustomDefinition&) = delete;
  CustomDefinition& operator=(const CustomDefinition&) = delete;

  const std::string& name() const { return name_; }
  const std::string& uid() const { return uid_; }
  std::int64_t generation() const { return generation_; }
  // The versions that are served, the most stable first.
  const std::vector<const ServedType*>& served() const { return served_; }
  // The version that is stored, whether it is served or not.
  const ServedType& storing() const { return *storing_; }

 private:
  struct Version {
    ResourceType type;
    ServedType served;
  };

  std::string name_;
  std::string uid_;
  std::int64_t generation_ = 0;
  std::deque<Version> versions_;
  std::vector<const ServedType*> served_;
  const ServedType* storing_ = nullptr;
};

// Whether the definition's conditions say that its objects are served.
bool IsEstablished(const json::object& definition);

// Sets the conditions of a definition that is created beside `others`: its names are accepted and it is established, or
// one of its names is taken, and then it is not. `why_not` (mostly empty) is another reason.
void EstablishDefinition(json::object& definition, const std::vector<json::object>& others, const std::string& why_not);

// Adds the version that is stored now to status.storedVersions.
void RecordStoredVersion(json::object& definition);

// What a definition says and the embedded server does not do, for warnings.
std::vector<std::string> UnservedParts(const json::object& definition);

// As Kubernetes sorts versions: v2 before v1 before v2beta1 before v1alpha1, all else behind, by name.
bool IsMoreStable(std::string_view version, std::string_view other);

}  // namespace berth::objects
