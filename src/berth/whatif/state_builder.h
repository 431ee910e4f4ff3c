// SPDX-License-Identifier: Apache-2.0
// StateBuilder: makes a ClusterState object by object, for those who read one: from an API server (cluster_reader.h) or
// from a file (snapshot_file.h). One thread.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/framework/object_kinds.h"
#include "berth/framework/release.h"
#include "berth/whatif/cluster_state.h"

namespace berth::whatif {

// The kinds of a ClusterState by number: nodes, pods, those of framework::ObjectKind in their order, and those of
// ClusterState::admission.
inline constexpr std::size_t kNodes = 0;
inline constexpr std::size_t kPods = 1;
inline constexpr std::size_t kAdmissionKinds = 2 + framework::kObjectKindCount;
inline constexpr std::size_t kResourceQuotas = kAdmissionKinds + 3;
inline constexpr std::size_t kKindCount = kResourceQuotas + 1;

const framework::ObjectKindInfo& KindInfo(std::size_t kind);
// The path under which all objects of the kind are listed.
std::string KindPath(std::size_t kind, int release_minor = framework::kNewestRelease);
// False: servers of some release that berth follows do not serve the kind, and nothing is missing then.
bool IsServedByAll(std::size_t kind);
// "Pod", "StorageClass"; nullopt: a ClusterState has no such kind.
std::optional<std::size_t> KindNamed(std::string_view name);

// What of the objects is kept.
struct StateKeeps {
  bool objects = true;       // else they are decoded and counted, and that is all
  bool pod_details = false;  // and finished pods
};

class StateBuilder {
 public:
  // How many unreadable objects of one kind get a line each; the others are counted in one line.
  static constexpr std::size_t kUnreadableReportedMax = 5;

  explicit StateBuilder(StateKeeps keeps = {}) : keeps_(keeps) {}

  // `object` is the JSON of one object of the kind. False: it does not decode, and a line says so.
  bool Add(std::size_t kind, const simdjson::dom::element& object);
  // Records an object of which there is no JSON.
  void AddUnreadable(std::size_t kind, const Error& error);
  // Forgets what Add() and AddUnreadable() have got of the kind.
  void Forget(std::size_t kind);
  // Records why a whole kind is left out.
  void LeaveOut(std::size_t kind, std::string_view why);
  // Objects of the kind that have been added, finished pods among them.
  std::size_t count(std::size_t kind) const { return kinds_.at(kind).count; }

  // Objects of the kind that could not be read.
  std::size_t unreadable(std::size_t kind) const { return kinds_.at(kind).unreadable; }

  // Its objects and `left_out`, in the order of the kinds.
  ClusterState Take() &&;

 private:
  struct OfKind {
    std::size_t count = 0;
    std::size_t unreadable = 0;
    std::vector<std::string> left_out;
    std::vector<framework::AnyObject> objects;
    std::vector<AdmissionObject> admission;
  };

  Expected<void> Keep(std::size_t kind, const simdjson::dom::element& object);
  Expected<void> KeepPod(const simdjson::dom::element& object);
  Expected<void> KeepAdmission(std::size_t kind, const simdjson::dom::element& object);

  StateKeeps keeps_;
  ClusterState state_;  // its nodes and pods
  std::array<OfKind, kKindCount> kinds_;
};

}  // namespace berth::whatif
