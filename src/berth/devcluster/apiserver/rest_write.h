// SPDX-License-Identifier: Apache-2.0
// RestWrite: the verbs of the REST API that change objects. Answers at once, never blocks; thread-safe.
#pragma once

#include <cstddef>

#include "berth/devcluster/apiserver/registry.h"
#include "berth/devcluster/apiserver/rest_call.h"

namespace berth::apiserver {

// Objects that one deletecollection may remove.
inline constexpr std::size_t kDeleteCollectionMax = 100'000;

class RestWrite {
 public:
  // `registry` outlives it.
  explicit RestWrite(Registry& registry) : registry_(registry) {}

  Outcome<net::Response> Create(const RestCall& call);
  Outcome<net::Response> Replace(const RestCall& call, UpdateMode mode);
  Outcome<net::Response> Patch(const RestCall& call, UpdateMode mode);
  Outcome<net::Response> Delete(const RestCall& call);
  Outcome<net::Response> DeleteCollection(const RestCall& call);
  Outcome<net::Response> Bind(const RestCall& call);
  Outcome<net::Response> Evict(const RestCall& call);
  Outcome<net::Response> Scale(const RestCall& call);

 private:
  Registry& registry_;
};

}  // namespace berth::apiserver
