// Rest: the Kubernetes REST API over a Registry and a WatchHub: routes, verbs, content negotiation. Answers at once,
// never blocks; thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "berth/devcluster/apiserver/registry.h"
#include "berth/devcluster/apiserver/rest_parameters.h"
#include "berth/devcluster/apiserver/watch.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/url.h"

namespace berth::apiserver {

// Objects that one deletecollection may remove.
inline constexpr std::size_t kDeleteCollectionMax = 100'000;

class Rest {
 public:
  // Both outlive this.
  Rest(Registry& registry, WatchHub& watches) : registry_(registry), watches_(watches) {}

  void Handle(const net::Request& request, const std::shared_ptr<net::ResponseWriter>& writer);

 private:
  // Where a path leads.
  struct Route {
    const ServedType* served = nullptr;
    std::string namespace_name;
    std::string name;         // empty: the collection
    std::string subresource;  // "status", "scale", "binding", "eviction"
    bool is_binding = false;  // the write-only collection "bindings"
  };
  struct Call {
    const net::Request& request;
    const net::Target& target;
    const Route& route;
  };

  Outcome<Route> FindRoute(const net::Target& target) const;
  Outcome<net::Response> Answer(const Call& call, const std::shared_ptr<net::ResponseWriter>& writer,
                                bool& is_streaming);
  Outcome<net::Response> OnCollection(const Call& call, const std::shared_ptr<net::ResponseWriter>& writer,
                                      bool& is_streaming);
  Outcome<net::Response> OnObject(const Call& call);
  Outcome<net::Response> OnSubresource(const Call& call);

  Outcome<net::Response> Get(const Call& call);
  Outcome<net::Response> List(const Call& call, const ListParameters& list);
  Outcome<Done> Watch(const Call& call, ListParameters list, const std::shared_ptr<net::ResponseWriter>& writer);
  Outcome<net::Response> Create(const Call& call);
  Outcome<net::Response> Replace(const Call& call, UpdateMode mode);
  Outcome<net::Response> Patch(const Call& call, UpdateMode mode);
  Outcome<net::Response> Delete(const Call& call);
  Outcome<net::Response> DeleteCollection(const Call& call);
  Outcome<net::Response> Bind(const Call& call);
  Outcome<net::Response> Evict(const Call& call);
  Outcome<net::Response> Scale(const Call& call);

  Registry& registry_;
  WatchHub& watches_;
};

}  // namespace berth::apiserver
