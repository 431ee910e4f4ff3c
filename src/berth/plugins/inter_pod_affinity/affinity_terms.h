// SPDX-License-Identifier: Apache-2.0
// The pod affinity terms of a pod as they are matched: with the namespaces that they mean, and only those that upstream
// can parse. Upstream: AffinityTerm and PodInfo of the scheduling framework.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/framework/objects.h"
#include "berth/framework/pod_info.h"

namespace berth::plugins {

struct AffinityTerm {
  const api::PodAffinityTerm* spec = nullptr;  // part of the pod's class, which must outlive the term
  std::vector<std::string> namespaces;         // sorted
  bool has_resolved_selector = false;          // `namespaces` has all that the namespace selector means
  bool operator==(const AffinityTerm&) const = default;

  const std::string& topology_key() const { return spec->topology_key; }
  // `namespace_labels` are those of the pod's namespace, as far as the caller knows them.
  bool Matches(const framework::PodClass& pod, const api::StringMap& namespace_labels) const;
};

struct WeightedAffinityTerm {
  AffinityTerm term;
  std::int32_t weight = 0;
  bool operator==(const WeightedAffinityTerm&) const = default;
};

struct PodTerms {
  std::vector<AffinityTerm> required_affinity;
  std::vector<AffinityTerm> required_anti_affinity;
  std::vector<WeightedAffinityTerm> preferred_affinity;
  std::vector<WeightedAffinityTerm> preferred_anti_affinity;
  // Why a selector cannot be parsed, in upstream's words. A list with such a selector is then empty as a whole.
  std::string error;
  bool is_required_affinity_broken = false;
  bool is_required_anti_affinity_broken = false;
  bool operator==(const PodTerms&) const = default;

  bool empty() const {
    return required_affinity.empty() && required_anti_affinity.empty() && preferred_affinity.empty() &&
           preferred_anti_affinity.empty();
  }
};

// The terms point into `pod`. The API server has merged matchLabelKeys and mismatchLabelKeys into the selectors; the
// scheduler does not look at them.
PodTerms ParseTerms(const framework::PodClass& pod);

// For terms of an incoming pod: adds the names of the namespaces that a namespace selector chooses, because the labels
// of the namespaces of existing pods are not looked up then. Without `resolves`
// (Release::resolves_namespace_selectors) the selector goes on matching as if those namespaces had no labels: one of
// NotIn or DoesNotExist alone matches in every namespace.
void MergeNamespaces(PodTerms& terms, const framework::ObjectStore<api::Namespace>& namespaces, bool resolves);

// Labels of a namespace that nobody looked up.
const api::StringMap& NoLabels();

// Whether the pod matches each of the terms, or any; false when there is none. Namespaces count as without labels.
bool MatchesAll(const std::vector<AffinityTerm>& terms, const framework::PodClass& pod);
bool MatchesAny(const std::vector<AffinityTerm>& terms, const framework::PodClass& pod);

}  // namespace berth::plugins
