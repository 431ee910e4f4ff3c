// The parts of a pod's validation, which resources_validate_pod.cc puts together: containers, scheduling, updates.
// Plain functions of documents, thread-safe. `field` is the path of the spec or, for a container, its own.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/devcluster/apiserver/resources_internal.h"

namespace berth::apiserver::internal {

inline const std::vector<std::string_view> kTaintEffects = {"NoSchedule", "PreferNoSchedule", "NoExecute"};

// What the containers of one pod may refer to, and what must differ among them.
struct ContainerContext {
  std::set<std::string> names;
  std::set<std::string> volumes;
  std::set<std::string> claims;
  std::set<std::string> host_ports;  // "TCP/10.0.0.1/80"
  bool is_host_network = false;
};

// --- Containers (resources_validate_container.cc) --------------------------------------------------------------------

void ValidateContainer(const json::object& container, const std::string& field, ContainerContext& context, bool is_init,
                       Errors& errors);
// Of a container or of the pod as a whole.
void ValidateResources(const json::object& owner, const std::string& owner_field, const std::set<std::string>& claims,
                       Errors& errors);

// --- Scheduling (resources_validate_scheduling.cc) -------------------------------------------------------------------

void ValidateTolerations(const json::object& spec, const std::string& field, Errors& errors);
void ValidateAffinity(const json::object& spec, const std::string& field, Errors& errors);
void ValidateTopologySpread(const json::object& spec, const std::string& field, Errors& errors);
void ValidateSchedulingGates(const json::object& spec, const std::string& field, Errors& errors);

// --- Updates (resources_validate_pod_update.cc) ----------------------------------------------------------------------

// What an update may change in a pod's spec.
void ValidatePodSpecUpdate(const json::object& spec, const json::object& old_spec, Errors& errors);

}  // namespace berth::apiserver::internal
