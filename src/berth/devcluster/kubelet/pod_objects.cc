// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/kubelet/pod_objects.h"

#include <charconv>
#include <utility>

#include "berth/codec/json.h"
#include "berth/codec/json_reader.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"

namespace berth::kubelet {
namespace {

using codec::json::array;
using codec::json::object;
using codec::json::value;

// A run of a hundred years is not a number gone wrong; anything longer is.
constexpr std::int64_t kRunSecondsMax = std::int64_t{100} * 365 * 24 * 3600;

// 64 hexadecimal digits that depend on the text alone (FNV-1a, four times): ids look as a runtime's do.
std::string Digest(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digest;
  for (std::uint64_t part = 0; part < 4; ++part) {
    std::uint64_t hash = 0xcbf29ce484222325ULL ^ (part * 0x9e3779b97f4a7c15ULL);
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    for (int shift = 60; shift >= 0; shift -= 4) digest += kDigits[(hash >> shift) & 15];
  }
  return digest;
}

std::string ContainerId(const PodView& pod, const std::string& container) {
  return "containerd://" + Digest(pod.uid + '/' + container);
}

std::vector<PodView::Container> ReadContainers(simdjson::dom::element spec, std::string_view key) {
  std::vector<PodView::Container> containers;
  if (const auto list = codec::FindArray(spec, key)) {
    for (const simdjson::dom::element each : *list) {
      containers.push_back({std::string(codec::StringOrEmpty(each, "name")),
                            std::string(codec::StringOrEmpty(each, "image")),
                            codec::StringOrEmpty(each, "restartPolicy") == "Always"});
    }
  }
  return containers;
}

object ContainerStatus(const PodView& pod, const PodView::Container& container, object state, bool is_running,
                       bool is_ready) {
  return {{"name", container.name},
          {"image", container.image},
          {"imageID", "sha256:" + Digest(container.image)},
          {"containerID", ContainerId(pod, container.name)},
          {"restartCount", 0},
          {"ready", is_ready},
          {"started", is_running},
          {"lastState", object{}},
          {"state", std::move(state)}};
}

object Running(const std::string& since) { return {{"running", object{{"startedAt", since}}}}; }

object Completed(const PodView& pod, const std::string& container, const std::string& since, const std::string& until) {
  return {{"terminated", object{{"exitCode", 0},
                                {"reason", "Completed"},
                                {"startedAt", since},
                                {"finishedAt", until},
                                {"containerID", ContainerId(pod, container)}}}};
}

object Condition(std::string_view type, bool is_true, const std::string& now, std::string_view reason = {}) {
  object condition{{"type", std::string(type)},
                   {"status", is_true ? "True" : "False"},
                   {"lastProbeTime", nullptr},
                   {"lastTransitionTime", now}};
  if (!reason.empty()) condition["reason"] = std::string(reason);
  return condition;
}

}  // namespace

Expected<std::shared_ptr<const PodView>> DecodePodView(const simdjson::dom::element& element) {
  auto pod = std::make_shared<PodView>();
  if (const auto metadata = codec::FindMember(element, "metadata")) {
    pod->name = codec::StringOrEmpty(*metadata, "name");
    pod->namespace_name = codec::StringOrEmpty(*metadata, "namespace");
    pod->uid = codec::StringOrEmpty(*metadata, "uid");
    pod->is_deleted = !codec::StringOrEmpty(*metadata, "deletionTimestamp").empty();
    pod->deletion_grace_seconds = codec::FindInt(*metadata, "deletionGracePeriodSeconds").value_or(0);
    if (const auto owners = codec::FindArray(*metadata, "ownerReferences")) {
      for (const simdjson::dom::element owner : *owners) {
        if (codec::StringOrEmpty(owner, "kind") == "Job") pod->run_time = kJobRunTime;
      }
    }
    if (const auto annotations = codec::FindMember(*metadata, "annotations")) {
      const std::string_view text = codec::StringOrEmpty(*annotations, kRunSecondsAnnotation);
      std::int64_t seconds = 0;
      const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
      const bool is_number = !text.empty() && problem == std::errc() && end == text.data() + text.size();
      if (is_number && seconds >= 0 && seconds <= kRunSecondsMax) pod->run_time = std::chrono::seconds(seconds);
    }
  }
  if (const auto spec = codec::FindMember(element, "spec")) {
    pod->node_name = codec::StringOrEmpty(*spec, "nodeName");
    pod->is_host_network = codec::FindBool(*spec, "hostNetwork").value_or(false);
    pod->init_containers = ReadContainers(*spec, "initContainers");
    pod->containers = ReadContainers(*spec, "containers");
  }
  if (const auto status = codec::FindMember(element, "status")) {
    pod->phase = codec::StringOrEmpty(*status, "phase");
    pod->pod_ip = codec::StringOrEmpty(*status, "podIP");
    pod->start_time = ParseRfc3339(codec::StringOrEmpty(*status, "startTime"));
  }
  return std::shared_ptr<const PodView>(std::move(pod));
}

std::string RunningPatch(const PodView& pod, const std::string& host_ip, const std::string& pod_ip, Time now) {
  const std::string time = FormatRfc3339(now);
  object status{
      {"phase", "Running"},
      {"startTime", time},
      {"hostIP", host_ip},
      {"hostIPs", array{object{{"ip", host_ip}}}},
      {"podIP", pod_ip},
      {"podIPs", array{object{{"ip", pod_ip}}}},
      {"conditions", array{Condition("PodReadyToStartContainers", true, time), Condition("Initialized", true, time),
                           Condition("Ready", true, time), Condition("ContainersReady", true, time)}}};
  array containers;
  for (const auto& each : pod.containers) containers.push_back(ContainerStatus(pod, each, Running(time), true, true));
  status["containerStatuses"] = std::move(containers);
  if (!pod.init_containers.empty()) {
    array init_containers;
    for (const auto& each : pod.init_containers) {
      auto state = each.is_sidecar ? Running(time) : Completed(pod, each.name, time, time);
      init_containers.push_back(ContainerStatus(pod, each, std::move(state), each.is_sidecar, true));
    }
    status["initContainerStatuses"] = std::move(init_containers);
  }
  return codec::WriteJson(object{{"status", std::move(status)}});
}

std::string SucceededPatch(const PodView& pod, Time started, Time now) {
  const std::string time = FormatRfc3339(now);
  const std::string since = FormatRfc3339(started);
  object status{{"phase", "Succeeded"},
                {"conditions", array{Condition("PodReadyToStartContainers", false, time),
                                     Condition("Initialized", true, since, "PodCompleted"),
                                     Condition("Ready", false, time, "PodCompleted"),
                                     Condition("ContainersReady", false, time, "PodCompleted")}}};
  const auto ended = [&](const std::vector<PodView::Container>& containers, bool is_ready) {
    array statuses;
    for (const auto& each : containers) {
      statuses.push_back(ContainerStatus(pod, each, Completed(pod, each.name, since, time), false, is_ready));
    }
    return statuses;
  };
  status["containerStatuses"] = ended(pod.containers, false);
  if (!pod.init_containers.empty()) status["initContainerStatuses"] = ended(pod.init_containers, true);
  return codec::WriteJson(object{{"status", std::move(status)}});
}

}  // namespace berth::kubelet
