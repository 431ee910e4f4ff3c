// SPDX-License-Identifier: Apache-2.0
// CandidateSearch: finds the node on which preemption costs least. Where what filters say rests on one node at a time,
// it keeps what dry runs found between the pods of a class; else it asks all nodes anew. Both find the same. Within
// turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/preemption_report.h"
#include "berth/plugins/default_preemption/kept_candidates.h"
#include "berth/plugins/default_preemption/victims.h"
#include "berth/plugins/helper/class_cache.h"

namespace berth::plugins {

// What a search came to.
struct CandidateChoice {
  framework::NodeIndex chosen = framework::kNoNode;  // kNoNode: preemption helps nowhere
  // All that were found, or the chosen one alone; see PreemptionReport.
  std::vector<framework::PreemptionReport::Candidate> candidates;
  std::vector<framework::NodeIndex> acceptable;  // as cheap as the chosen one, ascending
  // Filled when no node was chosen: the reasons why nodes do not help and how many nodes give each, how many nodes were
  // refused, and distinct errors in the order in which they occurred.
  std::map<std::string, std::size_t> reasons;
  std::set<std::string> refused_by;  // the plugins that said so
  std::size_t refused_count = 0;
  std::vector<std::string> errors;
};

// Tells when the budgets apply to other pods than before. That their numbers change does not count.
class BudgetShape {
 public:
  // Always of the same store. Grows when it counts; costs nothing while no budget changes.
  std::uint64_t Of(const framework::ObjectStore<api::PodDisruptionBudget>& store);

 private:
  using BudgetPtr = std::shared_ptr<const api::PodDisruptionBudget>;

  std::optional<std::uint64_t> version_;
  std::uint64_t shape_ = 0;
  std::map<std::string, BudgetPtr> known_;
};

class CandidateSearch {
 public:
  // Bounds of what is kept: a class takes about 40 bytes a row.
  static constexpr std::size_t kClassesMax = 256;
  static constexpr std::size_t kBytesMax = std::size_t{64} << 20;

  // How many candidates are enough: DefaultPreemptionArgs. `handle` must outlive it.
  CandidateSearch(std::int32_t percentage, std::int32_t absolute, framework::Handle& handle)
      : percentage_(percentage), absolute_(absolute), handle_(handle), kept_(kClassesMax, kBytesMax) {}

  CandidateChoice Choose(const framework::Cycle& cycle, const framework::PodInfo& pod,
                         const framework::NodeStatuses& statuses, framework::FilterRunner& filters);

  // The choice among candidates that are known already.
  static CandidateChoice ChooseAmong(const framework::Cycle& cycle,
                                     std::vector<framework::PreemptionReport::Candidate> candidates);

  // Drops what is kept of classes that were not asked about since the last call.
  void DropIdle() { kept_.DropIdle(); }

 private:
  CandidateChoice ChooseFromScratch(const framework::Cycle& cycle, const framework::NodeStatuses& statuses,
                                    DryRun& dry_run) const;
  // nullopt: something has failed that is to be reported as the other way reports it.
  std::optional<CandidateChoice> ChooseFromKept(const framework::Cycle& cycle, KeptCandidates& kept,
                                                DryRun& dry_run) const;
  std::size_t Wanted(std::size_t potential_count) const;

  const std::int32_t percentage_;
  const std::int32_t absolute_;
  framework::Handle& handle_;
  ClassCache<KeptCandidates> kept_;
  BudgetShape budget_shape_;
};

}  // namespace berth::plugins
