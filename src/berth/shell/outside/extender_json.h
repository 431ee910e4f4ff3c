// SPDX-License-Identifier: Apache-2.0
// The JSON of kube-scheduler's extender protocol (k8s.io/kube-scheduler/extender/v1), as Go writes and reads it. Pure
// functions, any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/core/scheduler/io.h"

namespace simdjson::dom {
class element;
}

namespace berth::outside {

// A pod or node as extenders get it: the API server's object, whole, but for kind, apiVersion and
// metadata.managedFields. Upstream leaves the last one out of pods alone; nobody schedules by it.
std::string ObjectForExtender(const simdjson::dom::element& object);

// ExtenderArgs. `pod` and `nodes` come from ObjectForExtender.
std::string ExtenderArgs(std::string_view pod, std::span<const std::shared_ptr<const std::string>> nodes);
std::string ExtenderArgsOfNames(std::string_view pod, std::span<const std::string> node_names);
// ExtenderPreemptionArgs, with the victims' uids, or the victims whole: `pod_json(uid)` is null for one that is gone.
std::string ExtenderPreemptionArgsOfUids(std::string_view pod, std::span<const scheduler::VictimsOnNode> victims);
using PodJson = std::function<std::shared_ptr<const std::string>(const std::string& uid)>;
std::string ExtenderPreemptionArgs(std::string_view pod, std::span<const scheduler::VictimsOnNode> victims,
                                   const PodJson& pod_json);
// ExtenderBindingArgs.
std::string ExtenderBindingArgs(const framework::PodRef& pod, std::string_view node_name);

// These parse answers. Field names are compared without regard to case, as in Go, and unknown fields are skipped. An
// error is one line, and the extender's own if it sent one. Reasons are cut to kReasonBytesMax.
inline constexpr std::size_t kReasonBytesMax = 1024;

struct FilterQuestion {
  std::string_view url_prefix;
  bool node_cache_capable = false;
  std::span<const std::string> node_names;  // the nodes of the request
};
Expected<scheduler::ExtenderAnswer> ParseExtenderFilterResult(std::string_view body, const FilterQuestion& question);
Expected<scheduler::ExtenderAnswer> ParseHostPriorityList(std::string_view body);
Expected<scheduler::ExtenderAnswer> ParseExtenderPreemptionResult(std::string_view body);
Expected<scheduler::ExtenderAnswer> ParseExtenderBindingResult(std::string_view body);

}  // namespace berth::outside
