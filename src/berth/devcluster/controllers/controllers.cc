// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/controllers.h"

#include <functional>
#include <utility>
#include <vector>

#include "berth/api/decode_node.h"
#include "berth/devcluster/controllers/context.h"
#include "berth/devcluster/controllers/cron_job_controller.h"
#include "berth/devcluster/controllers/daemon_set_decision.h"
#include "berth/devcluster/controllers/deployment_controller.h"
#include "berth/devcluster/controllers/disruption_controller.h"
#include "berth/devcluster/controllers/garbage_collector.h"
#include "berth/devcluster/controllers/job_decision.h"
#include "berth/devcluster/controllers/replica_set_controller.h"
#include "berth/devcluster/controllers/service_account_controller.h"
#include "berth/devcluster/controllers/stateful_set_decision.h"
#include "berth/devcluster/controllers/stranded_pods.h"
#include "berth/devcluster/controllers/volume_provisioner.h"
#include "berth/devcluster/controllers/workload_controller.h"
#include "berth/shell/client/informer.h"

namespace berth::controllers {

class Controllers::Impl {
 public:
  Impl(client::RestClient& rest, client::RestClient& events_rest, const ControllersOptions& options)
      : context_(std::make_shared<Context>(rest, events_rest, options)),
        deployments_(*context_),
        replica_sets_(*context_),
        jobs_(*context_, kJobs, context_->jobs,
              [](const WorkloadView& job, const Pods& pods, const Nodes&, Time now) {
                return DecideJob(job, pods, now);
              }),
        daemon_sets_(*context_, kDaemonSets, context_->daemon_sets, DecideDaemonSet),
        stateful_sets_(*context_, kStatefulSets, context_->stateful_sets,
                       [](const WorkloadView& set, const Pods& pods, const Nodes&, Time now) {
                         return DecideStatefulSet(set, pods, now);
                       }),
        cron_jobs_(*context_),
        disruptions_(*context_),
        garbage_(*context_),
        stranded_(*context_),
        accounts_(*context_),
        volumes_(*context_) {
    MakeDeploymentInformer();
    MakeReplicaSetInformer();
    MakePodInformer();
    MakeNodeInformer();
    ForEachWorkloadController([this](WorkloadController& each) { MakeWorkloadInformer(each); });
    MakeCronJobInformer();
    MakeBudgetInformer();
  }

  void Start() {
    volumes_.Start();
    if (context_->options.provisions_only) return;
    deployment_informer_->Start();
    set_informer_->Start();
    pod_informer_->Start();
    node_informer_->Start();
    cron_job_informer_->Start();
    budget_informer_->Start();
    for (const auto& each : workload_informers_) each->Start();
    if (CollectsGarbage()) garbage_.Start();
    accounts_.Start();
  }

  void Stop() {
    if (context_->is_stopped.exchange(true)) return;
    deployment_informer_->Stop();
    set_informer_->Stop();
    pod_informer_->Stop();
    node_informer_->Stop();
    cron_job_informer_->Stop();
    budget_informer_->Stop();
    for (const auto& each : workload_informers_) each->Stop();
    garbage_.Stop();
    accounts_.Stop();
    volumes_.Stop();
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
      disruptions_.OnScale(*deployment);
    };
    handler.on_update = [this](const auto&, const auto& deployment) {
      context_->deployments.Put(deployment);
      deployments_.OnDeployment(*deployment);
      disruptions_.OnScale(*deployment);
    };
    handler.on_delete = [this](const auto& deployment) {
      context_->deployments.Erase(deployment->Key());
      deployments_.OnDeploymentGone(*deployment);
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
      disruptions_.OnScale(*set);
    };
    handler.on_add = changed;
    handler.on_update = [changed](const auto&, const auto& set) { changed(set); };
    handler.on_delete = [this](const auto& set) {
      context_->replica_sets.Erase(set->Key());
      replica_sets_.OnReplicaSetGone(*set);
      deployments_.OnReplicaSetGone(*set);
    };
    handler.on_synced = [this] { OnListed(); };
    set_informer_ =
        std::make_unique<client::Informer<WorkloadView>>(context_->rest, std::move(options), std::move(handler));
  }

