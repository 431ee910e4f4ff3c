// SPDX-License-Identifier: Apache-2.0
// AccessReviews: answers who somebody is and what somebody may do, as a kube-apiserver with --authorization-mode
// AlwaysAllow does, and makes tokens for service accounts and recognises them. Keeps nothing; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/devcluster/apiserver/registry.h"
#include "berth/devcluster/apiserver/rest_call.h"
#include "berth/devcluster/objects/status_error.h"

namespace berth::apiserver {

namespace json = codec::json;

struct UserInfo {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  json::object extra;  // lists of strings

  json::object ToObject() const;
};

class AccessReviews {
 public:
  // `registry` outlives it. With an `admin_token` clients have to show it, or a service account's token.
  AccessReviews(Registry& registry, std::string token_key, std::string admin_token)
      : registry_(registry), token_key_(std::move(token_key)), admin_token_(std::move(admin_token)) {}

  // Whom the server takes the request's sender for; nobody in particular when no tokens are asked for. Nullopt: it is
  // not known, and gets no answer but 401.
  std::optional<UserInfo> Authenticate(const net::Request& request) const;

  // A create of a type that is not stored.
  objects::Outcome<net::Response> Review(const RestCall& call) const;

  // A create of serviceaccounts/token.
  objects::Outcome<net::Response> RequestToken(const RestCall& call) const;

 private:
  // Whom a token is for, the administrator's or a service account's, if it is good for one of `audiences` now; those
  // that it is good for.
  struct Identified {
    std::optional<UserInfo> user;
    json::array audiences;
    std::string why_not;
  };
  Identified Identify(std::string_view token, const json::array& audiences) const;
  objects::Outcome<objects::Done> ReviewToken(json::object& review) const;
  objects::Outcome<json::object> BoundObject(const json::object& reference, std::string_view namespace_name) const;

  Registry& registry_;
  const std::string token_key_;
  const std::string admin_token_;
};

}  // namespace berth::apiserver
