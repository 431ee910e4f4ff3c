// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/warm_cluster.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "berth/framework/objects.h"
#include "berth/whatif/state_builder.h"

namespace berth::ask {
WarmCluster::WarmCluster(const ChangeLog& log, CoreFor core_for, const Clock& clock, bool is_live)
    : log_(log), core_for_(std::move(core_for)), clock_(clock), is_live_(is_live) {}

WarmCluster::~WarmCluster() = default;

void WarmCluster::CatchUp() {
  ChangeLog::News news = log_.Since(read_until_);
  if (news.whole) {
    state_ = FollowedState(*std::move(news.whole));
    const whatif::PodPtrs& pods = state_.state().pods;
    index_.reset();
    if (std::ranges::is_sorted(pods, whatif::IsListedBefore)) index_.emplace(pods);
    plain_ = {};
    with_others_ = {};
  }
  if (is_live_) {
    const Time now = clock_.WallNow();
    state_.SetReadAt(now);
    for (Kept* const kept : {&plain_, &with_others_}) {
      if (kept->core != nullptr) kept->core->SetTime(now);
    }
  }
  for (const StateChange& change : news.changes) {
    // The core knows pods by their uid.
    std::string replaced_uid;
    std::shared_ptr<const api::Pod> before;
    if (change.kind == whatif::kPods) {
      before = state_.FindPod(change.namespace_name, change.name);
      const bool is_other =
          before != nullptr && change.object == nullptr && !change.uid.empty() && before->metadata.uid != change.uid;
      const bool stays = before != nullptr && change.object != nullptr && !change.object->pods.empty() &&
                         change.object->pods.front()->metadata.uid == before->metadata.uid;
      if (before != nullptr && !is_other && !stays) replaced_uid = before->metadata.uid;
    }
    const std::size_t nodes_before = state_.state().nodes.size();
    state_.Apply(change);
    // A core gives nodes their rows in the order in which they come, and draws among equals by it: where another node
    // is there, only a new one is as if it had been loaded just now.
    if (state_.state().nodes.size() != nodes_before) {
      plain_.core.reset();
      with_others_.core.reset();
    }
    if (change.kind == whatif::kPods && index_) {
      const auto now = state_.FindPod(change.namespace_name, change.name);
      if (before != nullptr && before != now) index_->Remove(before);
      if (now != nullptr && before != now) index_->Add(now);
    }
    for (Kept* const kept : {&plain_, &with_others_}) {
      if (kept->core != nullptr) Change(*kept, change, replaced_uid);
    }
  }
  state_.SetSource(std::move(news.source));
  state_.SetLeftOut(std::move(news.left_out));
  // The release that decides is that of the cluster.
  if (state_.state().kubernetes_version != news.kubernetes_version) {
    plain_ = {};
    with_others_ = {};
    state_.SetVersion(std::move(news.kubernetes_version));
  }
  read_until_ = news.until;
}

void WarmCluster::Prepare() {
  CatchUp();
  (void)Find(OtherSchedulers::kByDefaults);  // who asks is told what is wrong
}

void WarmCluster::Change(Kept& kept, const StateChange& change, const std::string& replaced_uid) {
  whatif::OfflineCluster& core = *kept.core;
  const auto note_node_of = [&](const std::string& uid) {
    const auto pod = core.FindPod(uid);
    if (pod != nullptr && !pod->spec.node_name.empty()) kept.changed_nodes.insert(pod->spec.node_name);
  };
  if (!replaced_uid.empty()) {
    note_node_of(replaced_uid);
    core.RemovePod(replaced_uid);
  }
  if (change.object != nullptr) {
    core.Load(*change.object);
    for (const auto& pod : change.object->pods) note_node_of(pod->metadata.uid);
  } else if (change.kind == whatif::kNodes) {
    core.RemoveNode(change.name);
  } else if (change.kind != whatif::kPods && change.kind < whatif::kAdmissionKinds) {
    core.RemoveObject(static_cast<framework::ObjectKind>(change.kind - 2), change.Key());
  }
}

void WarmCluster::Order(Kept& kept) const {
  for (const std::string& node : std::exchange(kept.changed_nodes, {})) {
    const framework::NodeTable& nodes = kept.core->nodes();
    const framework::NodeIndex row = nodes.Find(node);
    if (row == framework::kNoNode) continue;
    whatif::PodPtrs pods;
    for (const framework::PodInfoPtr& pod : nodes.Info(row).pods()) {
      if (auto found = kept.core->FindPod(pod->uid)) pods.push_back(std::move(found));
    }
    std::ranges::sort(pods, whatif::IsListedBefore);
    std::vector<std::string> uids;
    for (const auto& pod : pods) uids.push_back(pod->metadata.uid);
    kept.core->OrderPods(node, uids);
  }
}

whatif::PodPtrs WarmCluster::WaitingPods() const {
  whatif::PodPtrs waiting;
  std::ranges::copy_if(index_ ? index_->unsettled() : state_.state().pods, std::back_inserter(waiting),
                       [](const auto& pod) { return pod->spec.node_name.empty(); });
  return waiting;
}

std::set<std::string> WarmCluster::UnknownSchedulers(const whatif::OfflineCluster& core) const {
  const std::vector<std::string> known = core.ProfileNames();
  std::set<std::string> unknown;
  for (const auto& [name, count] : state_.scheduler_names()) {
    if (std::ranges::find(known, name) == known.end()) unknown.insert(name);
  }
  return unknown;
}

Expected<WarmCluster::Kept> WarmCluster::Load(const Pods& added, OtherSchedulers others) {
  ++loads_;
  Kept kept;
  BERTH_ASSIGN_OR_RETURN(CoreToMake made, core_for_(state_.state(), added, others, {}));
  made.options.now = state_.state().read_at;
  made.options.is_interrupted = [this] { return is_interrupted_ && is_interrupted_(); };
  kept.notes = std::move(made.notes);
  BERTH_ASSIGN_OR_RETURN(kept.core, whatif::OfflineCluster::Make(std::move(made.options)));
  kept.core->Load(state_.state());
  return kept;
}

Expected<WarmCluster::Kept*> WarmCluster::Find(OtherSchedulers others) {
  if (plain_.core == nullptr) {
    BERTH_ASSIGN_OR_RETURN(plain_, Load({}, OtherSchedulers::kHaveNoProfile));
  }
  if (others == OtherSchedulers::kHaveNoProfile || adds_no_others_) return &plain_;
  std::set<std::string> unknown = UnknownSchedulers(*plain_.core);
  if (unknown.empty()) {
    with_others_ = {};
    return &plain_;
  }
  if (with_others_.core == nullptr || with_others_.others != unknown) {
    BERTH_ASSIGN_OR_RETURN(with_others_, Load({}, OtherSchedulers::kByDefaults));
    with_others_.others = std::move(unknown);
    adds_no_others_ = with_others_.core->ProfileNames() == plain_.core->ProfileNames();
    if (adds_no_others_) {
      with_others_ = {};
      return &plain_;
    }
  }
  return &with_others_;
}

Expected<whatif::OfflineCluster*> WarmCluster::Core(OtherSchedulers others) {
  BERTH_ASSIGN_OR_RETURN(Kept* const kept, Find(others));
  notes_ = kept->notes;
  Order(*kept);
  if (kept->core->HasTried()) kept->core->Renew(WaitingPods());
  return kept->core.get();
}

Expected<void> WarmCluster::Try(const Pods& added,
                                const std::function<Expected<void>(whatif::OfflineCluster&)>& trial) {
  BERTH_ASSIGN_OR_RETURN(Kept* const kept, Find(OtherSchedulers::kByDefaults));
  const std::vector<std::string> known = kept->core->ProfileNames();
  const bool has_all = std::ranges::all_of(
      added, [&](const auto& pod) { return std::ranges::find(known, pod->spec.scheduler_name) != known.end(); });
  if (!has_all && !adds_no_others_) {
    // The first pods of some scheduler: for this question alone it gets a profile.
    return UseOnce(added, trial);
  }
  notes_ = kept->notes;
  Order(*kept);
  kept->core->BeginTrial(WaitingPods());
  const auto tried = trial(*kept->core);
  if (!kept->core->EndTrial()) kept->core.reset();
  return tried;
}

Expected<void> WarmCluster::UseUp(const std::function<Expected<void>(whatif::OfflineCluster&)>& use) {
  return UseOnce({}, use);
}

Expected<void> WarmCluster::UseOnce(const Pods& added,
                                    const std::function<Expected<void>(whatif::OfflineCluster&)>& use) {
  BERTH_ASSIGN_OR_RETURN(const Kept once, Load(added, OtherSchedulers::kByDefaults));
  notes_ = once.notes;
  return use(*once.core);
}

std::vector<std::string> WarmCluster::TakeNotes() { return std::exchange(notes_, {}); }

}  // namespace berth::ask
