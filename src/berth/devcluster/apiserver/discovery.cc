// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/discovery.h"

#include <algorithm>
#include <vector>

#include "berth/base/text.h"
#include "berth/devcluster/apiserver/metrics_api.h"
#include "berth/devcluster/apiserver/openapi.h"
#include "berth/devcluster/apiserver/openapi_protobuf.h"
#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/resource.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view kJson = "application/json";

// --- What there is ---------------------------------------------------------------------------------------------------

// A subresource and how its objects are called, when not as the resource's own.
struct Subresource {
  std::string name;
  std::string group;  // of the kind, empty: as the resource
  std::string version;
  std::string kind;
  std::vector<std::string> verbs;
};

std::vector<std::string> Verbs(const objects::ResourceType& type) {
  if (IsMeasured(type)) return {"get", "list"};
  if (!type.is_stored) return {"create"};
  std::vector<std::string> verbs = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
  // Nobody deletes all namespaces at once.
  if (type.kind == "Namespace" && type.structural == nullptr) verbs.erase(verbs.begin() + 2);
  return verbs;
}

std::vector<Subresource> Subresources(const objects::ResourceType& type) {
  std::vector<Subresource> all;
  const bool is_ours = type.structural == nullptr;
  if (is_ours && type.kind == "Pod") {
    all.push_back({"binding", "", "", "Binding", {"create"}});
    all.push_back({"ephemeralcontainers", "", "", "Pod", {"get", "patch", "update"}});
    all.push_back({"eviction", "policy", "v1", "Eviction", {"create"}});
  }
  if (is_ours && type.kind == "ServiceAccount") {
    all.push_back({"token", "authentication.k8s.io", "v1", "TokenRequest", {"create"}});
  }
  if (type.has_scale) all.push_back({"scale", "autoscaling", "v1", "Scale", {"get", "patch", "update"}});
  if (type.has_status) all.push_back({"status", "", "", type.kind, {"get", "patch", "update"}});
  return all;
}

// Kubernetes' own types, then those of custom resources.
template <typename Visit>
void ForEachType(const CustomCatalog& custom, const Visit& visit) {
  for (const objects::ResourceType& type : objects::ResourceTypes()) visit(type);
  for (const objects::ResourceType* type : custom.types) visit(*type);
}

struct GroupVersion {
  std::string group;
  std::string version;
  std::string text() const { return group.empty() ? version : group + "/" + version; }
};

std::vector<GroupVersion> GroupVersions(const CustomCatalog& custom) {
  std::vector<GroupVersion> all;
  ForEachType(custom, [&](const objects::ResourceType& type) {
    const bool is_known = std::any_of(all.begin(), all.end(), [&](const GroupVersion& each) {
      return each.group == type.group && each.version == type.version;
    });
    if (!is_known) all.push_back({type.group, type.version});
  });
  return all;
}

json::array Strings(const std::vector<std::string>& texts) {
  json::array array;
  for (const std::string& text : texts) array.push_back(json::string(text));
  return array;
}

// --- Plain documents -------------------------------------------------------------------------------------------------

json::object Version(const GroupVersion& version) {
  json::object object;
  object["groupVersion"] = version.text();
  object["version"] = version.version;
  return object;
}

json::object Group(const CustomCatalog& custom, const std::string& group) {
  json::object object;
  object["name"] = group;
  json::array versions;
  json::object preferred;
  for (const GroupVersion& each : GroupVersions(custom)) {
    if (each.group != group) continue;
    if (versions.empty()) preferred = Version(each);
    versions.push_back(Version(each));
  }
  object["versions"] = std::move(versions);
  object["preferredVersion"] = std::move(preferred);
  return object;
}

std::vector<std::string> Groups(const CustomCatalog& custom) {
  std::vector<std::string> groups;
  for (const GroupVersion& each : GroupVersions(custom)) {
    if (!each.group.empty() && std::find(groups.begin(), groups.end(), each.group) == groups.end()) {
      groups.push_back(each.group);
    }
  }
  return groups;
}

json::object ApiVersions(std::string_view server_address) {
  json::object range;
  range["clientCIDR"] = "0.0.0.0/0";
  range["serverAddress"] = server_address;
  json::object document;
  document["kind"] = "APIVersions";
  document["versions"] = json::array{"v1"};
  json::array ranges;
  ranges.push_back(std::move(range));
  document["serverAddressByClientCIDRs"] = std::move(ranges);
  return document;
}

json::object GroupList(const CustomCatalog& custom) {
  json::array groups;
  for (const std::string& group : Groups(custom)) groups.push_back(Group(custom, group));
  json::object document;
  document["kind"] = "APIGroupList";
  document["apiVersion"] = "v1";
  document["groups"] = std::move(groups);
  return document;
}

json::object GroupDocument(const CustomCatalog& custom, const std::string& group) {
  json::object document;
  document["kind"] = "APIGroup";
  document["apiVersion"] = "v1";
  for (auto&& pair : Group(custom, group)) document[pair.key()] = pair.value();
  return document;
}

