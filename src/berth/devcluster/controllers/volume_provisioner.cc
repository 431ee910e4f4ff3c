// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/volume_provisioner.h"

#include <utility>

#include "berth/codec/json_reader.h"
#include "berth/shell/client/rest_client.h"

namespace berth::controllers {

using client::ObjectPath;
using client::WorkQueue;

struct VolumeProvisioner::Claim {
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::string class_name;
  std::string volume_name;
  std::string phase;
  std::string selected_node;
  json::object spec;
  std::string Key() const { return namespace_name + '/' + name; }
  std::string VolumeName() const { return "pvc-" + uid; }
};

struct VolumeProvisioner::Class {
  std::string name;
  std::string provisioner;
  std::string reclaim_policy;
  bool waits_for_consumer = false;
};

namespace {

constexpr std::string_view kGoneKey = "gone/";

json::object ClaimReference(const std::string& namespace_name, const std::string& name, const std::string& uid) {
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolumeClaim"},
          {"namespace", namespace_name},
          {"name", name},
          {"uid", uid}};
}

// "1Gi" of spec.resources.requests.storage.
std::string SizeOf(const json::object& claim_spec) {
  const json::object* resources = ObjectOf(claim_spec, "resources");
  const json::object* requests = resources == nullptr ? nullptr : ObjectOf(*resources, "requests");
  return requests == nullptr ? std::string("1Gi") : std::string(StringOf(*requests, "storage"));
}

}  // namespace

VolumeProvisioner::VolumeProvisioner(Context& context)
    : context_(context),
      queue_(std::make_shared<WorkQueue>(
          context.loop, client::WorkQueueOptions{.in_flight_max = 8, .seed = context.options.seed + 51},
          [this](const std::string& key, WorkQueue::Done done) {
            if (!context_.is_stopped) Sync(key, std::move(done));
          })) {
  client::Informer<Class>::Options classes;
  classes.name = "storageclasses";
  classes.path = "/apis/storage.k8s.io/v1/storageclasses";
  classes.seed = context.options.seed + 52;
  classes.decode = [](const simdjson::dom::element& object) -> Expected<std::shared_ptr<const Class>> {
    auto made = std::make_shared<Class>();
    if (const auto metadata = codec::FindMember(object, "metadata"))
      made->name = codec::StringOrEmpty(*metadata, "name");
    made->provisioner = codec::StringOrEmpty(object, "provisioner");
    made->reclaim_policy = codec::StringOrEmpty(object, "reclaimPolicy");
    made->waits_for_consumer = codec::StringOrEmpty(object, "volumeBindingMode") == "WaitForFirstConsumer";
    return std::shared_ptr<const Class>(std::move(made));
  };
  const auto on_class = [this](const std::shared_ptr<const Class>& each) {
    classes_[each->name] = each;
    for (const auto& [key, claim] : claims_) {
      if (claim->class_name == each->name) queue_->Add(key);
    }
  };
  client::Informer<Class>::Handler on_classes;
  on_classes.on_add = on_class;
  on_classes.on_update = [on_class](const auto&, const auto& each) { on_class(each); };
  on_classes.on_delete = [this](const auto& each) { classes_.erase(each->name); };
  classes_informer_ =
      std::make_unique<client::Informer<Class>>(context.rest, std::move(classes), std::move(on_classes));

  client::Informer<Claim>::Options claims;
  claims.name = "persistentvolumeclaims";
  claims.path = "/api/v1/persistentvolumeclaims";
  claims.seed = context.options.seed + 53;
  claims.decode = [](const simdjson::dom::element& object) -> Expected<std::shared_ptr<const Claim>> {
    auto claim = std::make_shared<Claim>();
    if (const auto metadata = codec::FindMember(object, "metadata")) {
      claim->name = codec::StringOrEmpty(*metadata, "name");
      claim->namespace_name = codec::StringOrEmpty(*metadata, "namespace");
      claim->uid = codec::StringOrEmpty(*metadata, "uid");
      if (const auto annotations = codec::FindMember(*metadata, "annotations"))
        claim->selected_node = codec::StringOrEmpty(*annotations, "volume.kubernetes.io/selected-node");
    }
    if (const auto spec = codec::FindMember(object, "spec")) {
      claim->spec = ToJsonObject(*spec);
      claim->class_name = codec::StringOrEmpty(*spec, "storageClassName");
      claim->volume_name = codec::StringOrEmpty(*spec, "volumeName");
    }
    if (const auto status = codec::FindMember(object, "status")) claim->phase = codec::StringOrEmpty(*status, "phase");
    return std::shared_ptr<const Claim>(std::move(claim));
  };
  const auto on_claim = [this](const std::shared_ptr<const Claim>& claim) {
    claims_[claim->Key()] = claim;
    queue_->Add(claim->Key());
  };
  client::Informer<Claim>::Handler on_claims;
  on_claims.on_add = on_claim;
  on_claims.on_update = [on_claim](const auto&, const auto& claim) { on_claim(claim); };
  on_claims.on_delete = [this](const auto& claim) {
    claims_.erase(claim->Key());
    if (claim->volume_name == claim->VolumeName()) queue_->Add(std::string(kGoneKey) + claim->uid);
  };
  claims_informer_ = std::make_unique<client::Informer<Claim>>(context.rest, std::move(claims), std::move(on_claims));
}

VolumeProvisioner::~VolumeProvisioner() = default;

void VolumeProvisioner::Start() {
  classes_informer_->Start();
  claims_informer_->Start();
}

void VolumeProvisioner::Stop() {
  classes_informer_->Stop();
  claims_informer_->Stop();
}

