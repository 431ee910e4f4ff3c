// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/inter_pod_affinity/affinity_terms.h"

#include <algorithm>
#include <string_view>

#include "berth/base/go_text.h"
#include "berth/plugins/helper/label_selector.h"

namespace berth::plugins {
namespace {

void SortAndDeduplicate(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

std::string SelectorErrorOf(const api::PodAffinityTerm& term) {
  std::string error;
  if (term.selector) error = LabelSelectorError(*term.selector);
  if (error.empty() && term.namespace_selector) error = LabelSelectorError(*term.namespace_selector);
  return error;
}

AffinityTerm ToTerm(const api::PodAffinityTerm& spec, const framework::PodClass& pod) {
  AffinityTerm term{&spec, spec.namespaces};
  if (spec.namespaces.empty() && !spec.namespace_selector) term.namespaces = {pod.namespace_name};
  SortAndDeduplicate(term.namespaces);
  return term;
}

const api::PodAffinityTerm& TermOf(const api::PodAffinityTerm& term) { return term; }
const api::PodAffinityTerm& TermOf(const api::WeightedPodAffinityTerm& term) { return term.term; }

// Parses one of a pod's four lists as a whole. After an error, `out` is empty, `errors` has an entry, and the result is
// false.
template <typename Spec, typename Term, typename Make>
bool ParseList(std::string_view name, const std::vector<Spec>& specs, std::vector<Term>& out,
               std::vector<std::string>& errors, const Make& make) {
  for (const Spec& spec : specs) {
    if (const std::string error = SelectorErrorOf(TermOf(spec)); !error.empty()) {
      errors.push_back(std::string(name) + ": " + error);
      out.clear();
      return false;
    }
    out.push_back(make(spec));
  }
  return true;
}

void Merge(AffinityTerm& term, const framework::ObjectStore<api::Namespace>& namespaces, bool resolves) {
  if (!term.spec->namespace_selector || term.spec->namespace_selector->requirements.empty()) return;
  for (const auto& [name, object] : namespaces) {
    if (term.spec->namespace_selector->Matches(object->metadata.labels)) term.namespaces.push_back(name);
  }
  SortAndDeduplicate(term.namespaces);
  term.has_resolved_selector = resolves;
}

}  // namespace

const api::StringMap& NoLabels() {
  static const api::StringMap kNone;
  return kNone;
}

bool AffinityTerm::Matches(const framework::PodClass& pod, const api::StringMap& namespace_labels) const {
  if (!spec->selector) return false;
  const bool is_in_namespaces =
      std::binary_search(namespaces.begin(), namespaces.end(), pod.namespace_name) ||
      (spec->namespace_selector && !has_resolved_selector && spec->namespace_selector->Matches(namespace_labels));
  return is_in_namespaces && spec->selector->Matches(pod.labels);
}

PodTerms ParseTerms(const framework::PodClass& pod) {
  PodTerms terms;
  std::vector<std::string> errors;
  const auto make = [&pod](const api::PodAffinityTerm& spec) { return ToTerm(spec, pod); };
  const auto make_weighted = [&pod](const api::WeightedPodAffinityTerm& spec) {
    return WeightedAffinityTerm{ToTerm(spec.term, pod), spec.weight};
  };
  const api::PodSpec& spec = pod.spec;
  terms.is_required_affinity_broken =
      !ParseList("requiredAffinityTerms", spec.pod_affinity.required, terms.required_affinity, errors, make);
  terms.is_required_anti_affinity_broken = !ParseList("requiredAntiAffinityTerms", spec.pod_anti_affinity.required,
                                                      terms.required_anti_affinity, errors, make);
  ParseList("preferredAffinityTerms", spec.pod_affinity.preferred, terms.preferred_affinity, errors, make_weighted);
  ParseList("preferredAntiAffinityTerms", spec.pod_anti_affinity.preferred, terms.preferred_anti_affinity, errors,
            make_weighted);
  terms.error = GoAggregate(errors);
  return terms;
}

void MergeNamespaces(PodTerms& terms, const framework::ObjectStore<api::Namespace>& namespaces, bool resolves) {
  for (AffinityTerm& term : terms.required_affinity) Merge(term, namespaces, resolves);
  for (AffinityTerm& term : terms.required_anti_affinity) Merge(term, namespaces, resolves);
  for (WeightedAffinityTerm& weighted : terms.preferred_affinity) Merge(weighted.term, namespaces, resolves);
  for (WeightedAffinityTerm& weighted : terms.preferred_anti_affinity) Merge(weighted.term, namespaces, resolves);
}

bool MatchesAll(const std::vector<AffinityTerm>& terms, const framework::PodClass& pod) {
  return !terms.empty() && std::all_of(terms.begin(), terms.end(),
                                       [&](const AffinityTerm& term) { return term.Matches(pod, NoLabels()); });
}

bool MatchesAny(const std::vector<AffinityTerm>& terms, const framework::PodClass& pod) {
  return std::any_of(terms.begin(), terms.end(),
                     [&](const AffinityTerm& term) { return term.Matches(pod, NoLabels()); });
}

}  // namespace berth::plugins
