// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/warm_cluster.h"

#include <algorithm>
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
    plain_ = {};
    with_others_ = {};
  }
  if (is_live_) {
    const Time now = clock_.WallNow();
    state_.SetReadAt(now);
    for (Kept* const kept : {&plain_, &with_others_}) {
      if (kept->core != nullptr && kept->core->now() > now + kAheadMax) kept->core.reset();
      if (kept->core != nullptr) kept->core->SetTime(now);
    }
  }
  for (const StateChange& change : news.changes) {
    // The core knows pods by their uid.
    std::string replaced_uid;
    if (change.kind == whatif::kPods) {
      const auto before = state_.FindPod(change.namespace_name, change.name);
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
    for (Kept* const kept : {&plain_, &with_others_}) {
      if (kept->core != nullptr) Change(*kept->core, change, replaced_uid);
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

void WarmCluster::Change(whatif::OfflineCluster& core, const StateChange& change, const std::string& replaced_uid) {
  if (!replaced_uid.empty()) core.RemovePod(replaced_uid);
  if (change.object != nullptr) return core.Load(*change.object);
  if (change.kind == whatif::kNodes) {
    core.RemoveNode(change.name);
  } else if (change.kind != whatif::kPods && change.kind < whatif::kAdmissionKinds) {
    core.RemoveObject(static_cast<framework::ObjectKind>(change.kind - 2), change.Key());
  }
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
  BERTH_ASSIGN_OR_RETURN(CoreToMake made, core_for_(state_.state(), added, others));
  made.options.now = state_.state().read_at;
  made.options.is_interrupted = [this] { return is_interrupted_ && is_interrupted_(); };
  kept.notes = std::move(made.notes);
  BERTH_ASSIGN_OR_RETURN(kept.core, whatif::OfflineCluster::Make(std::move(made.options)));
  kept.core->Load(state_.state());
  return kept;
}

Expected<WarmCluster::Kept*> WarmCluster::Find(OtherSchedulers others) {
  const bool has_drifted = plain_.core != nullptr && !is_live_ && plain_.core->now() > state_.state().read_at;
  if (plain_.core == nullptr || has_drifted) {
    BERTH_ASSIGN_OR_RETURN(plain_, Load({}, OtherSchedulers::kHaveNoProfile));
  }
  if (others == OtherSchedulers::kHaveNoProfile || adds_no_others_) return &plain_;
  std::set<std::string> unknown = UnknownSchedulers(*plain_.core);
  if (unknown.empty()) {
    with_others_ = {};
    return &plain_;
  }
  const bool is_ahead = with_others_.core != nullptr && !is_live_ && with_others_.core->now() > state_.state().read_at;
  if (with_others_.core == nullptr || with_others_.others != unknown || is_ahead) {
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
  return kept->core.get();
}

Expected<void> WarmCluster::Try(const Pods& added,
                                const std::function<Expected<void>(whatif::OfflineCluster&)>& trial) {
  // A core that has tried the pods that wait may choose another one of equally good nodes than one that has not.
  if (std::ranges::any_of(state_.state().pods, [](const auto& pod) { return pod->spec.node_name.empty(); })) {
    BERTH_ASSIGN_OR_RETURN(const Kept once, Load(added, OtherSchedulers::kByDefaults));
    notes_ = once.notes;
    return trial(*once.core);
  }
  BERTH_ASSIGN_OR_RETURN(Kept* const kept, Find(OtherSchedulers::kByDefaults));
  const std::vector<std::string> known = kept->core->ProfileNames();
  const bool has_all = std::ranges::all_of(
      added, [&](const auto& pod) { return std::ranges::find(known, pod->spec.scheduler_name) != known.end(); });
  if (!has_all && !adds_no_others_) {
    // The first pods of some scheduler: for this question alone it gets a profile.
    BERTH_ASSIGN_OR_RETURN(const Kept once, Load(added, OtherSchedulers::kByDefaults));
    notes_ = once.notes;
    return trial(*once.core);
  }
  notes_ = kept->notes;
  kept->core->BeginTrial(state_.state());
  const auto tried = trial(*kept->core);
  if (!kept->core->EndTrial()) kept->core.reset();
  return tried;
}

std::vector<std::string> WarmCluster::TakeNotes() { return std::exchange(notes_, {}); }

}  // namespace berth::ask