json::object ResourceList(const CustomCatalog& custom, const GroupVersion& version) {
  json::array resources;
  ForEachType(custom, [&](const objects::ResourceType& type) {
    if (type.group != version.group || type.version != version.version) return;
    json::object resource;
    resource["name"] = type.plural;
    resource["singularName"] = type.singular;
    resource["namespaced"] = type.namespaced;
    resource["kind"] = type.kind;
    resource["verbs"] = Strings(Verbs(type));
    if (!type.short_names.empty()) resource["shortNames"] = Strings(type.short_names);
    if (!type.categories.empty()) resource["categories"] = Strings(type.categories);
    resources.push_back(std::move(resource));
    for (const Subresource& each : Subresources(type)) {
      json::object subresource;
      subresource["name"] = type.plural + "/" + each.name;
      subresource["singularName"] = "";
      subresource["namespaced"] = type.namespaced;
      if (!each.group.empty()) {
        subresource["group"] = each.group;
        subresource["version"] = each.version;
      }
      subresource["kind"] = each.kind;
      subresource["verbs"] = Strings(each.verbs);
      resources.push_back(std::move(subresource));
    }
  });
  json::object document;
  document["kind"] = "APIResourceList";
  document["apiVersion"] = "v1";
  document["groupVersion"] = version.text();
  document["resources"] = std::move(resources);
  return document;
}

// --- Aggregated documents --------------------------------------------------------------------------------------------

json::object ResponseKind(std::string_view group, std::string_view version, std::string_view kind) {
  json::object object;
  object["group"] = group;
  object["version"] = version;
  object["kind"] = kind;
  return object;
}

json::object AggregatedVersion(const CustomCatalog& custom, const GroupVersion& version) {
  json::array resources;
  ForEachType(custom, [&](const objects::ResourceType& type) {
    if (type.group != version.group || type.version != version.version) return;
    json::object resource;
    resource["resource"] = type.plural;
    resource["responseKind"] = ResponseKind(type.group, type.version, type.kind);
    resource["scope"] = type.namespaced ? "Namespaced" : "Cluster";
    resource["singularResource"] = type.singular;
    resource["verbs"] = Strings(Verbs(type));
    if (!type.short_names.empty()) resource["shortNames"] = Strings(type.short_names);
    if (!type.categories.empty()) resource["categories"] = Strings(type.categories);
    json::array subresources;
    for (const Subresource& each : Subresources(type)) {
      json::object subresource;
      subresource["subresource"] = each.name;
      subresource["responseKind"] = each.group.empty() ? ResponseKind(type.group, type.version, each.kind)
                                                       : ResponseKind(each.group, each.version, each.kind);
      subresource["verbs"] = Strings(each.verbs);
      subresources.push_back(std::move(subresource));
    }
    if (!subresources.empty()) resource["subresources"] = std::move(subresources);
    resources.push_back(std::move(resource));
  });
  json::object object;
  object["version"] = version.version;
  object["resources"] = std::move(resources);
  object["freshness"] = "Current";
  return object;
}

json::object Aggregated(const CustomCatalog& custom, bool is_core, std::string_view version) {
  json::array items;
  const std::vector<std::string> groups = is_core ? std::vector<std::string>{""} : Groups(custom);
  for (const std::string& group : groups) {
    json::object metadata;
    if (!group.empty()) metadata["name"] = group;
    json::array versions;
    for (const GroupVersion& each : GroupVersions(custom)) {
      if (each.group == group) versions.push_back(AggregatedVersion(custom, each));
    }
    json::object item;
    item["metadata"] = std::move(metadata);
    item["versions"] = std::move(versions);
    items.push_back(std::move(item));
  }
  json::object document;
  document["kind"] = "APIGroupDiscoveryList";
  document["apiVersion"] = "apidiscovery.k8s.io/" + std::string(version);
  document["metadata"] = json::object();
  document["items"] = std::move(items);
  return document;
}

// --- Content types ---------------------------------------------------------------------------------------------------

// What a client that may take aggregated discovery is to be sent: "v2", "v2beta1" or "" for the plain documents.
std::string_view AggregatedVersionOf(std::string_view accept) {
  while (!accept.empty()) {
    const std::size_t comma = accept.find(',');
    const std::string_view media = Trim(accept.substr(0, comma));
    accept.remove_prefix(comma == std::string_view::npos ? accept.size() : comma + 1);
    if (media.find("as=APIGroupDiscoveryList") == std::string_view::npos) {
      if (media.starts_with(kJson) || media.starts_with("*/*")) return {};
      continue;
    }
    if (!media.starts_with(kJson)) continue;  // protobuf is not served
    if (media.find("v=v2beta1") != std::string_view::npos) return "v2beta1";
    if (media.find("v=v2") != std::string_view::npos) return "v2";
  }
  return {};
}

bool AcceptsJson(std::string_view accept) {
  return Trim(accept).empty() || accept.find(kJson) != std::string_view::npos ||
         accept.find("*/*") != std::string_view::npos || accept.find("application/*") != std::string_view::npos;
}

