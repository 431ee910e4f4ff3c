// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/inter_pod_affinity/pod_kinds.h"

#include <algorithm>
#include <tuple>

#include "berth/plugins/helper/label_buckets.h"

namespace berth::plugins {
namespace {

using framework::PodClass;

// The requirement by which pods that match the selector are found: one of the fewest values; null: there is none.
const api::Requirement* Narrowest(const api::LabelSelector& selector) {
  const api::Requirement* best = nullptr;
  for (const api::Requirement& requirement : selector.requirements) {
    if (requirement.op != api::SelectorOperator::kIn) continue;
    if (best == nullptr || requirement.values.size() < best->values.size()) best = &requirement;
  }
  return best;
}

// Calls visit(bucket) for buckets of which each pod that the term can match is in one.
template <typename Visit>
void ForBuckets(const AffinityTerm& term, std::string& bucket, const Visit& visit) {
  if (!term.spec->selector) return;
  const api::Requirement* narrowest = Narrowest(*term.spec->selector);
  const auto visit_in = [&](std::string_view namespace_name) {
    if (narrowest == nullptr) {
      SetBucket(bucket, namespace_name, "", "");
      visit();
      return;
    }
    for (const std::string& value : narrowest->values) {
      SetBucket(bucket, namespace_name, narrowest->key, value);
      visit();
    }
  };
  if (term.spec->namespace_selector) {
    visit_in("");
  } else {
    for (const std::string& name : term.namespaces) visit_in(name);
  }
}

// Calls visit() for all buckets that a pod of the class is in.
template <typename Visit>
void ForBuckets(const PodClass& pod_class, std::string& bucket, const Visit& visit) {
  for (const std::string_view namespace_name : {std::string_view(pod_class.namespace_name), std::string_view()}) {
    ForLabelBuckets(namespace_name, pod_class.labels, bucket, visit);
  }
}

void SortAndDeduplicate(std::vector<std::uint32_t>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

void AppendNumber(std::string& out, std::int64_t number) {
  out += std::to_string(number);
  out += ',';
}

void AppendText(std::string& out, std::string_view text) {
  AppendNumber(out, static_cast<std::int64_t>(text.size()));
  out += text;
}

void AppendText(std::string& out, const std::vector<std::string>& texts) {
  AppendNumber(out, static_cast<std::int64_t>(texts.size()));
  for (const std::string& text : texts) AppendText(out, text);
}

void AppendText(std::string& out, const std::optional<api::LabelSelector>& selector) {
  AppendNumber(out, selector ? static_cast<std::int64_t>(selector->requirements.size()) : -1);
  if (!selector) return;
  for (const api::Requirement& requirement : selector->requirements) {
    AppendText(out, requirement.key);
    AppendNumber(out, static_cast<std::int64_t>(requirement.op));
    AppendText(out, requirement.values);
    AppendText(out, requirement.unknown_op);
  }
}

// Go negates an int32 that cannot be negated to itself.
std::int64_t Negated(std::int32_t weight) { return weight == INT32_MIN ? weight : -weight; }

// The finalizer of splitmix64.
std::uint64_t Mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

void PodKinds::Signature::Gain(TermId term, bool as_incoming, bool as_running) {
  const auto add = [this](std::uint64_t number) {
    matched[0] += Mixed(number * 0x9e3779b97f4a7c15U + 1);
    matched[1] += Mixed(number * 0xd1342543de82ef95U + 2);
  };
  if (as_incoming) add(std::uint64_t{term} * 2 + 1);
  if (as_running) add(std::uint64_t{term} * 2 + 2);
}

PodKinds::ClassId PodKinds::Add(const std::shared_ptr<const PodClass>& pod_class) {
  // Pods of one class often come one after another.
  if (latest_ < classes_.size() && classes_[latest_].pod_class == pod_class) return latest_;
  const auto known = class_ids_.find(pod_class.get());
  if (known != class_ids_.end()) return latest_ = known->second;
  if (sets_.empty()) {
    namespaces_version_ = namespaces_->version();
    sets_.push_back({std::make_shared<CarriedTerms>(), {}});
  }
  Signature signature;
  // Adding the class's terms may split kinds, and must come before the class joins one.
  signature.set = SetFor(pod_class);
  const auto id = static_cast<ClassId>(classes_.size());
  classes_.push_back({pod_class, 0, 0});
  class_ids_.emplace(pod_class.get(), id);
  if (!terms_.empty()) {
    AddClassToBuckets(id);
    CollectTerms(*pod_class);
    const api::StringMap& labels = NamespaceLabels(pod_class->namespace_name);
    for (const TermId term : found_) {
      signature.Gain(term, terms_[term].carried.Matches(*pod_class, labels),
                     terms_[term].own.Matches(*pod_class, NoLabels()));
    }
  }
  const auto it = kind_ids_.find(signature);
  Join(id, it == kind_ids_.end() ? AddKind(signature) : it->second);
  return id;
}

// The set of terms that the class carries.
std::uint32_t PodKinds::SetFor(const std::shared_ptr<const PodClass>& pod_class) {
  if (pod_class->spec.pod_affinity.empty() && pod_class->spec.pod_anti_affinity.empty()) return 0;
  CarriedTerms carried;
  carried.parsed = ParseTerms(*pod_class);
  carried.owner = pod_class;
  std::string text;
  const auto add = [&](const std::vector<AffinityTerm>& terms, std::vector<TermId>& out) {
    for (const AffinityTerm& term : terms) {
      out.push_back(TermFor(term, pod_class));
      AppendNumber(text, out.back());
    }
    text += ';';
  };
  const auto add_weighted = [&](const std::vector<WeightedAffinityTerm>& terms, bool is_anti) {
    for (const auto& [term, weight] : terms) {
      carried.preferred.push_back({TermFor(term, pod_class), is_anti ? Negated(weight) : weight});
      AppendNumber(text, carried.preferred.back().term);
      AppendNumber(text, carried.preferred.back().weight);
    }
    text += ';';
  };
  add(carried.parsed.required_affinity, carried.required_affinity);
  add(carried.parsed.required_anti_affinity, carried.required_anti_affinity);
  add_weighted(carried.parsed.preferred_affinity, false);
  add_weighted(carried.parsed.preferred_anti_affinity, true);
  text += carried.parsed.is_required_affinity_broken ? 'b' : '-';
  text += carried.parsed.is_required_anti_affinity_broken ? 'b' : '-';
  text += carried.parsed.error;
  const auto [it, is_new] = set_ids_.try_emplace(std::move(text), static_cast<std::uint32_t>(sets_.size()));
  if (!is_new) return it->second;
  MergeNamespaces(carried.parsed, *namespaces_, resolves_selectors_);
  const auto note = [&](TermId term) {
    std::vector<std::uint32_t>& sets = terms_[term].sets;
    if (sets.empty() || sets.back() != it->second) sets.push_back(it->second);
  };
  for (const TermId term : carried.required_affinity) note(term);
  for (const TermId term : carried.required_anti_affinity) note(term);
  for (const CarriedTerms::Weighted& weighted : carried.preferred) note(weighted.term);
  sets_.push_back({std::make_shared<const CarriedTerms>(std::move(carried)), {}});
  return it->second;
}

PodKinds::TermId PodKinds::TermFor(const AffinityTerm& carried, const std::shared_ptr<const PodClass>& pod_class) {
  std::string text;
  AppendText(text, carried.namespaces);
  AppendText(text, carried.spec->selector);
  AppendText(text, carried.spec->namespace_selector);
  AppendText(text, carried.spec->topology_key);
  const auto [it, is_new] = term_ids_.try_emplace(std::move(text), static_cast<TermId>(terms_.size()));
  if (!is_new) return it->second;
  if (terms_.empty()) {
    for (ClassId id = 0; id < classes_.size(); ++id) AddClassToBuckets(id);
  }
  has_namespace_selectors_ |= carried.spec->namespace_selector.has_value();
  PodTerms merged;
  merged.required_affinity = {carried};
  MergeNamespaces(merged, *namespaces_, resolves_selectors_);
  terms_.push_back({carried, std::move(merged.required_affinity.front()), pod_class, {}});
  ForBuckets(carried, bucket_, [&] { term_buckets_[bucket_].push_back(it->second); });
  Split(it->second);
  return it->second;
}

void PodKinds::AddClassToBuckets(ClassId id) {
  ForBuckets(*classes_[id].pod_class, bucket_, [&] { class_buckets_[bucket_].push_back(id); });
}

// Moves the classes that a new term matches away from those that it does not match.
void PodKinds::Split(TermId id) {
  CollectClasses(terms_[id].own);
  gained_.clear();
  for (const ClassId candidate : found_) {
    const PodClass& pod_class = *classes_[candidate].pod_class;
    Gained gained{classes_[candidate].kind, false, false, candidate};
    gained.as_incoming = terms_[id].carried.Matches(pod_class, NamespaceLabels(pod_class.namespace_name));
    gained.as_running = terms_[id].own.Matches(pod_class, NoLabels());
    if (gained.as_incoming || gained.as_running) gained_.push_back(gained);
  }
  const auto key = [](const Gained& gained) { return std::tuple(gained.kind, gained.as_incoming, gained.as_running); };
  std::sort(gained_.begin(), gained_.end(),
            [&](const Gained& a, const Gained& b) { return std::tuple(key(a), a.id) < std::tuple(key(b), b.id); });
  for (std::size_t begin = 0; begin < gained_.size();) {
    std::size_t end = begin + 1;
    while (end < gained_.size() && key(gained_[end]) == key(gained_[begin])) ++end;
    SplitKind(id, std::span(gained_).subspan(begin, end - begin));
    begin = end;
  }
}

// All of one kind, and the term means the same for them.
void PodKinds::SplitKind(TermId term, std::span<const Gained> gained) {
  const KindId from = gained.front().kind;
  Signature signature = kinds_[from].signature;
  signature.Gain(term, gained.front().as_incoming, gained.front().as_running);
  if (gained.size() == kinds_[from].classes.size()) {
    kind_ids_.erase(kinds_[from].signature);
    kinds_[from].signature = signature;
    kind_ids_.emplace(signature, from);
    return;
  }
  const KindId to = AddKind(signature);
  for (const Gained& one : gained) {
    Leave(one.id);
    Join(one.id, to);
  }
}

PodKinds::KindId PodKinds::AddKind(const Signature& signature) {
  const auto kind = static_cast<KindId>(kinds_.size());
  kinds_.push_back({signature, {}});
  kind_ids_.emplace(signature, kind);
  sets_[signature.set].kinds.push_back(kind);
  return kind;
}

void PodKinds::Join(ClassId id, KindId kind) {
  classes_[id].kind = kind;
  classes_[id].index = static_cast<std::uint32_t>(kinds_[kind].classes.size());
  kinds_[kind].classes.push_back(id);
}

void PodKinds::Leave(ClassId id) {
  std::vector<ClassId>& classes = kinds_[classes_[id].kind].classes;
  classes[classes_[id].index] = classes.back();
  classes_[classes.back()].index = classes_[id].index;
  classes.pop_back();
}

// Fills found_ with classes among which are all that the term matches.
void PodKinds::CollectClasses(const AffinityTerm& own) {
  found_.clear();
  ForBuckets(own, bucket_, [this] {
    const auto it = class_buckets_.find(bucket_);
    if (it != class_buckets_.end()) found_.insert(found_.end(), it->second.begin(), it->second.end());
  });
  SortAndDeduplicate(found_);
}

// Fills found_ with terms among which are all that match the class.
void PodKinds::CollectTerms(const PodClass& pod_class) {
  found_.clear();
  ForBuckets(pod_class, bucket_, [this] {
    const auto it = term_buckets_.find(bucket_);
    if (it != term_buckets_.end()) found_.insert(found_.end(), it->second.begin(), it->second.end());
  });
  SortAndDeduplicate(found_);
}

bool PodKinds::MatchesIncoming(TermId term, KindId incoming) const {
  const PodClass& pod_class = ClassAt(kinds_[incoming].classes.front());
  return terms_[term].carried.Matches(pod_class, NamespaceLabels(pod_class.namespace_name));
}

bool PodKinds::MatchesRunning(TermId term, KindId running) const {
  return terms_[term].own.Matches(ClassAt(kinds_[running].classes.front()), NoLabels());
}

bool PodKinds::MatchesAllRunning(const std::vector<TermId>& terms, KindId running) const {
  return !terms.empty() &&
         std::all_of(terms.begin(), terms.end(), [&](TermId term) { return MatchesRunning(term, running); });
}

void PodKinds::CollectBearing(KindId kind, std::vector<KindId>& kinds) {
  CollectTerms(ClassAt(kinds_[kind].classes.front()));
  for (const TermId term : found_) {
    for (const std::uint32_t set : terms_[term].sets) {
      kinds.insert(kinds.end(), sets_[set].kinds.begin(), sets_[set].kinds.end());
    }
  }
  const auto add = [&](TermId term) {
    CollectClasses(terms_[term].own);
    for (const ClassId id : found_) {
      if (kinds.empty() || kinds.back() != classes_[id].kind) kinds.push_back(classes_[id].kind);
    }
  };
  const CarriedTerms& own = *TermsOf(kind);
  // A pod counts for affinity when it matches all terms: those that match the first one suffice.
  if (!own.required_affinity.empty()) add(own.required_affinity.front());
  for (const TermId term : own.required_anti_affinity) add(term);
  for (const CarriedTerms::Weighted& weighted : own.preferred) add(weighted.term);
}

// A namespace that does not exist counts as one without labels.
const api::StringMap& PodKinds::NamespaceLabels(const std::string& name) const {
  if (!has_namespace_selectors_) return NoLabels();
  const auto [it, is_new] = namespace_labels_.try_emplace(name);
  const api::Namespace* found = is_new ? namespaces_->Find(name) : nullptr;
  if (found != nullptr) it->second = found->metadata.labels;
  return it->second;
}

bool PodKinds::HaveNamespacesChanged() {
  if (namespaces_version_ == namespaces_->version()) return false;
  namespaces_version_ = namespaces_->version();
  if (!has_namespace_selectors_) return false;
  for (const auto& [name, labels] : namespace_labels_) {
    const api::Namespace* found = namespaces_->Find(name);
    if (labels != (found == nullptr ? NoLabels() : found->metadata.labels)) return true;
  }
  return std::any_of(terms_.begin(), terms_.end(), [this](const Term& term) {
    if (!term.carried.spec->namespace_selector) return false;
    PodTerms merged;
    merged.required_affinity = {term.carried};
    MergeNamespaces(merged, *namespaces_, resolves_selectors_);
    return merged.required_affinity.front() != term.own;
  });
}

}  // namespace berth::plugins
