// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/extenders.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "berth/api/names.h"
#include "berth/core/config/field_errors.h"
#include "berth/core/config/reader.h"
#include "berth/core/config/types.h"

namespace berth::config {
namespace {

// Native resources have no domain, or one of Kubernetes' own. An extended resource must be valid in a quota, as
// "requests.NAME".
bool IsExtendedResource(const std::string& name) {
  if (name.find('/') == std::string::npos || name.find("kubernetes.io/") != std::string::npos) return false;
  return !name.starts_with("requests.") && api::NotQualifiedName("requests." + name).empty();
}

void CheckManagedResource(FieldErrors& errors, const std::string& path, const std::string& name) {
  const std::vector<std::string> why = api::NotQualifiedName(name);
  for (const std::string& reason : why) errors.Invalid(path, name, reason);
  if (why.empty() && !IsExtendedResource(name)) errors.Invalid(path, name, "is an invalid extended resource name");
}

void ReadTls(ObjectReader& reader, ExtenderTls& out) {
  reader.Read("insecure", out.insecure);
  reader.Read("serverName", out.server_name);
  reader.Read("certFile", out.cert_file);
  reader.Read("keyFile", out.key_file);
  reader.Read("caFile", out.ca_file);
  reader.Read("certData", out.cert_data);
  reader.Read("keyData", out.key_data);
  reader.Read("caData", out.ca_data);
}

void ReadExtender(ObjectReader& reader, Extender& out) {
  reader.Read("urlPrefix", out.url_prefix);
  reader.Read("filterVerb", out.filter_verb);
  reader.Read("preemptVerb", out.preempt_verb);
  reader.Read("prioritizeVerb", out.prioritize_verb);
  reader.Read("weight", out.weight);
  reader.Read("bindVerb", out.bind_verb);
  reader.Read("enableHTTPS", out.enable_https);
  reader.Object("tlsConfig", [&](ObjectReader& tls) { ReadTls(tls, out.tls.emplace()); });
  reader.Read("httpTimeout", out.http_timeout);
  if (out.http_timeout == Duration::zero()) out.http_timeout = Extender::kDefaultTimeout;
  reader.Read("nodeCacheCapable", out.node_cache_capable);
  reader.List("managedResources", [&](const codec::json::value& item, const std::string& path) {
    ObjectReader resource(item, path, reader.errors());
    ManagedResource& slot = out.managed_resources.emplace_back();
    resource.Read("name", slot.name);
    resource.Read("ignoredByScheduler", slot.ignored_by_scheduler);
  });
  reader.Read("ignorable", out.ignorable);
}

}  // namespace

std::string Extender::UrlOf(std::string_view verb) const {
  std::string url = url_prefix;
  while (!url.empty() && url.back() == '/') url.pop_back();
  return url.append("/").append(verb);
}

bool Extender::IsInterested(const api::PodSpec& pod) const {
  if (managed_resources.empty()) return true;
  const auto asks = [this](const api::Container& container) {
    return std::any_of(managed_resources.begin(), managed_resources.end(), [&](const ManagedResource& resource) {
      return api::FindResource(container.requests, resource.name) != nullptr;
    });
  };
  return std::any_of(pod.containers.begin(), pod.containers.end(), asks) ||
         std::any_of(pod.init_containers.begin(), pod.init_containers.end(), asks);
}

void ReadExtenders(ObjectReader& reader, std::vector<Extender>& out) {
  reader.List("extenders", [&](const codec::json::value& item, const std::string& path) {
    ObjectReader extender(item, path, reader.errors());
    ReadExtender(extender, out.emplace_back());
  });
}

void CheckExtenders(FieldErrors& errors, std::span<const Extender> extenders) {
  int binders = 0;
  std::set<std::string_view> managed;
  for (std::size_t i = 0; i < extenders.size(); ++i) {
    const Extender& extender = extenders[i];
    const std::string path = "extenders[" + std::to_string(i) + "]";
    if (!extender.prioritize_verb.empty() && extender.weight <= 0)
      errors.Invalid(path + ".weight", extender.weight, "must have a positive weight applied to it");
    if (!extender.bind_verb.empty()) ++binders;
    for (std::size_t j = 0; j < extender.managed_resources.size(); ++j) {
      const std::string& name = extender.managed_resources[j].name;
      const std::string at = path + ".managedResources[" + std::to_string(j) + "].name";
      CheckManagedResource(errors, at, name);
      if (!managed.insert(name).second) errors.Invalid(at, name, "duplicate extender managed resource name");
    }
    // Upstream accepts a negative time-out and waits forever.
    if (extender.http_timeout < Duration::zero()) {
      errors.Invalid(path + ".httpTimeout", FormatGoDuration(extender.http_timeout),
                     "must not be negative: an extender that hangs would stop all scheduling");
    }
  }
  if (binders > 1) {
    errors.Invalid("extenders", "found " + std::to_string(binders) + " extenders implementing bind",
                   "only one extender can implement bind");
  }
}

std::vector<Extender> InCallOrder(const std::vector<Extender>& extenders) {
  std::vector<Extender> ordered;
  for (const bool is_ignorable : {false, true}) {
    std::copy_if(extenders.begin(), extenders.end(), std::back_inserter(ordered),
                 [is_ignorable](const Extender& each) { return each.ignorable == is_ignorable; });
  }
  return ordered;
}

Expected<void> IgnoreResources(std::span<const Extender> extenders, std::vector<Profile>& profiles) {
  std::vector<std::string> names;
  for (const Extender& extender : extenders) {
    for (const ManagedResource& resource : extender.managed_resources) {
      if (resource.ignored_by_scheduler) names.push_back(resource.name);
    }
  }
  if (names.empty()) return {};
  for (Profile& profile : profiles) {
    const auto config = std::find_if(profile.plugin_config.begin(), profile.plugin_config.end(),
                                     [](const PluginConfig& each) { return each.name == "NodeResourcesFit"; });
    auto* args = config == profile.plugin_config.end() ? nullptr : std::get_if<NodeResourcesFitArgs>(&config->args);
    if (args == nullptr)
      return InvalidError("couldn't build extenders: can't find NodeResourcesFitArgs in plugin config");
    args->ignored_resources = names;
  }
  return {};
}

}  // namespace berth::config