Context::Answer VolumeProvisioner::Then(std::string_view doing, std::string key, WorkQueue::Done done,
                                        std::function<void()> next) {
  return [this, doing, key = std::move(key), done = std::move(done),
          next = std::move(next)](Expected<net::Response> response) {
    if (response.ok() || response.error().code == ErrorCode::kAlreadyExists) return next();
    if (response.error().code == ErrorCode::kNotFound) return done(true);  // it has gone meanwhile
    context_.CountFailure(doing, key, response.error());
    done(false);
  };
}

void VolumeProvisioner::Sync(const std::string& key, WorkQueue::Done done) {
  if (key.starts_with(kGoneKey)) return RemoveVolume(key.substr(kGoneKey.size()), std::move(done));
  const auto found = claims_.find(key);
  if (found == claims_.end() || found->second->phase == "Bound") return done(true);
  const std::shared_ptr<const Claim> claim = found->second;
  const auto storage_class = classes_.find(claim->class_name);
  if (storage_class == classes_.end() || storage_class->second->provisioner != kProvisioner) return done(true);
  if (!claim->volume_name.empty() && claim->volume_name != claim->VolumeName())
    return done(true);  // the claim names a volume that is not ours
  if (storage_class->second->waits_for_consumer && claim->selected_node.empty()) return done(true);
  MakeVolume(claim, *storage_class->second, std::move(done));
}

void VolumeProvisioner::MakeVolume(const std::shared_ptr<const Claim>& claim, const Class& storage_class,
                                   WorkQueue::Done done) {
  json::object spec{{"capacity", json::object{{"storage", SizeOf(claim->spec)}}},
                    {"persistentVolumeReclaimPolicy",
                     storage_class.reclaim_policy.empty() ? "Delete" : storage_class.reclaim_policy.c_str()},
                    {"storageClassName", storage_class.name},
                    {"claimRef", ClaimReference(claim->namespace_name, claim->name, claim->uid)},
                    {"csi", json::object{{"driver", kProvisioner}, {"volumeHandle", claim->VolumeName()}}}};
  for (const char* each : {"accessModes", "volumeMode"}) {
    if (const json::value* value = Member(claim->spec, each)) spec[each] = *value;
  }
  json::object metadata{{"name", claim->VolumeName()},
                        {"annotations", json::object{{"pv.kubernetes.io/provisioned-by", kProvisioner}}}};
  const json::object volume{
      {"apiVersion", "v1"}, {"kind", "PersistentVolume"}, {"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
  context_.Send("POST", ObjectPath(kCorePrefix, {}, "persistentvolumes"), volume, {},
                Then("making the volume of", claim->Key(), done, [this, claim, done] { BindClaim(claim, done); }));
}

void VolumeProvisioner::BindClaim(const std::shared_ptr<const Claim>& claim, WorkQueue::Done done) {
  const std::string path = ObjectPath(kCorePrefix, claim->namespace_name, "persistentvolumeclaims", claim->name);
  const std::string volume = ObjectPath(kCorePrefix, {}, "persistentvolumes", claim->VolumeName());
  json::object annotations{{"pv.kubernetes.io/bind-completed", "yes"},
                           {"pv.kubernetes.io/bound-by-controller", "yes"},
                           {"volume.kubernetes.io/storage-provisioner", kProvisioner}};
  const json::object bound{{"metadata", json::object{{"uid", claim->uid}, {"annotations", std::move(annotations)}}},
                           {"spec", json::object{{"volumeName", claim->VolumeName()}}}};
  json::object status{{"phase", "Bound"}, {"capacity", json::object{{"storage", SizeOf(claim->spec)}}}};
  if (const json::value* modes = Member(claim->spec, "accessModes")) status["accessModes"] = *modes;
  const json::object patch{{"metadata", json::object{{"uid", claim->uid}}}, {"status", std::move(status)}};
  const json::object of_volume{{"status", json::object{{"phase", "Bound"}}}};
  constexpr std::string_view kDoing = "binding the claim";
  const std::string key = claim->Key();
  // The volume first: who sees a bound claim sees a bound volume.
  context_.Send("PATCH", volume + "/status", of_volume, kMergePatch, Then(kDoing, key, done, [=, this] {
                  context_.Send("PATCH", path, bound, kMergePatch, Then(kDoing, key, done, [=, this] {
                                  context_.Send("PATCH", path + "/status", patch, kMergePatch,
                                                Then(kDoing, key, done, [done] { done(true); }));
                                }));
                }));
}

void VolumeProvisioner::RemoveVolume(const std::string& uid, WorkQueue::Done done) {
  const std::string path = ObjectPath(kCorePrefix, {}, "persistentvolumes", "pvc-" + uid);
  context_.Read(path, [this, path, done = std::move(done)](Expected<net::Response> response) {
    if (!response.ok()) return done(response.error().code == ErrorCode::kNotFound);
    const auto volume = codec::ParseJson(response->body);
    const json::object* spec = volume.ok() && volume->is_object() ? ObjectOf(volume->get_object(), "spec") : nullptr;
    if (spec == nullptr) return done(true);
    if (StringOf(*spec, "persistentVolumeReclaimPolicy") == "Delete") {
      return context_.Send("DELETE", path, json::object(), {},
                           Then("removing the volume", path, done, [done] { done(true); }));
    }
    const json::object released{{"status", json::object{{"phase", "Released"}}}};
    context_.Send("PATCH", path + "/status", released, kMergePatch,
                  Then("releasing the volume", path, done, [done] { done(true); }));
  });
}

}  // namespace berth::controllers
