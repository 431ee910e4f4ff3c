// SPDX-License-Identifier: Apache-2.0
// What the controllers read of Pods, ReplicaSets and Deployments, and small helpers over JSON documents. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/btree_map.h>
#include <simdjson.h>

#include "berth/api/meta.h"
#include "berth/api/selector.h"
#include "berth/base/expected.h"
#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/codec/json.h"

namespace berth::controllers {

namespace json = codec::json;

inline constexpr const char* kAppsVersion = "apps/v1";
inline constexpr const char* kTemplateHashLabel = "pod-template-hash";

// The garbage collector's finalizers, which the API server sets when a deletion asks for them.
inline constexpr const char* kForegroundFinalizer = "foregroundDeletion";
inline constexpr const char* kOrphanFinalizer = "orphan";

struct ObjectOwner : api::OwnerReference {
  std::optional<bool> is_controller;
  std::optional<bool> blocks_deletion;  // blockOwnerDeletion
  bool operator==(const ObjectOwner&) const = default;
};

struct ObjectView {
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 0;
  api::StringMap labels;
  std::optional<api::OwnerReference> controller;
  std::vector<ObjectOwner> owners;
  std::vector<std::string> finalizers;
  std::optional<Time> creation_time;
  bool is_deleted = false;  // its deletion has begun

  std::string Key() const { return namespace_name + '/' + name; }
  bool HasFinalizer(std::string_view name) const;
  // It is being deleted, after its dependents.
  bool WaitsForDependents() const { return is_deleted && HasFinalizer(kForegroundFinalizer); }
  // It is being deleted, and its dependents are to stay.
  bool OrphansDependents() const { return is_deleted && HasFinalizer(kOrphanFinalizer); }
};

struct PodView : ObjectView {
  std::string node_name;
  std::string phase;
  bool is_ready = false;
  std::optional<Time> ready_since;
  std::int64_t deletion_cost = 0;  // controller.kubernetes.io/pod-deletion-cost
  std::int64_t restarts = 0;

  bool IsFinished() const { return phase == "Succeeded" || phase == "Failed"; }
  bool IsActive() const { return !is_deleted && !IsFinished(); }
};

// An object that makes pods, or ReplicaSets that do.
struct WorkloadView : ObjectView {
  api::StringMap annotations;
  std::int64_t replicas = 1;
  std::int64_t min_ready_seconds = 0;
  std::optional<api::LabelSelector> selector;
  json::object spec;
  json::object status;

  const json::object& Template() const;                    // spec.template, or an empty object
  std::int64_t StatusCount(std::string_view field) const;  // 0 where it is absent
};

// Reads the metadata alone.
Expected<std::shared_ptr<const ObjectView>> DecodeObjectView(const simdjson::dom::element& object);
Expected<std::shared_ptr<const PodView>> DecodePodView(const simdjson::dom::element& object);
// An invalid selector is an error: the object is set aside until it is mended.
Expected<std::shared_ptr<const WorkloadView>> DecodeWorkloadView(const simdjson::dom::element& object);

// Objects by key, by uid, by controlling owner, and those without one by namespace. Sorted by key where they are
// listed.
template <typename View>
class ObjectIndex {
 public:
  using Ptr = std::shared_ptr<const View>;
  template <typename Value>
  using Sorted = absl::btree_map<std::string, Value, std::less<>>;  // by std::string_view; the same order in each run
  using Group = Sorted<Ptr>;

  void Put(const Ptr& object) {
    const std::string key = object->Key();
    const auto known = by_key_.find(key);
    if (known != by_key_.end()) {
      if (TakePlace(*known->second, key, object)) {
        known->second = object;
        return;
      }
      Erase(key);
    }
    by_uid_[object->uid] = object;
    GroupOf(*object)[key] = object;
    by_key_[key] = object;
  }
  void Erase(const std::string& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    const Ptr object = found->second;
    by_key_.erase(found);
    by_uid_.erase(object->uid);
    auto& groups = object->controller ? by_owner_ : orphans_;
    const auto group = groups.find(object->controller ? object->controller->uid : object->namespace_name);
    if (group == groups.end()) return;
    group->second.erase(key);
    if (group->second.empty()) groups.erase(group);
  }
  Ptr Find(std::string_view key) const { return FindIn(by_key_, key); }
  Ptr FindUid(std::string_view uid) const {
    const auto found = by_uid_.find(uid);
    return found == by_uid_.end() ? nullptr : found->second;
  }
  // Copies, since what is done for an object may change the index.
  Group Owned(std::string_view owner_uid) const { return FindIn(by_owner_, owner_uid); }
  Group Orphans(std::string_view namespace_name) const { return FindIn(orphans_, namespace_name); }
  const Sorted<Group>& by_owner() const { return by_owner_; }
  // Visits the objects of one namespace.
  void ForEachIn(const std::string& namespace_name, const std::function<void(const Ptr&)>& visit) const {
    const std::string folder = namespace_name + '/';
    for (auto at = by_key_.lower_bound(folder); at != by_key_.end() && at->first.starts_with(folder); ++at) {
      visit(at->second);
    }
  }
  void ForEach(const std::function<void(const View&)>& visit) const {
    for (const auto& [key, object] : by_key_) visit(*object);
  }

 private:
  template <typename Value>
  static Value FindIn(const Sorted<Value>& map, std::string_view key) {
    const auto found = map.find(key);
    return found == map.end() ? Value() : found->second;
  }
  // An object that is only another version of the one it follows, as most are, takes its place by uid and in its group.
  bool TakePlace(const View& before, const std::string& key, const Ptr& object) {
    const auto owner = [](const View& view) {
      return view.controller ? std::string_view(view.controller->uid) : std::string_view();
    };
    if (before.uid != object->uid || before.controller.has_value() != object->controller.has_value() ||
        owner(before) != owner(*object)) {
      return false;
    }
    by_uid_[object->uid] = object;
    GroupOf(*object)[key] = object;
    return true;
  }
  Group& GroupOf(const View& object) {
    return object.controller ? by_owner_[object.controller->uid] : orphans_[object.namespace_name];
  }

  Sorted<Ptr> by_key_;
  StringHashMap<Ptr> by_uid_;
  Sorted<Group> by_owner_;
  Sorted<Group> orphans_;
};

// The member as a string or number; empty or `otherwise` where it is something else. Null when there is no such member.
const json::value* Member(const json::object& object, std::string_view name);
std::string_view StringOf(const json::object& object, std::string_view name);
std::int64_t IntegerOf(const json::object& object, std::string_view name, std::int64_t otherwise);
const json::object* ObjectOf(const json::object& object, std::string_view name);

json::string_view View(std::string_view text);  // Boost's own kind of view
json::object ToJson(const api::StringMap& map);
json::object ToJsonObject(const simdjson::dom::element& object);  // empty for another kind of value

// Two pod templates that make the same pods: the hash label and an empty creation time do not count.
bool SameTemplate(const json::object& a, const json::object& b);
// A short text that depends on the template's content and on `collisions` alone, not on the order of its members.
std::string TemplateHash(const json::object& pod_template, std::int64_t collisions);

// "batch/v1" of a Job or CronJob, "v1" of a ReplicationController, else "apps/v1".
std::string_view ApiVersionOf(std::string_view kind);

// Five letters that follow from the text.
std::string NameSuffixOf(std::string_view text);

// Five letters as generateName appends them, from a number.
std::string NameSuffix(std::uint64_t random);

// The reference of a controller to itself, for an object that it makes or adopts.
json::object OwnerReferenceTo(const ObjectView& owner, std::string_view kind);

}  // namespace berth::controllers
