// SPDX-License-Identifier: Apache-2.0
// RestWrite: the verbs of the REST API that change objects. Answers at once, never blocks; thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/devcluster/apiserver/registry.h"
#include "berth/devcluster/apiserver/rest_call.h"

namespace berth::apiserver {

// Objects that one deletecollection may remove.
inline constexpr std::size_t kDeleteCollectionMax = 100'000;

// The warnings for the creator of an object, whose document is `json`.
using CreationWarnings =
    std::function<std::vector<std::string>(const objects::ResourceType& type, std::string_view json)>;

class RestWrite {
 public:
  // `registry` outlives it. `warnings` may be null.
  RestWrite(Registry& registry, CreationWarnings warnings) : registry_(registry), warnings_(std::move(warnings)) {}

  objects::Outcome<net::Response> Create(const RestCall& call);
  objects::Outcome<net::Response> Replace(const RestCall& call, UpdateMode mode);
  objects::Outcome<net::Response> Patch(const RestCall& call, UpdateMode mode);
  objects::Outcome<net::Response> Delete(const RestCall& call);
  objects::Outcome<net::Response> DeleteCollection(const RestCall& call);
  objects::Outcome<net::Response> Bind(const RestCall& call);
  objects::Outcome<net::Response> Evict(const RestCall& call);
  objects::Outcome<net::Response> Scale(const RestCall& call);

 private:
  void AddCreationWarnings(const RestRoute& route, const Written& written, std::vector<std::string>& warnings) const;

  Registry& registry_;
  const CreationWarnings warnings_;
};

}  // namespace berth::apiserver
