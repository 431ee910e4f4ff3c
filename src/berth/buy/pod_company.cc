// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/pod_company.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "berth/api/pod.h"
#include "berth/buy/node_catalogue.h"
#include "berth/buy/node_offers.h"

namespace berth::buy {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

// Different terms that are compared with all groups. With more of them no pods count as alone.
constexpr std::size_t kTermsMax = 512;
// Nodes are not crowded where one in so many of the pods that a rule about nodes counts, or more, is bound by it.
constexpr std::size_t kCrowdPart = 5;

bool IsHard(const api::TopologySpreadConstraint& constraint) {
  return constraint.when_unsatisfiable == api::UnsatisfiableConstraintAction::kDoNotSchedule;
}

bool HasVolumes(const api::PodSpec& spec) {
  return std::ranges::any_of(spec.volumes,
                             [](const api::Volume& volume) { return volume.source.kind != api::VolumeKind::kOther; });
}

// By what its own pods demand.
bool WantsNothingElse(const framework::PodInfo& pod) {
  const api::PodSpec& spec = pod.spec();
  return spec.pod_affinity.required.empty() && spec.pod_anti_affinity.required.empty() &&
         std::ranges::none_of(spec.topology_spread_constraints, IsHard) && spec.resource_claims.empty() &&
         !HasVolumes(spec) && pod.pod_group_name.empty();
}

// Whether the term of a pod in `namespace_name` may be about such a pod; in doubt it is.
bool MayBeAbout(const api::PodAffinityTerm& term, std::string_view namespace_name, const framework::PodClass& other) {
  if (!term.selector || !term.selector->Matches(other.labels)) return false;
  if (term.namespace_selector) return true;
  if (term.namespaces.empty()) return other.namespace_name == namespace_name;
  return std::ranges::find(term.namespaces, other.namespace_name) != term.namespaces.end();
}

// The selector with what matchLabelKeys adds of the pod's own labels.
api::LabelSelector SelectorOf(const api::TopologySpreadConstraint& constraint, const framework::PodClass& of) {
  api::LabelSelector selector = *constraint.selector;
  for (const std::string& key : constraint.match_label_keys) {
    const std::string* value = of.labels.Find(key);
    if (value == nullptr) continue;
    api::Requirement& added = selector.requirements.emplace_back();
    added.key = key;
    added.op = api::SelectorOperator::kIn;
    added.values.push_back(*value);
  }
  return selector;
}

}  // namespace

PodCompany::PodCompany(const std::vector<framework::PodInfoPtr>& models, const std::vector<std::size_t>& sizes) {
  for (const framework::PodInfoPtr& model : models) is_alone_.push_back(WantsNothingElse(*model) ? 1 : 0);
  FindSpreads(models);
  FindExclusions(models);
  FindCrowd(sizes);
}

void PodCompany::FindSpreads(const std::vector<framework::PodInfoPtr>& models) {
  for (std::size_t group = 0; group < models.size(); ++group) {
    const framework::PodClass& of = *models[group]->pod_class;
    for (const api::TopologySpreadConstraint& constraint : of.spec.topology_spread_constraints) {
      const bool is_by_zone = constraint.topology_key == kZoneLabel;
      if (!IsHard(constraint) || !constraint.selector || (!is_by_zone && constraint.topology_key != kHostname))
        continue;
      SpreadRule rule{of.namespace_name, SelectorOf(constraint, of), constraint.max_skew, is_by_zone, {}, {}};
      auto known = std::ranges::find_if(spreads_, [&](const SpreadRule& each) {
        return each.is_by_zone == is_by_zone && each.max_skew == rule.max_skew &&
               each.namespace_name == rule.namespace_name && each.selector == rule.selector;
      });
      if (known == spreads_.end()) {
        if (spreads_.size() >= kRulesMax) continue;
        rule.is_bound.assign(models.size(), 0);
        for (const framework::PodInfoPtr& model : models) {
          const bool is_counted =
              model->namespace_name() == rule.namespace_name && rule.selector.Matches(model->labels());
          rule.counts.push_back(is_counted ? 1 : 0);
        }
        spreads_.push_back(std::move(rule));
        known = spreads_.end() - 1;
      }
      known->is_bound[group] = 1;
    }
  }
}

void PodCompany::FindExclusions(const std::vector<framework::PodInfoPtr>& models) {
  // Equal terms of pods in one namespace are one rule.
  std::vector<std::pair<const api::PodAffinityTerm*, std::string_view>> seen;
  for (std::size_t group = 0; group < models.size(); ++group) {
    const framework::PodClass& of = *models[group]->pod_class;
    for (const api::PodAffinityTerm& term : of.spec.pod_anti_affinity.required) {
      const bool is_known = std::ranges::any_of(
          seen, [&](const auto& each) { return each.second == of.namespace_name && *each.first == term; });
      if (is_known) continue;
      if (seen.size() == kTermsMax) {
        is_alone_.assign(models.size(), 0);
        return;
      }
      seen.emplace_back(&term, of.namespace_name);
      NodeExclusion rule;
      for (std::size_t other = 0; other < models.size(); ++other) {
        const framework::PodClass& it = *models[other]->pod_class;
        const bool has_term =
            it.namespace_name == of.namespace_name &&
            std::ranges::find(it.spec.pod_anti_affinity.required, term) != it.spec.pod_anti_affinity.required.end();
        const bool is_about = MayBeAbout(term, of.namespace_name, it);
        rule.excludes.push_back(has_term ? 1 : 0);
        rule.counts.push_back(is_about ? 1 : 0);
        if (is_about) is_alone_[other] = 0;
      }
      if (term.topology_key != kHostname || term.namespace_selector || exclusions_.size() >= kRulesMax) continue;
      std::size_t concerned = 0;
      bool is_mutual = true;
      for (std::size_t other = 0; other < models.size(); ++other) {
        concerned += rule.counts[other] != 0 ? 1 : 0;
        is_mutual = is_mutual && (rule.excludes[other] == 0 || rule.counts[other] != 0);
      }
      if (is_mutual && concerned > 1) exclusions_.push_back(std::move(rule));
    }
  }
}

// Pods that spread over nodes by the labels of others cannot make up for nodes that have many of those: they need nodes
// that have few.
void PodCompany::FindCrowd(const std::vector<std::size_t>& sizes) {
  is_in_crowd_.assign(sizes.size(), 0);
  std::int64_t room = 0;
  for (const SpreadRule& rule : spreads_) {
    if (rule.is_by_zone) continue;
    std::size_t bound = 0;
    std::size_t counted = 0;
    for (std::size_t group = 0; group < sizes.size(); ++group) {
      counted += rule.counts[group] != 0 ? sizes[group] : 0;
      bound += rule.is_bound[group] != 0 && rule.counts[group] == 0 ? sizes[group] : 0;
    }
    if (bound * kCrowdPart < counted) continue;
    room += std::max(rule.max_skew, 1);
    for (std::size_t group = 0; group < sizes.size(); ++group) {
      if (rule.counts[group] != 0 || rule.is_bound[group] != 0) is_in_crowd_[group] = 1;
    }
  }
  // Labels come as they come: not every mix of so many pods has each label once.
  crowd_max_ =
      static_cast<std::int32_t>(std::min<std::int64_t>((room + 1) / 2, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace berth::buy
