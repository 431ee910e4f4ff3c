// SPDX-License-Identifier: Apache-2.0
// One request to the REST API, and where its path leads. Plain values that live as long as the request is answered.
#pragma once

#include <memory>
#include <string>

#include "berth/devcluster/apiserver/registry.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/url.h"

namespace berth::apiserver {

struct RestRoute {
  std::shared_ptr<const objects::ServedType> keeper;  // of `served`
  const objects::ServedType* served = nullptr;
  std::string namespace_name;
  std::string name;         // empty: the collection
  std::string subresource;  // "status", "scale", "binding", "eviction"
  bool is_binding = false;  // the write-only collection "bindings"
};

struct RestCall {
  const net::Request& request;
  const net::Target& target;
  const RestRoute& route;
};

}  // namespace berth::apiserver
