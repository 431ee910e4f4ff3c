// SPDX-License-Identifier: Apache-2.0
// Storage objects for the tests of this folder, valid by default, and a plugin in a small cluster.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/config/args.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/plugins/volume_binding/pod_volumes.h"
#include "berth/plugins/volume_binding/reservation.h"
#include "berth/plugins/volume_binding/volume_binding.h"
#include "berth/testing/builders.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins::volumes {

// An object that is built step by step: MakeVolume("pv").With([](auto& v) { v.phase = "Bound"; }).
template <typename T>
class ObjectBuilder {
 public:
  explicit ObjectBuilder(std::string name) { object_.metadata.name = std::move(name); }

  template <typename Change>
  ObjectBuilder& With(const Change& change) {
    change(object_);
    return *this;
  }
  ObjectBuilder& Annotate(std::string_view key, std::string_view value) {
    object_.metadata.annotations.Set(key, value);
    return *this;
  }
  ObjectBuilder& Version(std::string version) {
    object_.metadata.resource_version = std::move(version);
    return *this;
  }
  const T& Value() const { return object_; }
  std::shared_ptr<const T> Build() const { return std::make_shared<const T>(object_); }

 private:
  T object_;
};

using VolumeBuilder = ObjectBuilder<api::PersistentVolume>;
using ClaimBuilder = ObjectBuilder<api::PersistentVolumeClaim>;

// Available, ReadWriteOnce, of class "wait".
inline VolumeBuilder MakeVolume(std::string name, const std::string& capacity = "10Gi") {
  VolumeBuilder out(std::move(name));
  return out.Version("1").With([&](api::PersistentVolume& volume) {
    volume.metadata.uid = "uid-" + volume.metadata.name;
    volume.spec.capacity = testing::Resources({{"storage", capacity}});
    volume.spec.access_modes = {"ReadWriteOnce"};
    volume.spec.storage_class_name = "wait";
    volume.phase = "Available";
  });
}

inline VolumeBuilder OnNodes(VolumeBuilder volume, std::vector<std::string> hosts) {
  return volume.With([&](api::PersistentVolume& v) {
    v.spec.node_affinity = {{testing::Term({testing::In("kubernetes.io/hostname", std::move(hosts))})}};
  });
}

inline VolumeBuilder ClaimedBy(VolumeBuilder volume, std::string name, std::string uid) {
  return volume.With(
      [&](api::PersistentVolume& v) { v.spec.claim_ref = {"default", std::move(name), std::move(uid)}; });
}

// Pending, of class "wait", in the namespace "default".
inline ClaimBuilder MakeClaim(std::string name, const std::string& request = "5Gi") {
  ClaimBuilder out(std::move(name));
  return out.Version("1").With([&](api::PersistentVolumeClaim& claim) {
    claim.metadata.namespace_name = "default";
    claim.metadata.uid = "uid-" + claim.metadata.name;
    claim.storage_class_name = "wait";
    claim.access_modes = {"ReadWriteOnce"};
    claim.requests = testing::Resources({{"storage", request}});
    claim.phase = "Pending";
  });
}

inline ClaimBuilder Bound(ClaimBuilder claim, std::string volume) {
  return claim.Annotate(kBindCompletedAnnotation, "yes").With([&](api::PersistentVolumeClaim& c) {
    c.volume_name = std::move(volume);
    c.phase = "Bound";
  });
}

inline ObjectBuilder<api::StorageClass> MakeClass(std::string name, std::string mode = "WaitForFirstConsumer",
                                                  std::string provisioner = "csi.example.com") {
  ObjectBuilder<api::StorageClass> out(std::move(name));
  return out.With([&](api::StorageClass& storage_class) {
    storage_class.provisioner = std::move(provisioner);
    storage_class.volume_binding_mode = std::move(mode);
  });
}

// Nodes are scored by their storage.
inline framework::Release ScoringStorage() {
  framework::Release release;
  release.scores_storage_capacity = true;
  return release;
}

// The class "wait" has no provisioner, "make" has one, "now" binds immediately.
class VolumeCluster : public TestCluster {
 public:
  explicit VolumeCluster(std::vector<testing::NodeBuilder> nodes = {}, const config::VolumeBindingArgs& args = {})
      : VolumeCluster(std::move(nodes), args, {}) {}
  VolumeCluster(std::vector<testing::NodeBuilder> nodes, const config::VolumeBindingArgs& args,
                const framework::Release& release)
      : TestCluster(std::move(nodes)), plugin_(CreateVolumeBinding(args, Following(release))) {
    handle.table = &table();
    Set(MakeClass("wait", "WaitForFirstConsumer", "kubernetes.io/no-provisioner"));
    Set(MakeClass("make"));
    Set(MakeClass("now", "Immediate"));
  }

  template <typename T>
  void Set(const ObjectBuilder<T>& object) {
    handle.store.Set(object.Build());
  }
  template <typename T>
  void Remove(std::string_view key) {
    handle.store.Of<T>().Remove(key);
  }
  const TestedPlugin& plugin() const { return plugin_; }
  const VolumeBindingState& plugin_state() const { return plugin_.As<VolumeBindingState>(); }

  // PreFilter in a new cycle.
  std::string PreFilter(const framework::PodInfo& pod) {
    Forget();
    return Describe(plugin_.PreFilter(cycle(), pod).status);
  }
  // A cycle until Filter: the first refusal.
  std::string Try(const framework::PodInfo& pod, std::string_view node) {
    if (std::string refused = PreFilter(pod); refused != "ok") return refused;
    return Filter(plugin_, pod, node);
  }
  // A whole cycle: Filter and Reserve.
  std::string Place(const framework::PodInfo& pod, std::string_view node) {
    if (std::string refused = Try(pod, node); refused != "ok") return refused;
    return Describe(plugin_.Reserve(cycle(), pod, node));
  }
  // What the pod would get on the node: "claim=volume claim=new", in the order of decision.
  std::string Decision(const framework::PodInfo& pod, std::string_view node) {
    if (std::string refused = Try(pod, node); refused != "ok") return refused;
    const auto* state = this->state().Read<PodVolumes>("VolumeBinding");
    const NodeDecision decision = DecideNode(plugin_state().sources(), *state, Node(node).node());
    std::string text;
    const auto add = [&](std::size_t claim, const std::string& what) {
      text += (text.empty() ? "" : " ") + state->delayed[claim].claim->metadata.name + "=" + what;
    };
    for (const NodeDecision::Match& match : decision.matches) add(match.claim, match.volume->metadata.name);
    for (const std::size_t claim : decision.provisions) add(claim, "new");
    return text;
  }

  testing::FakeHandle handle;

 private:
  testing::FakeHandle& Following(const framework::Release& release) {
    handle.SetRelease(release);
    return handle;
  }

  TestedPlugin plugin_;
};

}  // namespace berth::plugins::volumes
