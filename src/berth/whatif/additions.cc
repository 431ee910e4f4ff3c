// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/additions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "berth/api/decode.h"
#include "berth/devcluster/controllers/objects.h"
#include "berth/devcluster/controllers/workload_pods.h"
#include "berth/framework/object_kinds.h"
#include "berth/whatif/admission_rules.h"
#include "berth/whatif/daemon_pods.h"
#include "berth/whatif/pod_index.h"
#include "berth/whatif/pod_quotas.h"
#include "berth/whatif/pod_templates.h"
#include "berth/whatif/replacement.h"
#include "berth/whatif/workload_pods.h"
#include "berth/whatif/workload_view.h"

namespace berth::whatif {
namespace {

namespace json = codec::json;
using controllers::IntegerOf;
using controllers::StringOf;
using ClaimPtr = std::shared_ptr<const api::PersistentVolumeClaim>;
using NodePtr = std::shared_ptr<const api::Node>;

constexpr std::string_view kDaemonSet = "DaemonSet";
constexpr std::string_view kHostname = "kubernetes.io/hostname";
constexpr std::string_view kDefaultClass = "storageclass.kubernetes.io/is-default-class";
constexpr const char* kTemplateHash = controllers::kTemplateHashLabel;
// Labels and taints of a node's life so far, which a copy of it has not lived.
constexpr std::string_view kNodeLifePrefix = "node.kubernetes.io/";
constexpr std::size_t kBaseNameMax = 63 - 6;  // room for a dash and five letters

const json::object& Part(const json::object& object, std::string_view key) {
  static const json::object none;
  const json::value* value = object.if_contains(key);
  return value == nullptr || !value->is_object() ? none : value->get_object();
}

bool IsTrue(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::string NameOf(const Workload& workload) {
  return workload.kind + ' ' + workload.namespace_name + '/' + workload.name;
}

// The nodes as they will be: the cluster's, those of manifests, and copies.
class FutureNodes {
 public:
  FutureNodes(const ClusterState& state, const AdditionOptions& options, Additions& out)
      : state_(state), removed_(options.removed_nodes), out_(out) {}

  // Most manifests need none of them.
  std::map<std::string, NodePtr>& all() {
    if (!std::exchange(has_all_, true)) {
      for (const auto& node : state_.nodes) nodes_[node->metadata.name] = node;
      for (const std::string& name : removed_) nodes_.erase(name);
    }
    return nodes_;
  }
  const std::vector<NodePtr>& added() const { return added_; }

  Expected<void> Read(const Manifest& manifest) {
    BERTH_ASSIGN_OR_RETURN(const NodePtr decoded, api::DecodeNode(codec::WriteJson(manifest.object)));
    if (decoded->allocatable.empty())
      return InvalidError("status.allocatable: Required value: what the node has, for example cpu: \"8\"");
    auto node = std::make_shared<api::Node>(*decoded);
    if (node->metadata.labels.Find(kHostname) == nullptr) node->metadata.labels.Set(kHostname, node->metadata.name);
    Add(std::move(node));
    return {};
  }

  Expected<void> Copy(const AdditionOptions& options) {
    if (options.node_copies == 0) return {};
    const auto at = all().find(options.node_like);
    if (at == all().end()) return Error{ErrorCode::kNotFound, "there is no node \"" + options.node_like + "\""};
    const NodePtr model = at->second;
    std::size_t number = 0;
    for (std::size_t i = 0; i < options.node_copies; ++i) {
      std::string name;
      do {
        name = options.node_like + "-new-" + std::to_string(++number);
      } while (all().contains(name));
      auto node = std::make_shared<api::Node>(*model);
      node->metadata.name = name;
      node->metadata.uid = SimulatedUid("node", "", name);
      node->metadata.labels.Set(kHostname, name);
      node->unschedulable = false;
      node->images.clear();
      std::erase_if(node->taints, [](const api::Taint& taint) { return taint.key.starts_with(kNodeLifePrefix); });
      Add(std::move(node));
      CopyCsiNode(options.node_like, name);
    }
    return {};
  }

 private:
  void Add(NodePtr node) {
    if (!all().contains(node->metadata.name)) added_.push_back(node);
    all()[node->metadata.name] = node;
    out_.nodes.push_back(std::move(node));
  }

  void CopyCsiNode(const std::string& model, const std::string& name) {
    for (const framework::AnyObject& object : state_.objects) {
      const auto* csi = std::get_if<std::shared_ptr<const api::CsiNode>>(&object);
      if (csi == nullptr || (*csi)->metadata.name != model) continue;
      auto copy = std::make_shared<api::CsiNode>(**csi);
      copy->metadata.name = name;
      copy->metadata.uid = SimulatedUid("csinode", "", name);
      out_.objects.emplace_back(std::shared_ptr<const api::CsiNode>(std::move(copy)));
    }
  }

  const ClusterState& state_;
  const std::set<std::string>& removed_;
  Additions& out_;
  bool has_all_ = false;
  std::map<std::string, NodePtr> nodes_;
  std::vector<NodePtr> added_;
};

// Names of pods, with their namespace: the cluster's and new ones.
class PodNamesInUse {
 public:
  // `listed`: the cluster's pods, in the order of the list; null: they are added.
  explicit PodNamesInUse(const PodPtrs* listed) : listed_(listed) {}

  // False: there is one of that name already.
  bool Add(const std::string& namespace_name, const std::string& name) {
    return !IsListed(namespace_name, name) && names_.insert(namespace_name + '/' + name).second;
  }
  bool Add(const api::Pod& pod) { return Add(pod.metadata.namespace_name, pod.metadata.name); }
  bool Has(const std::string& namespace_name, const std::string& name) const {
    return names_.contains(namespace_name + '/' + name) || IsListed(namespace_name, name);
  }
  // A new pod's name: the owner's and five letters that no pod has yet.
  std::string Next(const std::string& namespace_name, const std::string& owner, std::uint64_t& number) const {
    const std::string base = owner.substr(0, kBaseNameMax) + '-';
    std::string name;
    do {
      name = base + NameSuffix(namespace_name + '/' + base, number++);
    } while (Has(namespace_name, name));
    return name;
  }

 private:
  bool IsListed(const std::string& namespace_name, const std::string& name) const {
    if (listed_ == nullptr) return false;
    const auto pod = FindListed(*listed_, namespace_name, name);
    return pod != nullptr && !pod->metadata.deletion_time;
  }

  const PodPtrs* const listed_;
  std::set<std::string> names_;
};

// The cluster's pods by workload, without those that are being deleted.
class OwnPods {
 public:
  using Pods = std::vector<const api::Pod*>;

  // `index`, of the cluster's pods, may be null.
  explicit OwnPods(const PodIndex* index) : index_(index) {}

  // Looks for those that matter, by namespace and, where there will be new nodes, those of DaemonSets of all
  // namespaces. Their names are in use.
  void Survey(const PodPtrs& pods, bool has_nodes, const std::set<std::string_view>& namespaces, PodNamesInUse& names) {
    for (std::size_t i = 0; index_ == nullptr && i < pods.size(); ++i) {
      const api::Pod& pod = *pods[i];
      if (pod.metadata.deletion_time) continue;
      if (!has_nodes && !namespaces.contains(pod.metadata.namespace_name)) continue;
      pods_[WorkloadOf(pod)].push_back(&pod);
      names.Add(pod);
    }
    if (!has_nodes || index_ == nullptr) return;
    const auto& all = index_->by_workload();
    for (auto at = all.lower_bound({std::string(kDaemonSet), {}, {}}); at != all.end(); ++at) {
      if (at->first.kind != kDaemonSet) break;
      static_cast<void>(Of(at->first));
    }
  }

  const Pods& Of(const Workload& workload) {
    Pods& own = pods_[workload];
    if (index_ == nullptr || !own.empty()) return own;
    for (const auto& pod : index_->PodsOf(workload)) {
      if (!pod->metadata.deletion_time) own.push_back(pod.get());
    }
    return own;
  }

  // Those that were looked for.
  const std::map<Workload, Pods>& known() const { return pods_; }

 private:
  const PodIndex* const index_;
  std::map<Workload, Pods> pods_;
};

// The pods that the API server would take, with their claims, and what it would say of the others.
class AdmittedPods {
 public:
  // The names and `out` must outlive it.
  AdmittedPods(const ClusterState& state, const AdditionOptions& options, PodNamesInUse& names, Additions& out)
      : pods_max_(options.pods_max), shares_models_(options.shares_models), names_(names), out_(out) {
    if (options.applies_quotas) quotas_.emplace(state);
  }

  std::size_t count() const { return out_.pods.size(); }
  // The next pods are of another template.
  void BeginTemplate() { model_.reset(); }

  // Makes the pod and adds it, if no quota refuses it.
  Expected<void> Make(const WorkloadPods& pods, const std::string& name, std::int64_t number) {
    BERTH_RETURN_IF_ERROR(CheckCount());
    const PodTemplate& of_pods = pods.pod_template();
    const std::string& namespace_name = of_pods.pod().metadata.namespace_name;
    if (quotas_ && of_pods.quota_demand() != nullptr) {
      if (auto why = quotas_->Admit(namespace_name, *of_pods.quota_demand())) {
        Refuse(WorkloadOf(of_pods.pod()), namespace_name + '/' + name, *std::move(why));
        return {};
      }
    }
    if (model_ != nullptr) return Add(model_, name);
    BERTH_ASSIGN_OR_RETURN(api::Pod pod, pods.MakePod(name, number, out_.objects));
    auto made = std::make_shared<const api::Pod>(std::move(pod));
    if (shares_models_ && !pods.AreNumbered() && !pods.HaveClaims()) model_ = made;
    return Add(std::move(made), name);
  }

  Expected<void> Add(api::Pod pod) {
    BERTH_RETURN_IF_ERROR(CheckCount());
    const std::string name = pod.metadata.name;
    return Add(std::make_shared<const api::Pod>(std::move(pod)), name);
  }

 private:
  Expected<void> Add(std::shared_ptr<const api::Pod> model, const std::string& name) {
    const std::string& namespace_name = model->metadata.namespace_name;
    if (!names_.Add(namespace_name, name))
      return Error{ErrorCode::kAlreadyExists, "pod " + namespace_name + '/' + name + " exists already"};
    out_.pods.emplace_back(std::move(model), name);
    return {};
  }

  Expected<void> CheckCount() const {
    if (count() + refused_count_ < pods_max_) return {};
    return Error{ErrorCode::kTooLarge, "more than " + std::to_string(pods_max_) + " pods in all"};
  }

  void Refuse(Workload workload, std::string key, std::string why) {
    ++refused_count_;
    if (why.starts_with("failed quota: ") && !std::exchange(has_told_of_limits_, true))
      out_.notes.push_back(
          "LimitRanges are not read: what one would fill in for a refused pod has to be in its manifest");
    std::vector<RefusedPods>& refused = out_.refused;
    if (refused.empty() || refused.back().workload != workload || refused.back().why != why)
      refused.push_back({std::move(workload), std::move(key), 0, std::move(why)});
    ++refused.back().count;
  }

  const std::size_t pods_max_;
  const bool shares_models_;
  PodNamesInUse& names_;
  Additions& out_;
  std::optional<PodQuotas> quotas_;
  std::shared_ptr<const api::Pod> model_;  // of the template; null: none, or pods do not share it
  std::size_t refused_count_ = 0;
  bool has_told_of_limits_ = false;
};

// What the admission plugin DefaultStorageClass does to the claims that are added.
void SetDefaultClasses(const ClusterState& state, Time now, Additions& out) {
  const auto chosen = DefaultStorageClass(state.objects, out.objects, now);
  if (!chosen) return;
  for (framework::AnyObject& object : out.objects) {
    if (auto* claim = std::get_if<ClaimPtr>(&object)) *claim = WithClass(std::move(*claim), chosen);
  }
}

// Makes all that is added, manifest by manifest.
class AdditionsMaker {
 public:
  AdditionsMaker(const Manifests& manifests, const ClusterState& state, const AdditionOptions& options)
      : manifests_(manifests),
        state_(state),
        options_(options),
        rules_(manifests, state),
        own_pods_(options.index),
        pod_names_(options.index == nullptr ? nullptr : &state.pods),
        pods_(state, options, pod_names_, out_),
        nodes_(state, options, out_) {}

  Expected<Additions> Make() {
    Survey();
    for (const Manifest& manifest : manifests_.documents) {
      if (const auto read = ReadObject(manifest); !read.ok()) return Located(manifest, read.error());
    }
    BERTH_RETURN_IF_ERROR(nodes_.Copy(options_));
    for (const Manifest& manifest : manifests_.documents) {
      if (!WorkloadPods::MakesPods(manifest.kind)) continue;
      if (const auto made = MakePods(manifest); !made.ok()) return Located(manifest, made.error());
    }
    SpreadOwnDaemons();
    SetDefaultClasses(state_, options_.now, out_);
    return std::move(out_);
  }

 private:
  static Error Located(const Manifest& manifest, const Error& error) {
    return {error.code, manifest.where + ": " + error.message};
  }

  void Survey() {
    // Without new nodes, which get pods of DaemonSets, only pods that those of manifests are counted beside matter.
    bool has_nodes = options_.node_copies > 0;
    std::set<std::string_view> namespaces;
    for (const Manifest& manifest : manifests_.documents) {
      has_nodes |= manifest.kind == "Node";
      namespaces.insert(manifest.namespace_name);
    }
    own_pods_.Survey(state_.pods, has_nodes, namespaces, pod_names_);
    for (const framework::AnyObject& object : state_.objects) {
      if (std::holds_alternative<ClaimPtr>(object)) claim_keys_.insert(framework::KeyOf(object));
      if (std::holds_alternative<std::shared_ptr<const api::Namespace>>(object))
        namespaces_.insert(framework::KeyOf(object));
      if (std::holds_alternative<std::shared_ptr<const api::PodGroup>>(object) ||
          std::holds_alternative<std::shared_ptr<const api::CompositePodGroup>>(object))
        own_groups_[{object.index(), framework::KeyOf(object)}] = object;
    }
    for (const Manifest& manifest : manifests_.documents) {
      if (manifest.kind == "Namespace") namespaces_.insert(manifest.name);
    }
  }

  // Reads a document unless it makes pods.
  Expected<void> ReadObject(const Manifest& manifest) {
    if (!manifest.namespace_name.empty() && !namespaces_.empty() && namespaces_.insert(manifest.namespace_name).second)
      out_.notes.push_back("namespace " + manifest.namespace_name + " does not exist yet");
    if (manifest.kind == "Node") {
      if (!options_.has_objects_only) return nodes_.Read(manifest);
      out_.notes.push_back("Node " + manifest.name + " is not added");
      return {};
    }
    const auto kind = framework::ObjectKindNamed(manifest.kind);
    if (!kind) return {};
    json::object document = manifest.object;
    json::object& metadata = document["metadata"].as_object();
    metadata["uid"] = SimulatedUid(manifest.kind, manifest.namespace_name, manifest.name);
    metadata.erase("resourceVersion");
    if (*kind == framework::ObjectKind::kPodGroup) return AddGroup<api::PodGroup>(std::move(document));
    if (*kind == framework::ObjectKind::kCompositePodGroup)
      return AddGroup<api::CompositePodGroup>(std::move(document));
    // As the volume controller finds it soon after it was created.
    if (*kind == framework::ObjectKind::kPersistentVolume)
      document["status"] =
          json::object{{"phase", Part(manifest.object, "spec").contains("claimRef") ? "Bound" : "Available"}};
    BERTH_ASSIGN_OR_RETURN(framework::AnyObject object, DecodeAny(*kind, document));
    if (*kind == framework::ObjectKind::kPersistentVolumeClaim &&
        !claim_keys_.insert(framework::KeyOf(object)).second) {
      out_.notes.push_back("PersistentVolumeClaim " + framework::KeyOf(object) + " exists already: it stays as it is");
      return {};
    }
    out_.objects.push_back(std::move(object));
    return {};
  }

  // The group as a manifest has it; one that the cluster has keeps what it has lived through. Its age decides when it
  // is tried among those of its parent.
  template <typename Group>
  Expected<void> AddGroup(json::object document) {
    BERTH_RETURN_IF_ERROR(PreparePodGroup(document, rules_));
    BERTH_ASSIGN_OR_RETURN(const auto decoded, DecodeAs<Group>(document));
    auto group = std::make_shared<Group>(*decoded);
    group->metadata.creation_time = options_.now;
    const framework::AnyObject key(decoded);
    if (const auto found = own_groups_.find({key.index(), framework::KeyOf(key)}); found != own_groups_.end()) {
      const Group& own = *std::get<std::shared_ptr<const Group>>(found->second);
      group->metadata = own.metadata;
      if constexpr (std::is_same_v<Group, api::PodGroup>) group->conditions = own.conditions;
    }
    out_.objects.emplace_back(std::shared_ptr<const Group>(std::move(group)));
    return {};
  }

  Expected<void> MakePods(const Manifest& manifest) {
    pods_.BeginTemplate();
    const Workload workload{manifest.kind, manifest.namespace_name, NameOfPods(manifest)};
    if (options_.has_objects_only && manifest.kind != "Deployment") return {};
    BERTH_ASSIGN_OR_RETURN(const auto pods, WorkloadPods::Make(manifest, workload.name, rules_, options_.now));
    if (manifest.kind == "Deployment") BERTH_RETURN_IF_ERROR(AddReplicaSet(workload, *pods, manifest.object));
    if (options_.has_objects_only) return {};
    AddUnknown(workload, manifest, pods->pod_template());
    const json::object& spec = Part(manifest.object, "spec");
    if (manifest.kind == "Pod") return pods_.Make(*pods, workload.name, -1);
    if (manifest.kind == "StatefulSet") return MakeStatefulSet(workload, *pods, spec);
    if (manifest.kind == "DaemonSet") return MakeDaemonSet(workload, *pods);
    if (manifest.kind == "Job") return MakeJob(workload, *pods, spec);
    if (manifest.kind == "Deployment" && IsTrue(spec, "paused") && own_pods_.Of(workload).empty()) {
      out_.notes.push_back(NameOf(workload) + " is paused: it has no pods");
      return {};
    }
    return MakeReplicas(workload, *pods, IntegerOf(spec, "replicas", 1));
  }

  std::string NameOfPods(const Manifest& manifest) const {
    const std::string base(StringOf(Part(manifest.object, "metadata"), "generateName"));
    return manifest.name.empty() && !base.empty() ? base + NameSuffix(base, pods_.count()) : manifest.name;
  }

  void AddUnknown(const Workload& workload, const Manifest& manifest, const PodTemplate& of_pods) {
    const json::object& spec = Part(manifest.object, "spec");
    const std::string runtime(
        StringOf(manifest.kind == "Pod" ? spec : Part(Part(spec, "template"), "spec"), "runtimeClassName"));
    if (!runtime.empty() && !rules_.knows_runtime_classes())
      out_.notes.push_back(NameOf(workload) + ": what RuntimeClass " + runtime +
                           " adds to its pods is not simulated, as the cluster's could not be read");
    for (const std::string& name : of_pods.unknown_templates())
      out_.notes.push_back(
          NameOf(workload) + ": ResourceClaimTemplate " + workload.namespace_name + '/' + name +
          (rules_.knows_claim_templates() ? " does not exist" : " is not known, as the cluster's could not be read"));
  }

  // How many of `replicas` pods the workload lacks; adds a note where it has some.
  std::int64_t Lacking(const Workload& workload, std::int64_t replicas) {
    const auto own = static_cast<std::int64_t>(own_pods_.Of(workload).size());
    if (own == 0) return replicas;
    const std::int64_t lacking = std::max<std::int64_t>(replicas - own, 0);
    out_.notes.push_back(NameOf(workload) + " keeps the pods that it has (" + std::to_string(own) +
                         "); added: " + std::to_string(lacking) + " of " + std::to_string(replicas));
    return lacking;
  }

  // Makes the pods of the workload that the cluster lacks.
  Expected<void> MakeReplicas(const Workload& workload, const WorkloadPods& pods, std::int64_t replicas) {
    const std::string& owner = pods.pod_template().pod().metadata.controller->name;
    std::uint64_t number = 0;
    for (std::int64_t lacking = Lacking(workload, replicas); lacking > 0; --lacking) {
      BERTH_RETURN_IF_ERROR(pods_.Make(pods, pod_names_.Next(workload.namespace_name, owner, number), -1));
    }
    return {};
  }

  // Some plugins spread pods by the selector of their ReplicaSet.
  Expected<void> AddReplicaSet(const Workload& workload, const WorkloadPods& pods, const json::object& object) {
    const api::OwnerReference& set = *pods.pod_template().pod().metadata.controller;
    json::object selector = Part(Part(object, "spec"), "selector");
    controllers::ObjectIn(selector, "matchLabels")[kTemplateHash] = pods.template_hash();
    const json::object document{
        {"metadata", json::object{{"name", set.name}, {"namespace", workload.namespace_name}, {"uid", set.uid}}},
        {"spec", json::object{{"selector", std::move(selector)}}}};
    BERTH_ASSIGN_OR_RETURN(framework::AnyObject decoded, DecodeAny(framework::ObjectKind::kReplicaSet, document));
    out_.objects.push_back(std::move(decoded));
    return {};
  }

  Expected<void> MakeStatefulSet(const Workload& workload, const WorkloadPods& pods, const json::object& spec) {
    const std::int64_t replicas = IntegerOf(spec, "replicas", 1);
    const std::int64_t start = IntegerOf(Part(spec, "ordinals"), "start", 0);
    static_cast<void>(Lacking(workload, replicas));
    for (std::int64_t ordinal = start; ordinal < start + replicas; ++ordinal) {
      const std::string name = workload.name + '-' + std::to_string(ordinal);
      if (pod_names_.Has(workload.namespace_name, name)) continue;
      BERTH_ASSIGN_OR_RETURN(const auto claims, pods.StatefulClaims(ordinal));
      for (const auto& claim : claims) {
        // Otherwise the cluster has the claim already.
        if (claim_keys_.insert(workload.namespace_name + '/' + claim->metadata.name).second)
          out_.objects.emplace_back(claim);
      }
      BERTH_RETURN_IF_ERROR(pods_.Make(pods, name, ordinal));
    }
    return {};
  }

  Expected<void> MakeDaemonSet(const Workload& workload, const WorkloadPods& pods) {
    std::set<std::string> has_one;
    for (const api::Pod* pod : own_pods_.Of(workload)) {
      has_one.insert(pod->spec.node_name.empty() ? PinnedNode(*pod).value_or("") : pod->spec.node_name);
    }
    if (!has_one.empty())
      out_.notes.push_back(NameOf(workload) + " keeps the pods that it has (" + std::to_string(has_one.size()) + ')');
    std::uint64_t number = 0;
    for (const auto& [node_name, node] : nodes_.all()) {
      if (has_one.contains(node_name) || !RunsDaemonPod(pods.pod_template().pod(), *node)) continue;
      const std::string name = pod_names_.Next(workload.namespace_name, workload.name, number);
      BERTH_ASSIGN_OR_RETURN(api::Pod pod, pods.MakePod(name, -1, out_.objects));
      PinDaemonPod(node_name, pod);
      BERTH_RETURN_IF_ERROR(pods_.Add(std::move(pod)));
    }
    if (number == 0 && has_one.empty()) out_.notes.push_back(NameOf(workload) + " runs on no node");
    daemons_done_.insert(workload);
    return {};
  }

  // The DaemonSets of the cluster on nodes that are new, each by one of its pods.
  void SpreadOwnDaemons() {
    if (nodes_.added().empty()) return;
    for (const auto& [workload, pods] : own_pods_.known()) {
      if (workload.kind != kDaemonSet || pods.empty() || daemons_done_.contains(workload)) continue;
      api::Pod model = *pods.front();
      model.spec.node_name.clear();
      model.status = {};
      model.metadata.creation_time = options_.now;
      model.metadata.resource_version.clear();
      // What its template required beside the node's name cannot be known from a pod; its nodeSelector can.
      if (model.spec.node_affinity) model.spec.node_affinity->required.reset();
      std::uint64_t number = 0;
      for (const NodePtr& node : nodes_.added()) {
        if (!RunsDaemonPod(model, *node)) continue;
        api::Pod pod = model;
        pod.metadata.name = pod_names_.Next(workload.namespace_name, workload.name, number);
        pod.metadata.uid = SimulatedUid("pod", workload.namespace_name, pod.metadata.name);
        PinDaemonPod(node->metadata.name, pod);
        pod_names_.Add(pod);
        out_.daemon_pods.push_back(std::make_shared<const api::Pod>(std::move(pod)));
      }
    }
  }

  Expected<void> MakeJob(const Workload& workload, const WorkloadPods& pods, const json::object& spec) {
    const std::int64_t parallelism = IntegerOf(spec, "parallelism", 1);
    const std::int64_t completions = IntegerOf(spec, "completions", parallelism);
    if (IsTrue(spec, "suspend")) {
      out_.notes.push_back(NameOf(workload) + " is suspended: it has no pods");
      return {};
    }
    const std::int64_t count = std::min(parallelism, completions);
    if (completions > count)
      out_.notes.push_back(NameOf(workload) + ": the first " + std::to_string(count) + " of its " +
                           std::to_string(completions) + " pods, as many as run at a time");
    return pods.AreNumbered() ? MakeIndexed(workload, pods, count) : MakeReplicas(workload, pods, count);
  }

  // Makes one pod for each of the first indexes that no pod of the cluster has.
  Expected<void> MakeIndexed(const Workload& workload, const WorkloadPods& pods, std::int64_t count) {
    std::set<std::string_view> taken;
    for (const api::Pod* pod : own_pods_.Of(workload)) {
      const std::string* index = pod->metadata.labels.Find(controllers::kCompletionIndexKey);
      if (index != nullptr) taken.insert(*index);
    }
    std::uint64_t number = 0;
    std::int64_t lacking = Lacking(workload, count);
    for (std::int64_t index = 0; lacking > 0; ++index) {
      const std::string text = std::to_string(index);
      if (taken.contains(text)) continue;
      const std::string owner = workload.name.substr(0, kBaseNameMax - text.size() - 1) + '-' + text;
      BERTH_RETURN_IF_ERROR(pods_.Make(pods, pod_names_.Next(workload.namespace_name, owner, number), index));
      --lacking;
    }
    return {};
  }

  const Manifests& manifests_;
  const ClusterState& state_;
  const AdditionOptions& options_;
  const AdmissionRules rules_;
  OwnPods own_pods_;
  std::set<Workload> daemons_done_;
  PodNamesInUse pod_names_;
  std::set<std::string> claim_keys_;  // of PersistentVolumeClaims
  std::set<std::string> namespaces_;
  // PodGroups and CompositePodGroups of the cluster, by kind and name.
  std::map<std::pair<std::size_t, std::string>, framework::AnyObject> own_groups_;
  Additions out_;
  AdmittedPods pods_;
  FutureNodes nodes_;
};

}  // namespace

std::string NewPod::Key() const { return model->metadata.namespace_name + '/' + name; }

std::string NewPod::Uid() const {
  const api::ObjectMeta& of_model = model->metadata;
  return name == of_model.name ? of_model.uid : SimulatedUid("pod", of_model.namespace_name, name);
}

std::shared_ptr<const api::Pod> NewPod::Make() const {
  if (name == model->metadata.name) return model;
  auto pod = std::make_shared<api::Pod>(*model);
  pod->metadata.name = name;
  pod->metadata.uid = Uid();
  return pod;
}

std::vector<std::shared_ptr<const api::Pod>> Additions::Models() const {
  std::vector<std::shared_ptr<const api::Pod>> models;
  for (const NewPod& pod : pods) {
    if (models.empty() || models.back() != pod.model) models.push_back(pod.model);
  }
  return models;
}

Workload WorkloadOf(const api::Pod& pod) {
  const WorkloadView workload = WorkloadViewOf(pod);
  return {std::string(workload.kind), std::string(workload.namespace_name), std::string(workload.name)};
}

std::optional<std::string> DefaultStorageClass(const std::vector<framework::AnyObject>& of_cluster,
                                               const std::vector<framework::AnyObject>& added, Time now) {
  std::shared_ptr<const api::StorageClass> chosen;
  for (const auto* objects : {&of_cluster, &added}) {
    for (const framework::AnyObject& object : *objects) {
      const auto* each = std::get_if<std::shared_ptr<const api::StorageClass>>(&object);
      if (each == nullptr) continue;
      const std::string* mark = (*each)->metadata.annotations.Find(kDefaultClass);
      if (mark == nullptr || *mark != "true") continue;
      if (chosen == nullptr ||
          chosen->metadata.creation_time.value_or(now) < (*each)->metadata.creation_time.value_or(now))
        chosen = *each;
    }
  }
  return chosen == nullptr ? std::nullopt : std::optional(chosen->metadata.name);
}

std::shared_ptr<const api::PersistentVolumeClaim> WithClass(std::shared_ptr<const api::PersistentVolumeClaim> claim,
                                                            const std::optional<std::string>& storage_class) {
  if (!storage_class || claim->storage_class_name || !claim->volume_name.empty()) return claim;
  auto with_class = std::make_shared<api::PersistentVolumeClaim>(*claim);
  with_class->storage_class_name = storage_class;
  return with_class;
}

Expected<Additions> MakeAdditions(const Manifests& manifests, const ClusterState& state,
                                  const AdditionOptions& options) {
  return AdditionsMaker(manifests, state, options).Make();
}

}  // namespace berth::whatif