  void MakeWorkloadInformer(WorkloadController& controller) {
    const OwnerKind& kind = controller.kind();
    auto options = InformerOptions<WorkloadView>(kind.plural.data(), "", 45 + workload_informers_.size());
    options.path = std::string(kind.prefix) + '/' + std::string(kind.plural);
    options.decode = DecodeWorkloadView;
    client::Informer<WorkloadView>::Handler handler;
    const bool is_job = &controller == &jobs_;
    const bool has_scale = &controller == &stateful_sets_;
    const auto changed = [this, &controller, is_job, has_scale](const std::shared_ptr<const WorkloadView>& owner) {
      controller.OnOwner(owner);
      if (has_scale) disruptions_.OnScale(*owner);
      if (is_job) cron_jobs_.OnJob(*owner);
    };
    handler.on_add = changed;
    handler.on_update = [changed](const auto&, const auto& owner) { changed(owner); };
    handler.on_delete = [this, &controller, is_job](const auto& owner) {
      controller.OnOwnerGone(*owner);
      if (is_job) cron_jobs_.OnJob(*owner);
    };
    handler.on_synced = [this] { OnListed(); };
    workload_informers_.push_back(
        std::make_unique<client::Informer<WorkloadView>>(context_->rest, std::move(options), std::move(handler)));
  }

  void MakeCronJobInformer() {
    auto options = InformerOptions<WorkloadView>("cronjobs", "/apis/batch/v1/cronjobs", 51);
    options.decode = DecodeWorkloadView;
    client::Informer<WorkloadView>::Handler handler;
    handler.on_add = [this](const auto& cron_job) { cron_jobs_.OnCronJob(cron_job); };
    handler.on_update = [this](const auto&, const auto& cron_job) { cron_jobs_.OnCronJob(cron_job); };
    handler.on_delete = [this](const auto& cron_job) { cron_jobs_.OnCronJobGone(*cron_job); };
    handler.on_synced = [this] { OnListed(); };
    cron_job_informer_ =
        std::make_unique<client::Informer<WorkloadView>>(context_->rest, std::move(options), std::move(handler));
  }

  void MakeBudgetInformer() {
    auto options = InformerOptions<WorkloadView>("poddisruptionbudgets", "/apis/policy/v1/poddisruptionbudgets", 52);
    options.decode = DecodeWorkloadView;
    client::Informer<WorkloadView>::Handler handler;
    handler.on_add = [this](const auto& budget) { disruptions_.OnBudget(budget); };
    handler.on_update = [this](const auto&, const auto& budget) { disruptions_.OnBudget(budget); };
    handler.on_delete = [this](const auto& budget) { disruptions_.OnBudgetGone(*budget); };
    handler.on_synced = [this] { OnListed(); };
    budget_informer_ =
        std::make_unique<client::Informer<WorkloadView>>(context_->rest, std::move(options), std::move(handler));
  }

  void ForEachWorkloadController(const std::function<void(WorkloadController&)>& visit) {
    for (WorkloadController* each : {&jobs_, &daemon_sets_, &stateful_sets_}) visit(*each);
  }

  void MakePodInformer() {
    auto options = InformerOptions<PodView>("pods", "/api/v1/pods", 43);
    options.decode = DecodePodView;
    client::Informer<PodView>::Handler handler;
    handler.on_add = [this](const auto& pod) {
      context_->pods.Put(pod);
      replica_sets_.OnPod(nullptr, *pod);
      disruptions_.OnPod(*pod);
      ForEachWorkloadController([&pod](WorkloadController& each) { each.OnPod(*pod); });
      CollectGarbageOf(pod);
    };
    handler.on_update = [this](const auto& before, const auto& pod) {
      context_->pods.Put(pod);
      replica_sets_.OnPod(before.get(), *pod);
      if (before->labels != pod->labels) disruptions_.OnPod(*before);
      disruptions_.OnPod(*pod);
      ForEachWorkloadController([&pod](WorkloadController& each) { each.OnPod(*pod); });
      if (pod->IsFinished() && !before->IsFinished()) deployments_.OnPodEnded(*pod);
      CollectGarbageOf(pod);
    };
    handler.on_delete = [this](const auto& pod) {
      context_->pods.Erase(pod->Key());
      replica_sets_.OnPodGone(*pod);
      disruptions_.OnPod(*pod);
      ForEachWorkloadController([&pod](WorkloadController& each) { each.OnPod(*pod); });
      deployments_.OnPodEnded(*pod);
      if (CollectsGarbage()) garbage_.OnPodGone(pod->uid);
    };
    handler.on_synced = [this] {
      if (CollectsGarbage()) garbage_.OnPodsListed();
      OnListed();
    };
    pod_informer_ = std::make_unique<client::Informer<PodView>>(context_->rest, std::move(options), std::move(handler));
  }

