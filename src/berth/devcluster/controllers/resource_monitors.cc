// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/resource_monitors.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace berth::controllers {
namespace {

constexpr std::string_view kAggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
constexpr std::string_view kDefinitions = "apiextensions.k8s.io/customresourcedefinitions";
// Definitions mostly come several at once.
constexpr Duration kGatherTime = std::chrono::milliseconds(100);
constexpr Duration kRetryTime = std::chrono::seconds(2);

std::string KeyOf(std::string_view group, std::string_view name) { return std::string(group).append("/").append(name); }

// What the collector needs to do with them.
bool CanBeCollected(const json::object& resource) {
  const json::value* verbs = Member(resource, "verbs");
  if (verbs == nullptr || !verbs->is_array()) return false;
  const auto has = [verbs](std::string_view verb) {
    const json::array& all = verbs->get_array();
    return std::any_of(all.begin(), all.end(),
                       [verb](const json::value& each) { return each.is_string() && each.get_string() == View(verb); });
  };
  return has("delete") && has("list") && has("watch");
}

const json::array& ArrayOf(const json::object& object, std::string_view name) {
  static const json::array kNone;
  const json::value* member = Member(object, name);
  return member != nullptr && member->is_array() ? member->get_array() : kNone;
}

using Kinds = std::map<std::string, std::shared_ptr<const ResourceKind>>;

// Keeps of each resource the version that comes first, which its group prefers.
bool ReadKinds(const std::string& body, Kinds& kinds) {
  const auto document = codec::ParseJson(body, {.bytes_max = std::size_t{16} << 20});
  if (!document.ok() || !document->is_object()) return false;
  if (StringOf(document->get_object(), "kind") != "APIGroupDiscoveryList") return false;
  for (const json::value& item : ArrayOf(document->get_object(), "items")) {
    if (!item.is_object()) continue;
    const json::object* metadata = ObjectOf(item.get_object(), "metadata");
    const std::string group(metadata == nullptr ? std::string_view() : StringOf(*metadata, "name"));
    for (const json::value& version : ArrayOf(item.get_object(), "versions")) {
      if (!version.is_object()) continue;
      const std::string name(StringOf(version.get_object(), "version"));
      for (const json::value& each : ArrayOf(version.get_object(), "resources")) {
        if (!each.is_object() || !CanBeCollected(each.get_object())) continue;
        const json::object& resource = each.get_object();
        const json::object* response = ObjectOf(resource, "responseKind");
        if (response == nullptr) continue;
        auto kind = std::make_shared<ResourceKind>();
        kind->group = group;
        kind->prefix = group.empty() ? "/api/" + name : "/apis/" + group + '/' + name;
        kind->plural = StringOf(resource, "resource");
        kind->kind = StringOf(*response, "kind");
        kind->is_namespaced = StringOf(resource, "scope") == "Namespaced";
        kinds.try_emplace(KeyOf(group, kind->plural), std::move(kind));
      }
    }
  }
  return true;
}

bool SameKind(const ResourceKind& a, const ResourceKind& b) {
  return a.prefix == b.prefix && a.kind == b.kind && a.is_namespaced == b.is_namespaced;
}

}  // namespace

ResourceMonitors::ResourceMonitors(Context& context, Handler handler)
    : context_(context), handler_(std::move(handler)) {}

void ResourceMonitors::Start() { Refresh(); }

void ResourceMonitors::Stop() {
  const std::lock_guard lock(mutex_);
  for (auto& [key, monitor] : monitors_) monitor.informer->Stop();
}

ResourceMonitors::KindPtr ResourceMonitors::Find(std::string_view group, std::string_view kind) const {
  const auto found = by_kind_.find(KeyOf(group, kind));
  return found == by_kind_.end() ? nullptr : found->second;
}

void ResourceMonitors::Refresh() {
  if (std::exchange(is_refresh_due_, true)) return;
  DiscoverAfter(kGatherTime);
}

