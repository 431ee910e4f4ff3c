// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/wake_ups/play.h"

#include <chrono>
#include <memory>
#include <utility>

#include "berth/api/decode.h"
#include "berth/api/decode_node.h"
#include "berth/api/decode_pod.h"
#include "berth/base/check.h"
#include "berth/core/config/feature_gates.h"
#include "berth/core/config/load.h"
#include "berth/framework/object_kinds.h"
#include "berth/plugins/registry.h"
#include "berth/whatif/offline_cluster.h"

namespace berth::wake_ups {
namespace {

constexpr Time kEpoch = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1};
constexpr int kChangesMax = 12;
// Longer than any back-off, shorter than what the flush waits for.
constexpr Duration kRun = std::chrono::minutes(1);

class Cluster {
 public:
  Cluster(Family family, int release_minor) : family_(family) {
    whatif::OfflineOptions options;
    auto configuration = config::LoadConfiguration(ConfigurationOf(family), config::FeatureGates(release_minor));
    BERTH_CHECK(configuration.ok(), configuration.error().message);
    options.configuration = std::move(*configuration);
    options.plugins = plugins::InTreePlugins();
    options.now = kEpoch;
    auto made = whatif::OfflineCluster::Make(std::move(options));
    BERTH_CHECK(made.ok(), made.error().message);
    cluster_ = std::move(*made);
  }

  void Set(const Item& item) {
    const std::string text = ManifestOf(item, family_);
    if (item.kind == Kind::kNode) {
      auto node = api::DecodeNode(text);
      BERTH_CHECK(node.ok(), text, node.error().message);
      return cluster_->SetNode(std::move(*node));
    }
    if (item.kind == Kind::kPod || item.kind == Kind::kWaitingPod) {
      auto pod = api::DecodePod(text);
      BERTH_CHECK(pod.ok(), text, pod.error().message);
      return cluster_->SetPod(api::Pod(**pod));
    }
    const auto element = api::ParseObject(NameOf(item.kind), text);
    BERTH_CHECK(element.ok(), text, element.error().message);
    auto object = framework::DecodeObject(ObjectKindOf(item), *element);
    BERTH_CHECK(object.ok(), text, object.error().message);
    cluster_->SetObject(std::move(*object));
  }

  void Remove(const Item& item) {
    const std::string text = ManifestOf(item, family_);
    if (item.kind == Kind::kNode) {
      cluster_->RemoveNode((*api::DecodeNode(text))->metadata.name);
    } else if (item.kind == Kind::kPod) {
      cluster_->RemovePod((*api::DecodePod(text))->metadata.uid);
    } else {
      const auto element = api::ParseObject(NameOf(item.kind), text);
      const auto object = framework::DecodeObject(ObjectKindOf(item), *element);
      cluster_->RemoveObject(ObjectKindOf(item), framework::KeyOf(*object));
    }
  }

  void TakeResourceClaims(const Cluster& other) {
    for (const auto& [key, claim] : other.cluster_->objects().Of<api::ResourceClaim>()) cluster_->SetObject(claim);
  }

  // How often the pod has been tried since the cluster was made.
  std::uint64_t Run() {
    cluster_->Run(kRun);
    return tries();
  }
  std::uint64_t tries() const { return cluster_->core().counts().cycles; }
  std::string NodeOf(const Item& pod) const { return cluster_->NodeOf(PodOf(pod)); }
  std::string WhyNot(const Item& pod) const { return cluster_->WhyNot(PodOf(pod)); }

 private:
  api::Pod PodOf(const Item& item) const { return **api::DecodePod(ManifestOf(item, family_)); }

  static framework::ObjectKind ObjectKindOf(const Item& item) {
    const auto kind = framework::ObjectKindNamed(NameOf(item.kind));
    BERTH_CHECK(kind.has_value(), NameOf(item.kind));
    return *kind;
  }

  const Family family_;
  std::unique_ptr<whatif::OfflineCluster> cluster_;
};

// ResourceClaims are as the first scheduler has left them: it may have given allocations up.
std::string NodeByAFreshScheduler(const Case& test, const Cluster& before) {
  Cluster cluster(test.family, test.release_minor);
  for (const Item& item : test.items) {
    if (item.kind != Kind::kResourceClaim) cluster.Set(item);
  }
  cluster.TakeResourceClaims(before);
  cluster.Set(test.waiting);
  cluster.Run();
  return cluster.NodeOf(test.waiting);
}

}  // namespace

Played Play(std::uint64_t seed, int release_minor) {
  Random random(seed);
  Case test = MakeCase(random, release_minor);
  Played played;
  Cluster cluster(test.family, test.release_minor);
  for (const Item& item : test.items) cluster.Set(item);
  cluster.Set(test.waiting);
  std::uint64_t tries = cluster.Run();
  for (int change_number = 0; change_number < kChangesMax; ++change_number) {
    if (!cluster.NodeOf(test.waiting).empty()) break;
    const Change change = MakeChange(test, random);
    const std::string refusal = cluster.WhyNot(test.waiting);
    change.after ? cluster.Set(*change.after) : cluster.Remove(*change.before);
    test.Apply(change);
    const std::uint64_t before = std::exchange(tries, cluster.Run());
    const bool was_tried = tries != before;
    if (!cluster.NodeOf(test.waiting).empty()) {
      ++played.placed;
      break;
    }
    const std::string node = NodeByAFreshScheduler(test, cluster);
    if (!node.empty()) {
      played.missed = "it fits on " + node + (was_tried ? ", was tried" : "") + " and waits\nrefused: " + refusal +
                      "\nnow: " + cluster.WhyNot(test.waiting) + "\n" + test.Describe() + test.Describe(change);
      break;
    }
    ++(was_tried ? played.tried_in_vain : played.left_alone);
  }
  return played;
}

}  // namespace berth::wake_ups
