// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/controllers.h"

#include <utility>

#include "berth/devcluster/controllers/context.h"
#include "berth/devcluster/controllers/deployment_controller.h"
#include "berth/devcluster/controllers/garbage_collector.h"
#include "berth/devcluster/controllers/replica_set_controller.h"
#include "berth/shell/client/informer.h"

namespace berth::controllers {

class Controllers::Impl {
 public:
  Impl(client::RestClient& rest, client::RestClient& events_rest, const ControllersOptions& options)
      : context_(std::make_shared<Context>(rest, events_rest, options)),
        deployments_(*context_),
        replica_sets_(*context_),
        garbage_(*context_) {
    MakeDeploymentInformer();
    MakeReplicaSetInformer();
    MakePodInformer();
    MakeNodeInformer();
  }

  void Start() {
    deployment_informer_->Start();
    set_informer_->Start();
    pod_informer_->Start();
    if (node_informer_) node_informer_->Start();
  }

  void Stop() {
    if (context_->is_stopped.exchange(true)) return;
    deployment_informer_->Stop();
    set_informer_->Stop();
    pod_informer_->Stop();
    if (node_informer_) node_informer_->Stop();
  }

  ControllersStats Stats() const {
    return {context_->pods_created, context_->pods_deleted, context_->objects_collected, context_->failures};
  }

 private:
  template <typename View>
  typename client::Informer<View>::Options InformerOptions(const char* name, const char* path,
                                                           std::uint64_t seed) const {
    typename client::Informer<View>::Options options;
    options.name = name;
    options.path = path;
    options.seed = context_->options.seed + seed;
    return options;
  }

  void MakeDeploymentInformer() {
    auto options = InformerOptions<WorkloadView>("deployments", "/apis/apps/v1/deployments", 41);
    options.decode = DecodeWorkloadView;
    client::Informer<WorkloadView>::Handler handler;
    handler.on_add = [this](const auto& deployment) {
      context_->deployments.Put(deployment);
      deployments_.OnDeployment(*deployment);
    };
    handler.on_update = [this](const auto&, const auto& deployment) {
      context_->deployments.Put(deployment);
      deployments_.OnDeployment(*deployment);
    };
    handler.on_delete = [this](const auto& deployment) {
      context_->deployments.Erase(deployment->Key());
      deployments_.OnDeploymentGone(*deployment);
      if (CollectsGarbage()) garbage_.OnDeploymentGone(*deployment);
    };
    handler.on_synced = [this] { OnListed(); };
    deployment_informer_ =
        std::make_unique<client::Informer<WorkloadView>>(context_->rest, std::move(options), std::move(handler));
  }

  void MakeReplicaSetInformer() {
    auto options = InformerOptions<WorkloadView>("replicasets", "/apis/apps/v1/replicasets", 42);
    options.decode = DecodeWorkloadView;
    client::Informer<WorkloadView>::Handler handler;
    const auto changed = [this](const std::shared_ptr<const WorkloadView>& set) {
      context_->replica_sets.Put(set);
      replica_sets_.OnReplicaSet(*set);
      deployments_.OnReplicaSet(*set);
      if (CollectsGarbage()) garbage_.OnReplicaSet(*set);
    };
    handler.on_add = changed;
    handler.on_update = [changed](const auto&, const auto& set) { changed(set); };
    handler.on_delete = [this](const auto& set) {
      context_->replica_sets.Erase(set->Key());
      replica_sets_.OnReplicaSetGone(*set);
      deployments_.OnReplicaSetGone(*set);
      if (CollectsGarbage()) garbage_.OnReplicaSetGone(*set);
    };
    handler.on_synced = [this] { OnListed(); };
    set_informer_ =
        std::make_unique<client::Informer<WorkloadView>>(context_->rest, std::move(options), std::move(handler));
  }

  void MakePodInformer() {
    auto options = InformerOptions<PodView>("pods", "/api/v1/pods", 43);
    options.decode = DecodePodView;
    client::Informer<PodView>::Handler handler;
    handler.on_add = [this](const auto& pod) {
      context_->pods.Put(pod);
      replica_sets_.OnPod(nullptr, *pod);
      if (CollectsGarbage()) garbage_.OnPod(*pod);
    };
    handler.on_update = [this](const auto& before, const auto& pod) {
      context_->pods.Put(pod);
      replica_sets_.OnPod(before.get(), *pod);
      if (pod->IsFinished() && !before->IsFinished()) deployments_.OnPodEnded(*pod);
      if (CollectsGarbage()) garbage_.OnPod(*pod);
    };
    handler.on_delete = [this](const auto& pod) {
      context_->pods.Erase(pod->Key());
      replica_sets_.OnPodGone(*pod);
      deployments_.OnPodEnded(*pod);
    };
    handler.on_synced = [this] { OnListed(); };
    pod_informer_ = std::make_unique<client::Informer<PodView>>(context_->rest, std::move(options), std::move(handler));
  }

  void MakeNodeInformer() {
    if (!CollectsGarbage()) return;
    auto options = InformerOptions<ObjectView>("nodes", "/api/v1/nodes", 44);
    options.decode = DecodeObjectView;
    client::Informer<ObjectView>::Handler handler;
    handler.on_add = [this](const auto& node) { context_->nodes.insert(node->name); };
    handler.on_delete = [this](const auto& node) {
      context_->nodes.erase(node->name);
      garbage_.OnNodeGone(node->name);
    };
    handler.on_synced = [this] { OnListed(); };
    node_informer_ =
        std::make_unique<client::Informer<ObjectView>>(context_->rest, std::move(options), std::move(handler));
  }

  bool CollectsGarbage() const { return context_->options.collects_garbage; }

  // All lists are needed before anything is decided.
  void OnListed() {
    const int lists = CollectsGarbage() ? 4 : 3;
    if (++lists_ < lists) return;
    replica_sets_.OnSynced();
    deployments_.OnSynced();
    if (CollectsGarbage()) garbage_.OnSynced();
  }

  std::shared_ptr<Context> context_;
  DeploymentController deployments_;
  ReplicaSetController replica_sets_;
  GarbageCollector garbage_;
  int lists_ = 0;
  std::unique_ptr<client::Informer<WorkloadView>> deployment_informer_;
  std::unique_ptr<client::Informer<WorkloadView>> set_informer_;
  std::unique_ptr<client::Informer<PodView>> pod_informer_;
  std::unique_ptr<client::Informer<ObjectView>> node_informer_;  // null when no garbage is collected
};

Controllers::Controllers(client::RestClient& rest, client::RestClient& events_rest, ControllersOptions options)
    : impl_(std::make_unique<Impl>(rest, events_rest, options)) {}

Controllers::~Controllers() { Stop(); }

void Controllers::Start() { impl_->Start(); }
void Controllers::Stop() { impl_->Stop(); }
ControllersStats Controllers::Stats() const { return impl_->Stats(); }

}  // namespace berth::controllers
