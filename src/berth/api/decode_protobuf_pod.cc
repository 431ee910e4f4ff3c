// Pods.
#include <iterator>

#include "berth/api/decode_protobuf.h"
#include "berth/api/decode_protobuf_internal.h"

namespace berth::api {
namespace internal {
namespace {

class PodDecoder : public ProtobufDecoder {
 public:
  PodDecoder() : ProtobufDecoder("Pod") {}

  Expected<std::shared_ptr<const Pod>> Decode(std::string_view raw) {
    return Whole<Pod>(raw, [this](Pod& out, const Field& in) {
      if (in.number() == 2) return Spec(in, out.spec) || At("spec");
      return in.number() != 3 || Status(in, out.status) || At("status");
    });
  }

 private:
  bool Spec(const Field& in, PodSpec& out) {
    std::vector<StringMap::Entry> node_selector;
    std::size_t volume_count = 0;
    const bool is_good = Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return VolumeItem(part, out) ? (++volume_count, true) : At("volumes", volume_count);
        case 2: return Containers(part, out.containers, "containers");
        case 7: return Entry(part, node_selector, "nodeSelector");
        case 10: return String(part, out.node_name) || At("nodeName");
        case 11: return Boolean(part, out.host_network) || At("hostNetwork");
        case 18: return Affinity(part, out) || At("affinity");
        case 19: return String(part, out.scheduler_name) || At("schedulerName");
        case 20: return Containers(part, out.init_containers, "initContainers");
        case 22:
          return Append(part, out.tolerations, "tolerations",
                        [this](auto&&... args) { return TolerationItem(args...); });
        case 25: return Int32(part, out.priority) || At("priority");
        case 31: return Policy(part, out.preemption_policy) || At("preemptionPolicy");
        case 32: return Entry(part, out.overhead, "overhead");
        case 33:
          return Append(part, out.topology_spread_constraints, "topologySpreadConstraints",
                        [this](auto&&... args) { return Constraint(args...); });
        case 37: return Boolean(part, out.host_users) || At("hostUsers");
        case 38:
          return Append(part, out.scheduling_gates, "schedulingGates",
                        [this](auto&&... args) { return Gate(args...); });
        case 39:
          return Append(part, out.resource_claims, "resourceClaims",
                        [this](auto&&... args) { return ClaimItem(args...); });
        case 40: return Requests(part, out.requests) || At("resources");
        default: return true;
      }
    });
    if (!node_selector.empty()) out.node_selector = StringMap(std::move(node_selector));
    SortMap(out.overhead);
    return is_good;
  }

  bool Policy(const Field& in, PreemptionPolicy& out) {
    std::string_view text;
    if (!View(in, text)) return false;
    out = ParsePreemptionPolicy(text);
    return true;
  }

  bool Gate(const Field& in, std::string& out) {
    return Message(in, [&](const Field& part) { return part.number() != 1 || String(part, out) || At("name"); });
  }

  bool Containers(const Field& in, std::vector<Container>& out, std::string_view name) {
    return Append(in, out, name, [this](auto&&... args) { return ContainerItem(args...); });
  }