DiscoveryAnswer Json(std::string body) { return {200, std::string(kJson), std::move(body), {}}; }
DiscoveryAnswer Json(const json::object& document) { return Json(json::serialize(document)); }
DiscoveryAnswer PlainText(std::string body, int status = 200) {
  return {status, "text/plain; charset=utf-8", std::move(body), {}};
}
DiscoveryAnswer NotFoundPage() { return PlainText("404 page not found\n", 404); }

DiscoveryAnswer OpenApi(const CustomCatalog& custom, const std::string& document, std::string_view accept) {
  if (!AcceptsJson(accept)) return {406, "text/plain; charset=utf-8", "only application/json is served\n", {}};
  DiscoveryAnswer answer = Json(document);
  answer.etag = "\"" + OpenApiHash() + custom.version + "\"";
  return answer;
}

DiscoveryAnswer AggregatedAnswer(const CustomCatalog& custom, bool is_core, std::string_view version) {
  DiscoveryAnswer answer = Json(Aggregated(custom, is_core, version));
  answer.content_type =
      std::string(kJson) + ";g=apidiscovery.k8s.io;v=" + std::string(version) + ";as=APIGroupDiscoveryList";
  answer.etag = "\"" + OpenApiHash() + custom.version + (is_core ? "-api" : "-apis") + "\"";
  return answer;
}

json::object VersionDocument(int release_minor) {
  json::object document;
  document["major"] = "1";
  document["minor"] = std::to_string(release_minor);
  document["gitVersion"] = "v1." + std::to_string(release_minor) + ".0+berth";
  document["gitCommit"] = "";
  document["gitTreeState"] = "clean";
  document["buildDate"] = "1970-01-01T00:00:00Z";
  document["goVersion"] = "none";
  document["compiler"] = "c++";
  document["platform"] = "linux/amd64";
  return document;
}

json::object RootPaths(const CustomCatalog& custom) {
  std::vector<std::string> paths = {"/api", "/api/v1", "/apis"};
  for (const GroupVersion& each : GroupVersions(custom)) {
    if (each.group.empty()) continue;
    paths.push_back("/apis/" + each.group);
    paths.push_back("/apis/" + each.text());
  }
  for (const char* path : {"/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"})
    paths.emplace_back(path);
  return {{"paths", Strings(paths)}};
}

// "/apis/apps/v1" and "/apis/apps"; nullopt for longer paths, which are resources.
std::optional<DiscoveryAnswer> GroupAnswer(const CustomCatalog& custom, std::string_view rest) {
  const std::size_t slash = rest.find('/');
  const std::string group(rest.substr(0, slash));
  const std::vector<std::string> groups = Groups(custom);
  const bool is_served = std::find(groups.begin(), groups.end(), group) != groups.end();
  if (slash == std::string_view::npos) return is_served ? Json(GroupDocument(custom, group)) : NotFoundPage();
  const std::string_view version = rest.substr(slash + 1);
  if (version.find('/') != std::string_view::npos) return std::nullopt;
  for (const GroupVersion& each : GroupVersions(custom)) {
    if (each.group == group && each.version == version) return Json(ResourceList(custom, each));
  }
  return NotFoundPage();
}

}  // namespace

std::optional<DiscoveryAnswer> ServeDiscovery(std::string_view path, std::string_view accept,
                                              std::string_view server_address, const CustomCatalog& custom,
                                              int release_minor) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  if (path == "/" || path.empty()) return Json(RootPaths(custom));
  if (path == "/version") return Json(VersionDocument(release_minor));
  if (path == "/api" || path == "/apis") {
    const bool is_core = path == "/api";
    if (const std::string_view version = AggregatedVersionOf(accept); !version.empty()) {
      return AggregatedAnswer(custom, is_core, version);
    }
    return Json(is_core ? ApiVersions(server_address) : GroupList(custom));
  }
  if (path == "/api/v1") return Json(ResourceList(custom, {"", "v1"}));
  constexpr std::string_view kApis = "/apis/";
  if (path.starts_with(kApis)) return GroupAnswer(custom, path.substr(kApis.size()));
  if (path == "/openapi/v2") {
    // kubectl asks for the protobuf form alone. Who takes JSON too gets that.
    if (AcceptsJson(accept) || accept.find("proto-openapi") == std::string_view::npos)
      return OpenApi(custom, *OpenApiV2(custom), accept);
    return DiscoveryAnswer{200, kOpenApiV2MediaType, *OpenApiV2Protobuf(custom),
                           '"' + OpenApiHash() + custom.version + "-protobuf\""};
  }
  if (path == "/openapi/v3") return OpenApi(custom, OpenApiV3Index(custom), accept);
  constexpr std::string_view kV3 = "/openapi/v3/";
  if (!path.starts_with(kV3)) return std::nullopt;
  std::string_view rest = path.substr(kV3.size());
  std::string_view group;
  if (rest.starts_with("apis/")) {
    rest.remove_prefix(5);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    group = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
  } else if (rest.starts_with("api/")) {
    rest.remove_prefix(4);
  } else {
    return NotFoundPage();
  }
  const std::string document = OpenApiV3(custom, group, rest);
  return document.empty() ? NotFoundPage() : OpenApi(custom, document, accept);
}

}  // namespace berth::apiserver