  // A DaemonSet has a pod on each node, whether garbage is collected or not.
  void MakeNodeInformer() {
    auto options = InformerOptions<api::Node>("nodes", "/api/v1/nodes", 44);
    options.decode = [](const simdjson::dom::element& node) { return api::DecodeNode(node); };
    client::Informer<api::Node>::Handler handler;
    handler.on_add = [this](const auto& node) {
      context_->nodes[node->metadata.name] = node;
      daemon_sets_.LookAtAll();
    };
    handler.on_update = [this](const auto& before, const auto& node) {
      context_->nodes[node->metadata.name] = node;
      if (before->metadata.labels != node->metadata.labels || before->taints != node->taints) daemon_sets_.LookAtAll();
    };
    handler.on_delete = [this](const auto& node) {
      context_->nodes.erase(node->metadata.name);
      daemon_sets_.LookAtAll();
      if (CollectsGarbage()) stranded_.OnNodeGone(node->metadata.name);
    };
    handler.on_synced = [this] { OnListed(); };
    node_informer_ =
        std::make_unique<client::Informer<api::Node>>(context_->rest, std::move(options), std::move(handler));
  }

  bool CollectsGarbage() const { return context_->options.collects_garbage; }

  void CollectGarbageOf(const std::shared_ptr<const PodView>& pod) {
    if (!CollectsGarbage()) return;
    garbage_.OnPod(pod);
    stranded_.OnPod(*pod);
  }

  // All lists are needed before anything is decided.
  void OnListed() {
    constexpr int kLists = 9;
    if (++lists_ < kLists) return;
    replica_sets_.OnSynced();
    deployments_.OnSynced();
    ForEachWorkloadController([](WorkloadController& each) { each.OnSynced(); });
    cron_jobs_.OnSynced();
    disruptions_.OnSynced();
    if (CollectsGarbage()) stranded_.OnSynced();
  }

  std::shared_ptr<Context> context_;
  DeploymentController deployments_;
  ReplicaSetController replica_sets_;
  WorkloadController jobs_;
  WorkloadController daemon_sets_;
  WorkloadController stateful_sets_;
  CronJobController cron_jobs_;
  DisruptionController disruptions_;
  GarbageCollector garbage_;
  StrandedPods stranded_;
  ServiceAccountController accounts_;
  VolumeProvisioner volumes_;
  int lists_ = 0;
  std::unique_ptr<client::Informer<WorkloadView>> deployment_informer_;
  std::unique_ptr<client::Informer<WorkloadView>> set_informer_;
  std::unique_ptr<client::Informer<PodView>> pod_informer_;
  std::unique_ptr<client::Informer<api::Node>> node_informer_;
  std::vector<std::unique_ptr<client::Informer<WorkloadView>>> workload_informers_;
  std::unique_ptr<client::Informer<WorkloadView>> cron_job_informer_;
  std::unique_ptr<client::Informer<WorkloadView>> budget_informer_;
};

Controllers::Controllers(client::RestClient& rest, client::RestClient& events_rest, ControllersOptions options)
    : impl_(std::make_unique<Impl>(rest, events_rest, options)) {}

Controllers::~Controllers() { Stop(); }

void Controllers::Start() { impl_->Start(); }
void Controllers::Stop() { impl_->Stop(); }
ControllersStats Controllers::Stats() const { return impl_->Stats(); }

}  // namespace berth::controllers
