// SPDX-License-Identifier: Apache-2.0
// PodKinds: pod classes sorted into kinds that no affinity term tells apart: the classes of a kind carry equal terms,
// and of all terms that any known class carries each one matches either all of them or none. So what one pod means for
// another is found once for two kinds, however many workloads look alike to the terms. Within turns only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "berth/base/hash_map.h"
#include "berth/framework/objects.h"
#include "berth/plugins/inter_pod_affinity/affinity_terms.h"

namespace berth::plugins {

// The terms of a class, as numbers of distinct terms. Lists may have a term twice.
struct CarriedTerms {
  using TermId = std::uint32_t;
  struct Weighted {
    TermId term = 0;
    std::int64_t weight = 0;  // below 0: the pod wants to be elsewhere
  };

  // As for an incoming pod: with the namespaces merged.
  PodTerms parsed;
  std::shared_ptr<const framework::PodClass> owner;  // of what `parsed` points to
  std::vector<TermId> required_affinity;
  std::vector<TermId> required_anti_affinity;
  std::vector<Weighted> preferred;

  std::size_t size() const { return required_affinity.size() + required_anti_affinity.size() + preferred.size(); }
};

class PodKinds {
 public:
  using ClassId = std::uint32_t;
  using KindId = std::uint32_t;
  using TermId = CarriedTerms::TermId;

  // `namespaces` must outlive it. `resolves_selectors`: Release::resolves_namespace_selectors.
  explicit PodKinds(const framework::ObjectStore<api::Namespace>& namespaces, bool resolves_selectors = false)
      : namespaces_(&namespaces), resolves_selectors_(resolves_selectors) {}

  bool resolves_selectors() const { return resolves_selectors_; }
  // The number of a class, which is known from now on. A class that carries a new term may move other classes to other
  // kinds. When one kind becomes two, earlier counts of both stay right.
  ClassId Add(const std::shared_ptr<const framework::PodClass>& pod_class);
  bool Knows(const framework::PodClass& pod_class) const { return class_ids_.contains(&pod_class); }
  std::size_t class_count() const { return classes_.size(); }
  std::size_t kind_count() const { return kinds_.size(); }
  KindId KindOf(ClassId id) const { return classes_[id].kind; }
  const framework::PodClass& ClassAt(ClassId id) const { return *classes_[id].pod_class; }
  // At least one, in no order.
  std::span<const ClassId> ClassesOf(KindId kind) const { return kinds_[kind].classes; }
  const std::shared_ptr<const CarriedTerms>& TermsOf(KindId kind) const {
    return sets_[kinds_[kind].signature.set].terms;
  }
  bool HasTerms(KindId kind) const { return kinds_[kind].signature.set != 0; }

  const std::string& TopologyKeyOf(TermId term) const { return terms_[term].carried.topology_key(); }
  // Whether a running pod's term matches incoming pods of the kind.
  bool MatchesIncoming(TermId term, KindId incoming) const;
  // Whether an incoming pod's term matches running pods of the kind.
  bool MatchesRunning(TermId term, KindId running) const;
  bool MatchesAllRunning(const std::vector<TermId>& terms, KindId running) const;

  // Appends kinds among which are all whose running pods bear on incoming pods of `kind`. Some may be there twice.
  void CollectBearing(KindId kind, std::vector<KindId>& kinds);

  // True when namespaces have changed so that terms match other pods: all that was returned before is void then.
  bool HaveNamespacesChanged();

 private:
  struct Term {
    AffinityTerm carried;  // as a running pod carries it
    AffinityTerm own;      // as an incoming pod has it: with the namespaces merged
    std::shared_ptr<const framework::PodClass> owner;
    std::vector<std::uint32_t> sets;  // those that have it
  };
  // Distinct lists of terms that classes carry. The first is empty.
  struct TermSet {
    std::shared_ptr<const CarriedTerms> terms;
    std::vector<KindId> kinds;
  };
  // `matched` is a sum over the terms that match, of numbers as good as random.
  struct Signature {
    std::uint32_t set = 0;
    std::uint64_t matched[2] = {0, 0};
    bool operator==(const Signature& other) const = default;
    template <typename Hash>
    friend Hash AbslHashValue(Hash hash, const Signature& signature) {
      return Hash::combine(std::move(hash), signature.set, signature.matched[0], signature.matched[1]);
    }
    void Gain(TermId term, bool as_incoming, bool as_running);
  };
  struct Class {
    std::shared_ptr<const framework::PodClass> pod_class;
    KindId kind = 0;
    std::uint32_t index = 0;  // in the kind's classes
  };
  struct Kind {
    Signature signature;
    std::vector<ClassId> classes;
  };
  // What a new term means for one class.
  struct Gained {
    KindId kind = 0;
    bool as_incoming = false;
    bool as_running = false;
    ClassId id = 0;
  };
  using Buckets = StringHashMap<std::vector<std::uint32_t>>;

  std::uint32_t SetFor(const std::shared_ptr<const framework::PodClass>& pod_class);
  TermId TermFor(const AffinityTerm& carried, const std::shared_ptr<const framework::PodClass>& pod_class);
  void AddTermToBuckets(TermId id);
  void AddClassToBuckets(ClassId id);
  void Split(TermId id);
  void SplitKind(TermId term, std::span<const Gained> gained);
  KindId AddKind(const Signature& signature);
  void Join(ClassId id, KindId kind);
  void Leave(ClassId id);
  void CollectClasses(const AffinityTerm& own);
  void CollectTerms(const framework::PodClass& pod_class);
  const api::StringMap& NamespaceLabels(const std::string& name) const;

  const framework::ObjectStore<api::Namespace>* namespaces_;
  bool resolves_selectors_;
  std::uint64_t namespaces_version_ = 0;
  bool has_namespace_selectors_ = false;
  // The labels of the namespaces that were asked about.
  mutable StringHashMap<api::StringMap> namespace_labels_;

  std::vector<Class> classes_;
  absl::flat_hash_map<const framework::PodClass*, ClassId> class_ids_;
  ClassId latest_ = 0;  // that Add() was asked about
  std::vector<Kind> kinds_;
  absl::flat_hash_map<Signature, KindId> kind_ids_;
  std::vector<TermSet> sets_;
  StringHashMap<std::uint32_t> set_ids_;
  std::vector<Term> terms_;
  StringHashMap<TermId> term_ids_;

  // "namespace\0label\0value", with an empty namespace for any, or the namespace alone.
  Buckets term_buckets_;   // by what a term can ask for
  Buckets class_buckets_;  // by what classes are; filled when the first term comes

  // Scratch.
  std::string bucket_;
  std::vector<std::uint32_t> found_;
  std::vector<Gained> gained_;
};

}  // namespace berth::plugins
