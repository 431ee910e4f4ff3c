// SPDX-License-Identifier: Apache-2.0
// Rest: the Kubernetes REST API over a Registry and a WatchHub: routes, verbs, content negotiation. Answers at once,
// never blocks; thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "berth/devcluster/apiserver/access_reviews.h"
#include "berth/devcluster/apiserver/metrics_api.h"
#include "berth/devcluster/apiserver/registry.h"
#include "berth/devcluster/apiserver/rest_call.h"
#include "berth/devcluster/apiserver/rest_parameters.h"
#include "berth/devcluster/apiserver/rest_write.h"
#include "berth/devcluster/apiserver/watch.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/url.h"

namespace berth::apiserver {

class Rest {
 public:
  // Registry and hub outlive this. `token_key` signs the tokens of TokenRequests; for `admin_token` see AccessReviews.
  // `release_minor` is the minor version in the answer to /version.
  Rest(Registry& registry, WatchHub& watches, std::string token_key, std::string admin_token, int release_minor,
       CreationWarnings warnings)
      : release_minor_(release_minor),
        registry_(registry),
        watches_(watches),
        metrics_(registry),
        write_(registry, std::move(warnings)),
        reviews_(registry, std::move(token_key), std::move(admin_token)) {}

  // Whether somebody known sends the request.
  bool IsAuthenticated(const net::Request& request) const { return reviews_.Authenticate(request).has_value(); }

  void Handle(const net::Request& request, const std::shared_ptr<net::ResponseWriter>& writer);

 private:
  using Route = RestRoute;
  using Call = RestCall;

  objects::Outcome<Route> FindRoute(const net::Target& target) const;
  objects::Outcome<net::Response> Answer(const Call& call, const std::shared_ptr<net::ResponseWriter>& writer,
                                         bool& is_streaming);
  objects::Outcome<net::Response> OnCollection(const Call& call, const std::shared_ptr<net::ResponseWriter>& writer,
                                               bool& is_streaming);
  objects::Outcome<net::Response> OnObject(const Call& call);
  objects::Outcome<net::Response> OnSubresource(const Call& call);

  objects::Outcome<net::Response> Get(const Call& call);

  const int release_minor_;
  Registry& registry_;
  WatchHub& watches_;
  MetricsApi metrics_;
  RestWrite write_;
  AccessReviews reviews_;
};

}  // namespace berth::apiserver
