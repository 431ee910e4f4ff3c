// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/kubelet/node_objects.h"

#include <charconv>
#include <memory>
#include <utility>

#include "berth/codec/json.h"
#include "berth/codec/json_reader.h"

namespace berth::kubelet {
namespace {

using codec::json::array;
using codec::json::object;
using codec::json::value;

constexpr const char* kArchitecture = "amd64";
constexpr const char* kSystem = "linux";
// Hosts are 172.16.0.0/12, 254 to a block. A node's pods have a /24: of 10.64.0.0 to 10.255.0.0, or of 240.0.0.0/4,
// which no network uses, where the former have no more of them.
constexpr int kHostsPerBlock = 254;
constexpr int kFirstPodBlock = 64;
constexpr int kPrivatePodBlocks = (256 - kFirstPodBlock) * 256;
constexpr int kFirstReservedNetwork = 240;

object Condition(std::string_view type, std::string_view status, std::string_view reason, std::string_view message,
                 const std::string& now) {
  return {{"type", std::string(type)}, {"status", std::string(status)}, {"lastHeartbeatTime", now},
          {"lastTransitionTime", now}, {"reason", std::string(reason)}, {"message", std::string(message)}};
}

// A stand-in for the ids of a machine: the same bytes in every run.
std::string MachineId(int number) {
  std::string digits = std::to_string(number);
  return "00000000-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

object NodeStatus(const NodeShape& shape, int number, Time now) {
  const std::string time = FormatRfc3339(now);
  object resources{{"cpu", shape.cpu}, {"memory", shape.memory}, {"pods", shape.pods}, {"ephemeral-storage", "100Gi"}};
  for (const auto& [name, amount] : shape.resources) resources[name] = amount;
  return {
      {"capacity", resources},
      {"allocatable", resources},
      {"conditions",
       array{Condition("MemoryPressure", "False", "KubeletHasSufficientMemory",
                       "kubelet has sufficient memory available", time),
             Condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure", time),
             Condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available", time),
             Condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", time)}},
      {"addresses", array{object{{"type", "InternalIP"}, {"address", NodeAddress(number)}},
                          object{{"type", "Hostname"}, {"address", shape.name}}}},
      {"nodeInfo", object{{"machineID", MachineId(number)},
                          {"systemUUID", MachineId(number)},
                          {"bootID", MachineId(number)},
                          {"kernelVersion", "6.1.0"},
                          {"osImage", "berth simulated node"},
                          {"containerRuntimeVersion", "berth://0.1.0"},
                          {"kubeletVersion", shape.kubelet_version},
                          {"kubeProxyVersion", ""},
                          {"operatingSystem", kSystem},
                          {"architecture", kArchitecture}}},
  };
}

object KubeletLabels(const std::string& name) {
  return {{"kubernetes.io/hostname", name}, {"kubernetes.io/os", kSystem}, {"kubernetes.io/arch", kArchitecture}};
}

object LeaseSpec(const std::string& node_name, Duration duration, Time now) {
  return {{"holderIdentity", node_name},
          {"leaseDurationSeconds", std::chrono::ceil<std::chrono::seconds>(duration).count()},
          {"renewTime", FormatRfc3339Micro(now)}};
}

}  // namespace

std::vector<NodeShape> ShapesOf(const KubeletOptions& options) {
  if (!options.shapes.empty()) {
    std::vector<NodeShape> shapes = options.shapes;
    for (NodeShape& shape : shapes) shape.kubelet_version = options.version;
    return shapes;
  }
  std::vector<NodeShape> shapes(static_cast<std::size_t>(options.nodes));
  for (int number = 1; number <= options.nodes; ++number) {
    NodeShape& shape = shapes[static_cast<std::size_t>(number) - 1];
    shape.name = options.node_prefix + std::to_string(number);
    shape.cpu = options.cpu;
    shape.memory = options.memory;
    shape.pods = options.pods;
    shape.kubelet_version = options.version;
    shape.zone = "zone-" + std::to_string((number - 1) % options.zones + 1);
    shape.region = options.region;
  }
  return shapes;
}

std::string NodeAddress(int number) {
  const int block = (number - 1) / kHostsPerBlock;
  return "172." + std::to_string(16 + block / 256) + '.' + std::to_string(block % 256) + '.' +
         std::to_string((number - 1) % kHostsPerBlock + 1);
}

std::string PodAddress(int number, int pod) {
  const int block = number - 1;
  const std::string last = std::to_string(block % 256) + '.' + std::to_string(pod);
  if (block < kPrivatePodBlocks) return "10." + std::to_string(kFirstPodBlock + block / 256) + '.' + last;
  return std::to_string(kFirstReservedNetwork + block / 65'536) + '.' + std::to_string(block / 256 % 256) + '.' + last;
}

int PodOfAddress(int number, std::string_view address) {
  const std::string some = PodAddress(number, 0);
  const std::string_view prefix = std::string_view(some).substr(0, some.size() - 1);
  if (!address.starts_with(prefix)) return 0;
  const std::string_view digits = address.substr(prefix.size());
  int pod = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), pod);
  return problem == std::errc() && end == digits.data() + digits.size() && pod >= 1 && pod <= 254 ? pod : 0;
}

std::string NodeDocument(const NodeShape& shape, int number, Time now) {
  object labels = KubeletLabels(shape.name);
  labels["topology.kubernetes.io/region"] = shape.region;
  labels["topology.kubernetes.io/zone"] = shape.zone;
  for (const auto& [key, text] : shape.labels) labels[key] = text;
  object metadata{{"name", shape.name}, {"labels", std::move(labels)}};
  if (!shape.annotations.empty()) {
    object annotations;
    for (const auto& [key, text] : shape.annotations) annotations[key] = text;
    metadata["annotations"] = std::move(annotations);
  }
  object spec;
  if (!shape.taints.empty()) {
    array taints;
    for (const NodeShape::Taint& taint : shape.taints) {
      object written{{"key", taint.key}, {"effect", taint.effect}};
      if (!taint.value.empty()) written["value"] = taint.value;
      taints.push_back(std::move(written));
    }
    spec["taints"] = std::move(taints);
  }
  return codec::WriteJson(object{{"apiVersion", "v1"},
                                 {"kind", "Node"},
                                 {"metadata", std::move(metadata)},
                                 {"spec", std::move(spec)},
                                 {"status", NodeStatus(shape, number, now)}});
}

std::string NodeStatusPatch(const NodeShape& shape, int number, bool keeps_amounts, Time now) {
  object status = NodeStatus(shape, number, now);
  if (keeps_amounts) {
    status.erase("capacity");
    status.erase("allocatable");
  }
  return codec::WriteJson(object{{"status", std::move(status)}});
}

std::string NodeLabelsPatch(const std::string& name) {
  return codec::WriteJson(object{{"metadata", object{{"labels", KubeletLabels(name)}}}});
}

std::string LeaseDocument(const std::string& node_name, const std::string& node_uid, Duration duration, Time now) {
  object metadata{{"name", node_name}, {"namespace", "kube-node-lease"}};
  if (!node_uid.empty()) {
    metadata["ownerReferences"] =
        array{object{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node_name}, {"uid", node_uid}}};
  }
  return codec::WriteJson(object{{"apiVersion", "coordination.k8s.io/v1"},
                                 {"kind", "Lease"},
                                 {"metadata", std::move(metadata)},
                                 {"spec", LeaseSpec(node_name, duration, now)}});
}

std::string LeaseRenewal(const std::string& node_name, Duration duration, Time now) {
  return codec::WriteJson(object{{"spec", LeaseSpec(node_name, duration, now)}});
}

Expected<std::shared_ptr<const NodeView>> DecodeNodeView(const simdjson::dom::element& node) {
  auto view = std::make_shared<NodeView>();
  if (const auto metadata = codec::FindMember(node, "metadata")) {
    view->name = codec::StringOrEmpty(*metadata, "name");
    view->uid = codec::StringOrEmpty(*metadata, "uid");
    view->has_hostname = codec::FindPath(node, {"metadata", "labels", "kubernetes.io/hostname"}).has_value();
  }
  for (const char* amounts : {"capacity", "allocatable"}) {
    const auto found = codec::FindPath(node, {"status", amounts});
    view->has_amounts = view->has_amounts || (found && found->is_object() && found->get_object().value().size() > 0);
  }
  if (const auto conditions = codec::FindPath(node, {"status", "conditions"}); conditions && conditions->is_array()) {
    const simdjson::dom::array listed = conditions->get_array().value();
    for (const simdjson::dom::element condition : listed) {
      if (codec::StringOrEmpty(condition, "type") == "Ready") {
        view->is_ready = codec::StringOrEmpty(condition, "status") == "True";
      }
    }
  }
  return std::shared_ptr<const NodeView>(std::move(view));
}

}  // namespace berth::kubelet