void ResourceMonitors::DiscoverAfter(Duration pause) {
  (void)context_.loop.PostAfter(pause, [this, weak = context_.weak_from_this()] {
    const auto alive = weak.lock();
    if (alive && !alive->is_stopped) Discover();
  });
}

void ResourceMonitors::Discover() {
  const auto fail = [this](const std::string& path, const Error& error) {
    context_.CountFailure("asking for the kinds at", path, error);
    DiscoverAfter(kRetryTime);
  };
  context_.Read("/api", kAggregated, [this, fail](Expected<net::Response> core) {
    Kinds found;
    if (!core.ok()) return fail("/api", core.error());
    if (!ReadKinds(core->body, found)) return fail("/api", InvalidError("the answer is no APIGroupDiscoveryList"));
    context_.Read("/apis", kAggregated, [this, fail, found](Expected<net::Response> groups) mutable {
      if (!groups.ok()) return fail("/apis", groups.error());
      if (!ReadKinds(groups->body, found)) {
        return fail("/apis", InvalidError("the answer is no APIGroupDiscoveryList"));
      }
      Use(std::move(found));
    });
  });
}

void ResourceMonitors::Use(Kinds found) {
  is_refresh_due_ = false;
  by_kind_.clear();
  for (const auto& [key, kind] : found) by_kind_[KeyOf(kind->group, kind->kind)] = kind;
  std::vector<std::string> gone_uids;
  {
    const std::lock_guard lock(mutex_);
    if (context_.is_stopped) return;
    for (auto at = monitors_.begin(); at != monitors_.end();) {
      const auto kept = found.find(at->first);
      if (kept != found.end() && SameKind(*kept->second, *at->second.kind)) {
        ++at;
        continue;
      }
      at->second.informer->Stop();
      at->second.informer->ForEach(
          [&gone_uids](const std::string&, const ObjectGraph::ObjectPtr& object) { gone_uids.push_back(object->uid); });
      if (!at->second.is_synced) --unsynced_;
      at = monitors_.erase(at);
    }
    for (const auto& [key, kind] : found) {
      if (!left_out_.contains(key) && !monitors_.contains(key)) Watch(key, kind);
    }
  }
  is_known_ = true;
  for (const std::string& uid : gone_uids) handler_.on_gone(uid);
  handler_.on_change();
}

void ResourceMonitors::Watch(const std::string& key, const KindPtr& kind) {
  client::Informer<ObjectView>::Options options;
  options.name = kind->plural;
  options.path = kind->prefix + '/' + kind->plural;
  options.decode = DecodeObjectView;
  options.may_be_missing = true;
  options.seed = context_.options.seed + 101 + monitors_.size();
  client::Informer<ObjectView>::Handler handler;
  const bool is_definitions = key == kDefinitions;
  handler.on_add = [this, kind, is_definitions](const auto& object) {
    handler_.on_object(kind, object);
    if (is_definitions) Refresh();
  };
  handler.on_update = [this, kind, is_definitions](const auto&, const auto& object) {
    handler_.on_object(kind, object);
    if (is_definitions) Refresh();
  };
  handler.on_delete = [this, is_definitions](const auto& object) {
    handler_.on_gone(object->uid);
    if (is_definitions) Refresh();
  };
  handler.on_synced = [this, key] { OnListed(key); };
  ++unsynced_;
  Monitor& monitor = monitors_[key];
  monitor.kind = kind;
  monitor.informer =
      std::make_unique<client::Informer<ObjectView>>(context_.rest, std::move(options), std::move(handler));
  monitor.informer->Start();
}

void ResourceMonitors::OnListed(const std::string& key) {
  const auto found = monitors_.find(key);
  if (found == monitors_.end() || std::exchange(found->second.is_synced, true)) return;
  if (--unsynced_ == 0) handler_.on_change();
}

}  // namespace berth::controllers
