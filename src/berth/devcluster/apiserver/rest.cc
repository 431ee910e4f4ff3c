// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/rest.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "berth/base/utf8.h"
#include "berth/codec/json.h"
#include "berth/codec/yaml_writer.h"
#include "berth/devcluster/apiserver/discovery.h"
#include "berth/devcluster/apiserver/health.h"
#include "berth/devcluster/apiserver/rendering.h"
#include "berth/devcluster/apiserver/rest_list.h"
#include "berth/devcluster/apiserver/rest_parameters.h"
#include "berth/devcluster/apiserver/status_response.h"
#include "berth/devcluster/apiserver/subresources.h"
#include "berth/devcluster/apiserver/watch_socket.h"
#include "berth/shell/net/pretty.h"
#include "berth/shell/net/websocket.h"

namespace berth::apiserver {
namespace {

bool IsText(const net::Target& target) {
  return std::all_of(target.segments.begin(), target.segments.end(), IsValidUtf8) &&
         std::all_of(target.query.begin(), target.query.end(),
                     [](const auto& each) { return IsValidUtf8(each.first) && IsValidUtf8(each.second); });
}

bool IsRead(const net::Request& request) { return request.method == "GET" || request.method == "HEAD"; }

// Takes the deprecated "watch" out of /api/v1/watch/... and /apis/GROUP/VERSION/watch/...; true when it was there.
bool TakeWatchPrefix(net::Target& target) {
  const std::size_t at = !target.segments.empty() && target.segments[0] == "api" ? 2 : 3;
  if (target.segments.size() < at + 2 || target.segments[at] != "watch") return false;
  target.segments.erase(target.segments.begin() + static_cast<std::ptrdiff_t>(at));
  std::erase_if(target.query, [](const auto& each) { return each.first == "watch"; });
  target.query.emplace_back("watch", "true");
  return true;
}

// What follows "watch" is a collection, or one object of it: then the collection with a selector for its name. As
// upstream, another selector has to ask for that name, too.
objects::Outcome<objects::Done> WatchByName(RestRoute& route, net::Target& target) {
  if (!route.subresource.empty()) return objects::NoSuchPath();
  if (route.name.empty()) return objects::Done();
  const std::string_view wanted = target.Query("fieldSelector");
  if (!wanted.empty()) {
    Selector selector;
    BERTH_ASSIGN_OR_RETURN(selector.fields,
                           ParseFieldSelector(wanted, *route.served->stored, route.served->field_to_stored));
    const std::string* name = selector.SingleName();
    if (name == nullptr || *name != route.name) {
      return objects::BadRequest("fieldSelector metadata.name doesn't match requested name");
    }
  } else {
    std::string text = "metadata.name=";
    for (const char c : route.name) {
      if (c == '\\' || c == ',' || c == '=') text += '\\';
      text += c;
    }
    std::erase_if(target.query, [](const auto& each) { return each.first == "fieldSelector"; });
    target.query.emplace_back("fieldSelector", std::move(text));
  }
  route.name.clear();
  return objects::Done();
}

// What a kubelet answers, of containers that run.
bool IsOfContainers(std::string_view subresource) {
  return subresource == "log" || subresource == "exec" || subresource == "attach" || subresource == "portforward" ||
         subresource == "proxy";
}

// --- The format of whole answers -------------------------------------------------------------------------------------

constexpr std::string_view kJsonMedia = "application/json";
constexpr std::string_view kYamlMedia = "application/yaml";
// A list of the largest cluster.
constexpr std::size_t kAnswerBytesMax = std::size_t{1} << 30;

bool IsJson(const net::Response& response) {
  return !response.body.empty() && response.Get("Content-Type").starts_with(kJsonMedia);
}

// The client takes YAML rather than JSON.
bool WantsYaml(const net::Request& request) {
  std::string_view accept = request.Get("Accept");
  while (!accept.empty()) {
    const std::size_t comma = accept.find(',');
    const std::string media = MediaType(accept.substr(0, comma));
    if (media == kYamlMedia) return true;
    if (media == kJsonMedia || media == "application/*" || media == "*/*") return false;
    accept.remove_prefix(comma == std::string_view::npos ? accept.size() : comma + 1);
  }
  return false;
}

// Brings an answer in JSON into the format that the request asks for. Indented as upstream decides: where ?pretty says
// so, or else for browsers, curl and wget.
void FormatAnswer(const net::Request& request, const net::Target& target, net::Response& response) {
  if (!IsJson(response)) return;
  if (WantsYaml(request)) {
    const auto document = codec::ParseJson(response.body, {.bytes_max = kAnswerBytesMax});
    if (!document.ok()) return;
    response.body = codec::WriteYaml(*document);
    for (net::Header& header : response.headers) {
      if (net::EqualsIgnoreCase(header.name, "Content-Type")) header.value = kYamlMedia;
    }
  } else if (net::WantsPretty(request, target)) {
    response.body = PrettyJson(response.body);
  }
}

}  // namespace

void Rest::Handle(const net::Request& request, const std::shared_ptr<net::ResponseWriter>& writer) {
  auto target = net::ParseTarget(request.target);
  if (!target.ok()) {
    writer->Send(ToResponse(objects::BadRequest("the request's target is malformed: " + target.error().message)));
    return;
  }
  // Names and values come back in messages and selectors, and those are JSON.
  if (!IsText(*target)) {
    writer->Send(ToResponse(objects::BadRequest("the request's target is malformed: it is not UTF-8")));
    return;
  }
  if (IsRead(request)) {
    if (auto health = ServeHealth(*target, registry_.store().LogFailure())) return writer->Send(*std::move(health));
    if (auto document = ServeDiscovery(target->path, request.Get("Accept"), request.Get("Host"),
                                       *registry_.custom_catalog(), release_minor_)) {
      net::Response response;
      response.status = document->status;
      response.headers.push_back({"Content-Type", document->content_type});
      if (!document->etag.empty()) {
        response.headers.push_back({"ETag", document->etag});
        if (request.Get("If-None-Match") == document->etag) {
          response.status = 304;
          document->body.clear();
        }
      }
      response.body = std::move(document->body);
      if (!document->etag.empty()) return writer->Send(std::move(response));  // the etag names these very bytes
      FormatAnswer(request, *target, response);
      return writer->Send(std::move(response));
    }
  }
  const bool is_watch_path = TakeWatchPrefix(*target);
  bool is_streaming = false;
  auto answer = [&]() -> objects::Outcome<net::Response> {
    BERTH_ASSIGN_OR_RETURN(Route route, FindRoute(*target));
    if (is_watch_path) {
      if (!IsRead(request)) return objects::MethodNotAllowed();
      BERTH_RETURN_IF_ERROR(WatchByName(route, *target));
    }
    return Answer({request, *target, route, registry_.WallNow()}, writer, is_streaming);
  }();
  if (is_streaming) return;
  net::Response response = answer.ok() ? std::move(answer).value() : ToResponse(answer.error());
  FormatAnswer(request, *target, response);
  writer->Send(std::move(response));
}

// /api/v1/... and /apis/GROUP/VERSION/..., then [namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]].
objects::Outcome<Rest::Route> Rest::FindRoute(const net::Target& target) const {
  std::span<const std::string> path(target.segments);
  std::string_view group;
  std::string_view version;
  if (path.size() >= 2 && path[0] == "api") {
    version = path[1];
    path = path.subspan(2);
  } else if (path.size() >= 3 && path[0] == "apis") {
    group = path[1];
    version = path[2];
    path = path.subspan(3);
  }
  if (path.empty() || version.empty()) return objects::NoSuchPath();
  Route route;
  // /namespaces/x/status is a part of the Namespace; with any other third element the Namespace is a folder.
  const bool is_folder = path[0] == "namespaces" && path.size() >= 3 &&
                         !(group.empty() && path.size() == 3 && (path[2] == "status" || path[2] == "finalize"));
  if (is_folder) {
    route.namespace_name = path[1];
    path = path.subspan(2);
    if (route.namespace_name.empty()) return objects::NoSuchPath();
  }
  if (path.size() > 3) return objects::NoSuchPath();
  if (group.empty() && path[0] == "bindings" && path.size() == 1 && is_folder) {
    route.served = registry_.Find("", "v1", "pods");
    route.is_binding = true;
    if (route.served == nullptr) return objects::NoSuchPath();
    return route;
  }
  route.keeper = registry_.FindAny(group, version, path[0]);
  route.served = route.keeper.get();
  if (route.served == nullptr) return objects::NoSuchPath();
  if (path.size() > 1) route.name = path[1];
  if (path.size() > 2) route.subresource = path[2];
  if (path.size() > 1 && (route.name.empty() || (path.size() > 2 && route.subresource.empty())))
    return objects::NoSuchPath();
  const bool is_namespaced = route.served->type->namespaced;
  if (is_folder && !is_namespaced) return objects::NoSuchPath();
  if (!is_folder && is_namespaced && !route.name.empty()) return objects::NoSuchPath();
  return route;
}

objects::Outcome<net::Response> Rest::Answer(const Call& call, const std::shared_ptr<net::ResponseWriter>& writer,
                                             bool& is_streaming) {
  if (call.route.is_binding) {
    if (call.request.method != "POST") return objects::MethodNotAllowed();
    return write_.Bind(call);
  }
  if (call.route.name.empty()) return OnCollection(call, writer, is_streaming);
  return call.route.subresource.empty() ? OnObject(call) : OnSubresource(call);
}

objects::Outcome<net::Response> Rest::OnCollection(const Call& call, const std::shared_ptr<net::ResponseWriter>& writer,
                                                   bool& is_streaming) {
  const Route& route = call.route;
  if (IsMeasured(*route.served->type)) return IsRead(call.request) ? metrics_.List(call) : objects::MethodNotAllowed();
  if (!route.served->type->is_stored) {
    const bool lacks_namespace = route.served->type->namespaced && route.namespace_name.empty();
    return call.request.method == "POST" && !lacks_namespace ? reviews_.Review(call) : objects::MethodNotAllowed();
  }
  if (IsRead(call.request)) {
    BERTH_ASSIGN_OR_RETURN(ListParameters list, ParseListParameters(call.target, *route.served, route.namespace_name));
    if (!list.is_watch) return ListObjects(registry_, call, list);
    if (WantsYaml(call.request)) return objects::NotAcceptable("application/json, application/json;stream=watch");
    std::shared_ptr<net::ResponseWriter> events = writer;
    if (net::AsksForWebSocket(call.request)) {
      BERTH_ASSIGN_OR_RETURN(events, MakeWatchSocket(call.request, writer));
    }
    BERTH_RETURN_IF_ERROR(WatchObjects(registry_, watches_, call, std::move(list), events));
    is_streaming = true;
    return net::Response();
  }
  // Objects of a namespace are created and deleted within one.
  if (route.served->type->namespaced && route.namespace_name.empty()) return objects::MethodNotAllowed();
  if (call.request.method == "POST") return write_.Create(call);
  if (call.request.method == "DELETE") return write_.DeleteCollection(call);
  return objects::MethodNotAllowed();
}

objects::Outcome<net::Response> Rest::OnObject(const Call& call) {
  if (IsMeasured(*call.route.served->type))
    return IsRead(call.request) ? metrics_.Get(call) : objects::MethodNotAllowed();
  if (!call.route.served->type->is_stored) return objects::NoSuchPath();
  if (IsRead(call.request)) return Get(call);
  if (call.request.method == "PUT") return write_.Replace(call, UpdateMode::kObject);
  if (call.request.method == "PATCH") return write_.Patch(call, UpdateMode::kObject);
  if (call.request.method == "DELETE") return write_.Delete(call);
  return objects::MethodNotAllowed();
}

objects::Outcome<net::Response> Rest::OnSubresource(const Call& call) {
  const Route& route = call.route;
  const std::string& method = call.request.method;
  if (route.subresource == "status" && route.served->type->has_status) {
    if (IsRead(call.request)) return Get(call);
    if (method == "PUT") return write_.Replace(call, UpdateMode::kStatus);
    if (method == "PATCH") return write_.Patch(call, UpdateMode::kStatus);
    return objects::MethodNotAllowed();
  }
  if (route.subresource == "scale" && route.served->type->has_scale) return write_.Scale(call);
  if (route.served->IsPods() && (route.subresource == "binding" || route.subresource == "eviction")) {
    if (method != "POST") return objects::MethodNotAllowed();
    return route.subresource == "binding" ? write_.Bind(call) : write_.Evict(call);
  }
  if (route.subresource == "ephemeralcontainers" && route.served->IsPods()) {
    if (IsRead(call.request)) return Get(call);
    if (method == "PUT") return write_.Replace(call, UpdateMode::kEphemeralContainers);
    if (method == "PATCH") return write_.Patch(call, UpdateMode::kEphemeralContainers);
    return objects::MethodNotAllowed();
  }
  if (route.subresource == "token" && route.served->IsServiceAccounts()) {
    return method == "POST" ? reviews_.RequestToken(call) : objects::MethodNotAllowed();
  }
  if (route.served->IsPods() && IsOfContainers(route.subresource)) {
    BERTH_RETURN_IF_ERROR(registry_.Get(*route.served, route.namespace_name, route.name));
    return objects::NoContainers();
  }
  return objects::NoSuchPath();
}

objects::Outcome<net::Response> Rest::Get(const Call& call) {
  const Route& route = call.route;
  BERTH_ASSIGN_OR_RETURN(const Rendering rendering, call.rendering);
  BERTH_ASSIGN_OR_RETURN(const objects::ObjectPtr object,
                         registry_.Get(*route.served, route.namespace_name, route.name));
  return JsonResponse(200, RenderObject(rendering, *object));
}

}  // namespace berth::apiserver
