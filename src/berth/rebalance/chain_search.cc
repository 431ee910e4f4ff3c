// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/chain_search.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "berth/base/check.h"
#include "berth/rebalance/node_fit.h"

namespace berth::rebalance {
namespace {

using framework::Resource;

// What asking the policy about a node costs, in comparisons of sizes.
constexpr std::size_t kLooksOfTarget = 20;
// HasPlace() skips the pod's own node and those that are being cleared.
constexpr std::size_t kPlacesMax = ChainSearch::kMovesMax + 1;

bool IsNone(const Resource& lack) { return lack == Resource{}; }

// Whether pods that request `given` together leave enough room when they go.
bool Covers(const Resource& lack, const Resource& given, std::size_t pods) {
  return given.cpu_milli >= lack.cpu_milli && given.memory_bytes >= lack.memory_bytes &&
         given.ephemeral_storage_bytes >= lack.ephemeral_storage_bytes &&
         static_cast<std::int64_t>(pods) >= lack.pods &&
         std::ranges::all_of(lack.scalars, [&](const auto& each) { return given.Scalar(each.first) >= each.second; });
}

// Raises each resource of `most` to that of `by` where that is larger.
void Raise(Resource& most, const Resource& by) {
  most.cpu_milli = std::max(most.cpu_milli, by.cpu_milli);
  most.memory_bytes = std::max(most.memory_bytes, by.memory_bytes);
  most.ephemeral_storage_bytes = std::max(most.ephemeral_storage_bytes, by.ephemeral_storage_bytes);
  for (const auto& [name, amount] : by.scalars) {
    const std::int64_t before = most.Scalar(name);
    if (amount <= before) continue;
    Resource more;
    more.scalars.emplace_back(name, amount - before);
    most.Add(more);
  }
}

// Whether the strategy looks at the pod at all: a pod that it leaves alone makes no room for others.
bool LooksAt(const StrategyArgs& strategy, const PodView& pod) {
  const auto looks_at = [&pod]([[maybe_unused]] const auto& args) {
    if constexpr (requires { args.pods; }) {
      return args.pods.Takes(*pod.pod);
    } else if constexpr (requires { args.excluded_namespaces; }) {
      return std::ranges::find(args.excluded_namespaces, pod.pod->metadata.namespace_name) ==
             args.excluded_namespaces.end();
    } else {
      return true;
    }
  };
  return std::visit(looks_at, strategy);
}

}  // namespace

void ChainSearch::ForgetOldRevision() {
  if (revision_ == draft_.revision()) return;
  revision_ = draft_.revision();
  places_.clear();
  hopeless_.clear();
  stuck_.clear();
}

bool ChainSearch::HasRoom(PodNumber pod) {
  ForgetOldRevision();
  looks_of_pod_ = 0;
  const bool has_room = HasPlace(pod);
  looks_ += looks_of_pod_;
  return has_room;
}

bool ChainSearch::Find(const Objection& objection) {
  ForgetOldRevision();
  const Dead key = DeadOf(objection);
  if (hopeless_.contains(key)) return false;
  proofs_of_pod_ = 0;
  looks_of_pod_ = 0;
  const std::size_t first = draft_.moves().size();
  bool is_found = false;
  for (std::size_t others = 1; others < kMovesMax && !is_found && !IsSpent(); ++others)
    is_found = MoveAfter(objection, Wants::kBetter, others);
  proofs_ += proofs_of_pod_;
  looks_ += looks_of_pod_;
  if (is_found) {
    draft_.JoinMoves(first);
  } else {
    hopeless_.insert(key);
  }
  return is_found;
}

bool ChainSearch::IsSpent() {
  const bool is_spent = proofs_of_pod_ >= kProofsOfPodMax || proofs_ + proofs_of_pod_ >= kProofsMax ||
                        looks_of_pod_ >= kLooksOfPodMax || looks_ + looks_of_pod_ >= kLooksMax;
  is_cut_ |= is_spent;
  return is_spent;
}

bool ChainSearch::MoveAfter(const Objection& objection, Wants wants, std::size_t others) {
  const PodView& pod = view_.pod(objection.pod);
  waiting_.push_back(objection.pod);
  // First nodes without enough room, since it is room that moves make. Where there is room, something else is in the
  // way, for example a port of the host, which one pod may have.
  bool is_moved = false;
  for (const bool lacks_room : {true, false}) {
    if (!lacks_room && others > 1) break;
    for (const NodeNumber node : draft_.violations().nodes()) {
      if (is_moved || IsSpent()) break;
      Look();
      if (node == pod.node || std::ranges::find(clearing_, node) != clearing_.end()) continue;
      const Resource lack = LackOf(pod, view_.node(node));
      if (IsNone(lack) == lacks_room) continue;
      const std::vector<PodNumber> leavers = LeaversOf(node, lack, others);
      if (leavers.empty() || !IsTarget(objection, wants, node)) continue;
      clearing_.push_back(node);
      is_moved = ClearFor(objection, wants, node, leavers, 0, others);
      clearing_.pop_back();
    }
  }
  waiting_.pop_back();
  return is_moved;
}

bool ChainSearch::ClearFor(const Objection& objection, Wants wants, NodeNumber node,
                           const std::vector<PodNumber>& leavers, std::size_t first, std::size_t others) {
  const PodView& pod = view_.pod(objection.pod);
  for (std::size_t i = first; i < leavers.size() && !IsSpent(); ++i) {
    const PodView& other = view_.pod(leavers[i]);
    if (other.node != node) continue;
    const Objection link = LinkOf(objection, leavers[i]);
    if (!MayLeave(link)) continue;
    const bool is_enough = Covers(LackOf(pod, view_.node(node)), other.requests, 1);
    for (std::size_t of_other = 1; of_other <= others && !IsSpent(); ++of_other) {
      const std::size_t rest = others - of_other;
      // Each further pod that leaves must be needed.
      if ((rest == 0) != is_enough) continue;
      const auto may_follow = [&](PodNumber next) { return view_.pod(next).node == node && HasPlace(next); };
      if (rest > 0 && std::none_of(leavers.begin() + static_cast<std::ptrdiff_t>(i) + 1, leavers.end(), may_follow))
        continue;
      const PlanDraft::Mark mark = draft_.mark();
      if (!MakeLeave(link, of_other)) continue;
      const bool is_moved =
          rest == 0 ? ProveAndMake(objection, wants) : ClearFor(objection, wants, node, leavers, i + 1, rest);
      if (is_moved) return true;
      draft_.UndoTo(mark);
    }
  }
  return false;
}

bool ChainSearch::MakeLeave(const Objection& link, std::size_t moves) {
  if (moves > 1) return MoveAfter(link, Wants::kNoWorse, moves - 1);
  if (!HasPlace(link.pod)) return false;
  const bool is_first = draft_.revision() == revision_;
  const Dead key = DeadOf(link);
  if (is_first && stuck_.contains(key)) return false;
  const bool is_moved = ProveAndMake(link, Wants::kNoWorse);
  if (is_first && !is_moved) stuck_.insert(key);
  return is_moved;
}

bool ChainSearch::ProveAndMake(const Objection& objection, Wants wants) {
  // Its owner, a budget or a limit may have no more to give after the moves of others.
  if (IsSpent() || !draft_.WhyNotNow(objection).why.empty()) return false;
  ++proofs_of_pod_;
  ProvedMove proved = draft_.Prove(objection, wants);
  if (!proved.why_not.empty()) return false;
  draft_.Commit(objection, proved.to, std::move(proved));
  return true;
}

std::vector<PodNumber> ChainSearch::LeaversOf(NodeNumber node, const Resource& lack, std::size_t count) {
  const std::vector<PodNumber>& pods = view_.node(node).pods;
  Look(pods.size());
  const auto is_there = [&](PodNumber pod) { return !view_.pod(pod).is_finished && !draft_.HasMoved(pod); };
  Resource most;
  for (const PodNumber pod : pods) {
    if (count > 1 && is_there(pod)) Raise(most, view_.pod(pod).requests);
  }
  std::vector<PodNumber> leavers;
  for (const PodNumber pod : pods) {
    if (!is_there(pod)) continue;
    Resource given = view_.pod(pod).requests;
    for (std::size_t i = 1; i < count; ++i) given.Add(most);
    if (Covers(lack, given, count)) leavers.push_back(pod);
  }
  return leavers;
}

bool ChainSearch::MayLeave(const Objection& link) {
  const PodView& pod = view_.pod(link.pod);
  if (draft_.HasMoved(link.pod) || std::ranges::find(waiting_, link.pod) != waiting_.end()) return false;
  if (!LooksAt(*link.strategy, pod)) return false;
  if (std::holds_alternative<CheaperNodeArgs>(*link.strategy) && KeepsItsNode(pod)) return false;
  const Evictor& evictor = EvictorOf(*link.profile);
  return evictor.Filter(pod) && evictor.TakesNamespace(pod) && draft_.WhyNever(link).empty() &&
         draft_.WhyNotNow(link).why.empty();
}

bool ChainSearch::IsTarget(const Objection& objection, Wants wants, NodeNumber node) {
  Look(kLooksOfTarget);
  const PodView& pod = view_.pod(objection.pod);
  return IsOpenTo(pod, *view_.node(node).node) &&
         draft_.violations().WhyWorse(*objection.strategy, pod, node, wants).empty();
}

bool ChainSearch::HasPlace(PodNumber number) {
  const PodView& pod = view_.pod(number);
  const auto is_other = [&](NodeNumber node) {
    return node != pod.node && std::ranges::find(clearing_, node) == clearing_.end();
  };
  const auto is_place = [&](NodeNumber node) {
    Look();
    return IsNone(LackOf(pod, view_.node(node))) && IsOpenTo(pod, *view_.node(node).node);
  };
  const std::vector<NodeNumber>& nodes = draft_.violations().nodes();
  if (draft_.revision() != revision_) {
    return std::ranges::any_of(nodes, [&](NodeNumber node) { return is_other(node) && is_place(node); });
  }
  const auto [at, is_new] = places_.try_emplace(ClassOf(number));
  std::vector<NodeNumber>& places = at->second;
  for (std::size_t i = 0; is_new && i < nodes.size() && places.size() < kPlacesMax; ++i) {
    if (is_place(nodes[i])) places.push_back(nodes[i]);
  }
  return std::ranges::any_of(places, is_other);
}

Objection ChainSearch::LinkOf(const Objection& objection, PodNumber other) const {
  Objection link;
  link.pod = other;
  link.profile = objection.profile;
  link.strategy = objection.strategy;
  link.reason = "it makes room for " + view_.pod(objection.pod).Key();
  link.makes_room_for = objection.pod;
  link.kept_free = clearing_;
  return link;
}

ChainSearch::Dead ChainSearch::DeadOf(const Objection& objection) {
  return {ClassOf(objection.pod), view_.pod(objection.pod).node, objection.strategy};
}

ChainSearch::ClassNumber ChainSearch::ClassOf(PodNumber number) {
  const auto [at, is_new] = class_of_.emplace(number, 0);
  if (!is_new) return at->second;
  const PodView& pod = view_.pod(number);
  const auto& controller = pod.pod->metadata.controller;
  std::string key = pod.pod->metadata.namespace_name + '/' +
                    (controller ? controller->kind + '/' + controller->name : "Pod/" + pod.pod->metadata.name);
  for (const std::int64_t amount :
       {pod.requests.cpu_milli, pod.requests.memory_bytes, pod.requests.ephemeral_storage_bytes})
    key.append("#").append(std::to_string(amount));
  for (const auto& [name, amount] : pod.requests.scalars)
    key.append("#").append(name).append("=").append(std::to_string(amount));
  at->second = classes_.emplace(std::move(key), static_cast<ClassNumber>(classes_.size())).first->second;
  return at->second;
}

const Evictor& ChainSearch::EvictorOf(const PolicyProfile& profile) {
  const auto at = evictors_.find(&profile);
  if (at != evictors_.end()) return at->second;
  auto evictor = Evictor::Make(profile.evictor, view_, now_);
  // FindObjections() has made it before.
  BERTH_CHECK(evictor.ok(), evictor.error().message);
  return evictors_.emplace(&profile, std::move(*evictor)).first->second;
}

}  // namespace berth::rebalance
