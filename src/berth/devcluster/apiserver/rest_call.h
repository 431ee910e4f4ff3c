// SPDX-License-Identifier: Apache-2.0
// One request to the REST API: where its path leads, and what it says beside its path, read once. Plain values that
// live as long as the request is answered.
#pragma once

#include <memory>
#include <string>

#include "berth/devcluster/apiserver/registry.h"
#include "berth/devcluster/apiserver/rendering.h"
#include "berth/devcluster/apiserver/rest_parameters.h"
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
  RestCall(const net::Request& the_request, const net::Target& the_target, const RestRoute& the_route, Time now)
      : request(the_request),
        target(the_target),
        route(the_route),
        media_type(MediaType(request.Get("Content-Type"))),
        rendering(NegotiateRendering(request, target, *route.served, now)),
        write(request.method == "GET"
                  ? objects::WriteOptions()
                  : ParseWriteOptions(request, target, OptionsKind(request.method, route.subresource))) {}

  // The body as an object.
  objects::Outcome<json::object> Body(const json::storage_ptr& storage = {}) const {
    return DecodeObject(request.body, media_type, storage);
  }

  const net::Request& request;
  const net::Target& target;
  const RestRoute& route;
  const std::string media_type;  // of the body
  // What fails of these is an error for the verbs that use them.
  const objects::Outcome<Rendering> rendering;
  const objects::Outcome<objects::WriteOptions> write;

 private:
  // What upstream's errors call the options of a write; a patch of a scale is an update of its object.
  static std::string_view OptionsKind(std::string_view method, std::string_view subresource) {
    if (method == "POST" && subresource != "scale") return "CreateOptions";
    return method == "PATCH" && subresource != "scale" ? "PatchOptions" : "UpdateOptions";
  }
};

}  // namespace berth::apiserver
