// SPDX-License-Identifier: Apache-2.0
// ClaimApi: the part of an API server that DynamicResources writes to, over the objects of one case. As the oracle's,
// it names and numbers ResourceClaims, shows every change at once, and prepares devices as soon as they are allocated.
// Everything else is taken for written.
#pragma once

#include <cstdint>
#include <string>

#include "berth/base/expected.h"
#include "berth/codec/json.h"
#include "berth/framework/objects.h"
#include "berth/framework/operation.h"

namespace berth::conformance {

class ClaimApi {
 public:
  // `objects` must outlive it.
  explicit ClaimApi(framework::Objects& objects) : objects_(objects) {}

  // Carries out the operation to its end, all waits included, as if it were `now` all the time.
  framework::Status Run(framework::Operation operation, Time now);

 private:
  using Claim = api::ResourceClaim;

  // The answer, as JSON.
  Expected<std::string> Do(const framework::ApiWrite& write);
  Expected<std::string> Create(const framework::ObjectCreate& write);
  Expected<std::string> Patch(const framework::ObjectPatch& write);
  Expected<std::string> Delete(const framework::ObjectDelete& write);
  Expected<std::string> Store(codec::json::object claim);
  const Claim* Find(const framework::ObjectRef& ref) const;

  framework::Objects& objects_;
  std::int64_t version_ = 1000;
};

}  // namespace berth::conformance
