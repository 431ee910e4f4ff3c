// SPDX-License-Identifier: Apache-2.0
// A conformance case: a cluster, pending pods, and what the real kube-scheduler decides for them, in the format that
// tests/differential/oracle writes (its README describes it). Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/api/quantity.h"
#include "berth/base/expected.h"
#include "berth/core/config/types.h"
#include "berth/framework/objects.h"
#include "berth/framework/release.h"

namespace berth::conformance {

struct StatusRecord {
  std::string code;
  std::string plugin;
  std::vector<std::string> reasons;  // sorted
  bool operator==(const StatusRecord&) const = default;
};

struct NodeRecord {
  std::optional<StatusRecord> refused;  // absent: the filters passed
  std::map<std::string, std::int64_t> scores;
  std::optional<std::int64_t> total;
  bool operator==(const NodeRecord&) const = default;
};

struct PreemptionRecord {
  struct Candidate {
    std::vector<std::string> victims;  // most important first
    std::int64_t pdb_violations = 0;
    bool operator==(const Candidate&) const = default;
  };
  std::string nominated_node;
  std::vector<std::string> victims;
  std::vector<std::string> acceptable;  // nodes that are as good, sorted
  std::map<std::string, Candidate> candidates;
  std::vector<std::string> cleared_nominations;
  bool operator==(const PreemptionRecord&) const = default;
};

// A device that a claim got.
struct DeviceRecord {
  std::string request;
  std::string driver;
  std::string pool;
  std::string device;
  // The capacity that the claim's share of the device consumes; absent: the device is the claim's alone.
  std::optional<std::map<std::string, api::Quantity>> share;
  bool operator==(const DeviceRecord&) const = default;
};
// The keys are the names that the pod gives its claims.
using DevicesByClaim = std::map<std::string, std::vector<DeviceRecord>>;

// One scheduling cycle of one pod.
struct Attempt {
  std::string pod;
  int attempt = 1;
  std::string result;
  std::optional<StatusRecord> pre_enqueue;
  std::optional<StatusRecord> pre_filter;
  std::optional<std::vector<std::string>> pre_filter_nodes;
  std::string nominated_evaluated;
  std::map<std::string, NodeRecord> nodes;
  std::vector<std::string> best;
  std::string bound;
  std::optional<StatusRecord> reserve;
  std::string message;
  std::vector<std::string> unschedulable_plugins;
  std::optional<PreemptionRecord> preemption;
  DevicesByClaim devices;  // of a pod that was bound
};

// What the status of a ResourceClaim holds.
struct ClaimRecord {
  std::vector<DeviceRecord> devices;      // in the order of the status
  std::vector<std::string> reserved_for;  // "pods/name" or "podgroups/name", sorted
  bool operator==(const ClaimRecord&) const = default;
};

// One scheduling cycle of a pod group, or of a pod without one: what came of it. Pods by "namespace/name".
struct CycleRecord {
  std::string entity;  // "podgroup/namespace/name", "compositepodgroup/namespace/name", "pod/namespace/name"
  std::map<std::string, std::string> bound;       // their nodes
  std::map<std::string, std::string> failed;      // "reason: message" of the condition PodScheduled
  std::map<std::string, std::string> nominated;   // nodes that were written; empty: taken back
  std::optional<std::string> condition;           // of the group: "type=status reason: message"
  std::map<std::string, std::string> conditions;  // of the PodGroups within a composite group, by "namespace/name"
  std::vector<std::string> victims;               // by name where there are composite groups
  std::map<std::string, ClaimRecord> claims;      // whose status it changed, as they are then, by "namespace/name"
  std::map<std::string, std::int64_t> queue;      // pods afterwards: "active", and "waiting" for all others
};

struct Case {
  std::string name;
  int release_minor = framework::kDefaultRelease;  // of the kube-scheduler that answered
  std::vector<std::string> gates;                  // that differ from its defaults: "Name=bool"
  std::string config;                              // YAML or JSON; empty: the default
  std::vector<std::shared_ptr<const api::Node>> nodes;
  std::vector<std::shared_ptr<const api::Pod>> pods;
  std::vector<std::shared_ptr<const api::Pod>> pending;
  std::vector<framework::AnyObject> objects;  // of all other kinds
  bool has_scores = true;                     // the expectation lists scores, not totals alone
  std::vector<Attempt> expected;
  bool has_pod_groups = false;
  std::vector<CycleRecord> cycles;  // of cases with pod groups, in place of `expected`
};

// `expected.kubernetes` has to be of a release that berth follows. Fills in the namespace, uid and schedulerName of
// pods where they are empty, as the oracle does.
Expected<Case> LoadCase(const std::string& path);

// The case's own, or the default one, for the release and gates that the case was answered with. All nodes are looked
// at for preemption, as the oracle does: production stops when it has enough.
Expected<config::KubeSchedulerConfiguration> ConfigurationOf(const Case& test);

}  // namespace berth::conformance