  bool ContainerItem(const Field& in, Container& out) {
    std::size_t rule_count = 0;
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.name) || At("name");
        case 2: return String(part, out.image) || At("image");
        case 6: return Append(part, out.ports, "ports", [this](auto&&... args) { return PortItem(args...); });
        case 8: return Requests(part, out.requests) || At("resources");
        case 24: {
          std::string_view policy;
          if (!View(part, policy)) return At("restartPolicy");
          out.restart_always = IsRestartAlways(policy);
          return true;
        }
        case 25: return RestartRule(part, out) ? (++rule_count, true) : At("restartPolicyRules", rule_count);
        default: return true;
      }
    });
  }

  bool RestartRule(const Field& in, Container& out) {
    return Message(in, [&](const Field& part) {
      if (part.number() != 1) return true;
      std::string_view action;
      if (!View(part, action)) return At("action");
      if (IsRestartAll(action)) out.restarts_all_containers = true;
      return true;
    });
  }

  bool PortItem(const Field& in, ContainerPort& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 2: return Int32(part, out.host_port) || At("hostPort");
        case 4: return String(part, out.protocol) || At("protocol");
        case 5: return String(part, out.host_ip) || At("hostIP");
        default: return true;
      }
    });
  }

  // Only a volume of a kind that scheduling tells apart is made at all.
  bool VolumeItem(const Field& in, PodSpec& out) {
    constexpr std::uint32_t kImage = 30;
    std::string_view name;
    Volume* volume = nullptr;
    const bool is_good = Message(in, [&](const Field& part) {
      if (part.number() == 1) return View(part, name) || At("name");
      if (part.number() != 2) return true;
      return Message(part, [&](const Field& source) {
        if (source.number() == kImage) return Image(source, out.image_volumes.emplace_back()) || At("image");
        const SourceShape* shape = FindSource(source.number(), false);
        if (shape == nullptr) return true;
        if (volume == nullptr) volume = &out.volumes.emplace_back();
        return Source(source, *shape, volume->source);
      });
    });
    if (volume != nullptr) volume->name = name;
    return is_good;
  }

  bool Image(const Field& in, std::string& out) {
    return Message(in, [&](const Field& part) { return part.number() != 1 || String(part, out) || At("reference"); });
  }

  bool ClaimItem(const Field& in, PodResourceClaim& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.name) || At("name");
        case 3: return String(part, out.claim_name) || At("resourceClaimName");
        case 4: return String(part, out.template_name) || At("resourceClaimTemplateName");
        default: return true;
      }
    });
  }

  bool Constraint(const Field& in, TopologySpreadConstraint& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return Int32(part, out.max_skew) || At("maxSkew");
        case 2: return String(part, out.topology_key) || At("topologyKey");
        case 3: {
          std::string_view action;
          if (!View(part, action)) return At("whenUnsatisfiable");
          out.when_unsatisfiable = ParseAction(action);
          return true;
        }
        case 4: return Selector(part, out.selector) || At("labelSelector");
        case 5: return Int32(part, out.min_domains) || At("minDomains");
        case 6: return Inclusion(part, out.node_affinity_policy) || At("nodeAffinityPolicy");
        case 7: return Inclusion(part, out.node_taints_policy) || At("nodeTaintsPolicy");
        case 8: return Append(part, out.match_label_keys, "matchLabelKeys");
        default: return true;
      }
    });
  }

  bool Inclusion(const Field& in, std::optional<NodeInclusionPolicy>& out) {
    std::string_view text;
    if (!View(in, text)) return false;
    out = ParsePolicy(text);
    return true;
  }

  bool TolerationItem(const Field& in, Toleration& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.key) || At("key");
        case 2: return String(part, out.op) || At("operator");
        case 3: return String(part, out.value) || At("value");
        case 4: return Effect(part, out.effect) || At("effect");
        default: return true;
      }
    });
  }

  bool Affinity(const Field& in, PodSpec& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return NodeAffinityField(part, out.node_affinity.emplace()) || At("nodeAffinity");
        case 2: return PodAffinityField(part, out.pod_affinity) || At("podAffinity");
        case 3: return PodAffinityField(part, out.pod_anti_affinity) || At("podAntiAffinity");
        default: return true;
      }
    });
  }

  bool NodeAffinityField(const Field& in, NodeAffinity& out) {
    return Message(in, [&](const Field& part) {
      if (part.number() == 1) return NodeTerms(part, out.required) || At(kRequired);
      return part.number() != 2 ||
             Append(part, out.preferred, kPreferred, [this](const Field& term, PreferredSchedulingTerm& slot) {
               return Message(term, [&](const Field& each) {
                 if (each.number() == 1) return Int32(each, slot.weight) || At("weight");
                 return each.number() != 2 || TermItem(each, slot.preference) || At("preference");
               });
             });
    });
  }

  bool PodAffinityField(const Field& in, PodAffinity& out) {
    return Message(in, [&](const Field& part) {
      if (part.number() == 1) {
        return Append(part, out.required, kRequired, [this](auto&&... args) { return AffinityTerm(args...); });
      }
      return part.number() != 2 ||
             Append(part, out.preferred, kPreferred, [this](const Field& term, WeightedPodAffinityTerm& slot) {
               return Message(term, [&](const Field& each) {
                 if (each.number() == 1) return Int32(each, slot.weight) || At("weight");
                 return each.number() != 2 || AffinityTerm(each, slot.term) || At("podAffinityTerm");
               });
             });
    });
  }

  bool AffinityTerm(const Field& in, PodAffinityTerm& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return Selector(part, out.selector) || At("labelSelector");
        case 2: return Append(part, out.namespaces, "namespaces");
        case 3: return String(part, out.topology_key) || At("topologyKey");
        case 4: return Selector(part, out.namespace_selector) || At("namespaceSelector");
        default: return true;
      }
    });
  }

  bool Status(const Field& in, PodStatus& out) {
    // In JSON the init containers' come first.
    std::vector<ContainerStatus> of_containers;
    std::size_t container_count = 0;
    std::size_t init_count = 0;
    std::size_t condition_count = 0;
    const bool is_good = Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return Phase(part, out.phase) || At("phase");
        case 2: return Condition(part, out.conditions) ? (++condition_count, true) : At("conditions", condition_count);
        case 7: return TimeField(part, out.start_time) || At("startTime");
        case 8:
          return StatusItem(part, of_containers) ? (++container_count, true) : At("containerStatuses", container_count);
        case 10:
          return StatusItem(part, out.container_statuses) ? (++init_count, true)
                                                          : At("initContainerStatuses", init_count);
        case 11: return String(part, out.nominated_node_name) || At("nominatedNodeName");
        case 15:
          return Append(part, out.resource_claim_statuses, "resourceClaimStatuses",
                        [this](auto&&... args) { return ClaimStatus(args...); });
        case 18:
          return ExtendedClaimStatus(part, out.extended_resource_claim_status.emplace()) ||
                 At("extendedResourceClaimStatus");
        case 19: return Allocated(part, Present(out.pod_resources));
        case 20: return StatusRequests(part, Present(out.pod_resources));
        default: return true;
      }
    });
    if (out.pod_resources && out.pod_resources->allocated_resources) SortMap(*out.pod_resources->allocated_resources);
    std::move(of_containers.begin(), of_containers.end(), std::back_inserter(out.container_statuses));
    return is_good;
  }

  template <typename T>
  static T& Present(std::optional<T>& optional) {
    return optional ? *optional : optional.emplace();
  }

  bool Phase(const Field& in, PodPhase& out) {
    std::string_view text;
    if (!View(in, text)) return false;
    out = ParsePhase(text);
    return true;
  }

  bool Condition(const Field& in, std::vector<PodCondition>& out) {
    std::string_view type, status, reason, message;
    const bool is_good = Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return View(part, type) || At("type");
        case 2: return View(part, status) || At("status");
        case 5: return View(part, reason) || At("reason");
        case 6: return View(part, message) || At("message");
        default: return true;
      }
    });
    if (!is_good || !IsKeptCondition(type)) return is_good;
    out.push_back({std::string(type), std::string(status), std::string(reason), std::string(message)});
    return true;
  }

  // Only a status that tells resources is made at all.
  bool StatusItem(const Field& in, std::vector<ContainerStatus>& out) {
    std::string_view name;
    ContainerStatus* status = nullptr;
    const auto made = [&]() -> ContainerStatus& {
      return status != nullptr ? *status : *(status = &out.emplace_back());
    };
    const bool is_good = Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return View(part, name) || At("name");
        case 10: return Allocated(part, made());
        case 11: return StatusRequests(part, made());
        default: return true;
      }
    });
    if (status != nullptr) {
      status->name = name;
      if (status->allocated_resources) SortMap(*status->allocated_resources);
    }
    return is_good;
  }

  bool Allocated(const Field& in, ContainerStatus& out) {
    return Entry(in, Present(out.allocated_resources), "allocatedResources");
  }
  // A status with `resources` but no requests in it asks for nothing: upstream reads a nil map there.
  bool StatusRequests(const Field& in, ContainerStatus& out) {
    return Requests(in, Present(out.requests)) || At("resources");
  }

  bool ClaimStatus(const Field& in, PodResourceClaimStatus& out) {
    return Message(in, [&](const Field& part) {
      if (part.number() == 1) return String(part, out.name) || At("name");
      return part.number() != 2 || String(part, out.claim_name) || At("resourceClaimName");
    });
  }

  bool ExtendedClaimStatus(const Field& in, PodExtendedResourceClaimStatus& out) {
    return Message(in, [&](const Field& part) {
      if (part.number() == 2) return String(part, out.claim_name) || At("resourceClaimName");
      return part.number() != 1 ||
             Append(part, out.request_mappings, "requestMappings", [this](auto&&... args) { return Mapping(args...); });
    });
  }

  bool Mapping(const Field& in, ContainerExtendedResourceRequest& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.container_name) || At("containerName");
        case 2: return String(part, out.resource_name) || At("resourceName");
        case 3: return String(part, out.request_name) || At("requestName");
        default: return true;
      }
    });
  }

  static constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  static constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
};

}  // namespace
}  // namespace internal

Expected<std::shared_ptr<const Pod>> DecodePodProtobuf(std::string_view raw) {
  return internal::PodDecoder().Decode(raw);
}

}  // namespace berth::api
