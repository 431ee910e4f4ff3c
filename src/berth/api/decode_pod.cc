// Pods.
#include "berth/api/decode.h"
#include "berth/api/decode_internal.h"

namespace berth::api {
namespace internal {

namespace {

class PodDecoder : public Decoder {
 public:
  PodDecoder() : Decoder("Pod") {}

  Expected<std::shared_ptr<const Pod>> Decode(element object) {
    return Whole<Pod>(object, [this](Pod& out, std::string_view key, element value, const Path& path) {
      if (Is(key, "spec")) return Spec(value, path, out.spec);
      return !Is(key, "status") || Status(value, path, out.status);
    });
  }

 private:
  bool Spec(element value, const Path& path, PodSpec& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "nodeName")) return String(item, at, out.node_name);
      if (Is(key, "schedulerName")) return String(item, at, out.scheduler_name);
      if (Is(key, "priority")) return item.is_null() || Int32(item, at, out.priority.emplace());
      if (Is(key, "preemptionPolicy")) return Policy(item, at, out.preemption_policy);
      if (Is(key, "nodeSelector")) return Strings(item, at, out.node_selector);
      if (Is(key, "affinity")) return Affinity(item, at, out);
      if (Is(key, "tolerations")) {
        return List(item, at, out.tolerations, [this](auto&&... args) { return TolerationItem(args...); });
      }
      if (Is(key, "containers")) return Containers(item, at, out.containers);
      if (Is(key, "initContainers")) return Containers(item, at, out.init_containers);
      if (Is(key, "volumes")) return Volumes(item, at, out);
      if (Is(key, "overhead")) return Resources(item, at, out.overhead);
      if (Is(key, "resources")) return Requests(item, at, out.requests);
      if (Is(key, "schedulingGates")) {
        return List(item, at, out.scheduling_gates,
                    [this](element gate, const Path& where, std::string& slot) { return NameOf(gate, where, slot); });
      }
      if (Is(key, "topologySpreadConstraints")) {
        return List(item, at, out.topology_spread_constraints, [this](auto&&... args) { return Constraint(args...); });
      }
      if (Is(key, "resourceClaims")) {
        return List(item, at, out.resource_claims, [this](auto&&... args) { return ClaimItem(args...); });
      }
      if (Is(key, "hostNetwork")) return Boolean(item, at, out.host_network);
      if (Is(key, "hostUsers")) return Boolean(item, at, out.host_users);
      return true;
    });
  }

  bool Policy(element value, const Path& path, PreemptionPolicy& out) {
    std::string_view text;
    if (!View(value, path, text)) return false;
    out = ParsePreemptionPolicy(text);
    return true;
  }

  bool NameOf(element value, const Path& path, std::string& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      return !Is(key, "name") || String(item, path.Field(key), out);
    });
  }

  bool Containers(element value, const Path& path, std::vector<Container>& out) {
    return List(value, path, out,
                [&](element item, const Path& at, Container& container) { return ContainerItem(item, at, container); });
  }

  bool ContainerItem(element value, const Path& path, Container& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "name")) return String(item, at, out.name);
      if (Is(key, "image")) return String(item, at, out.image);
      if (Is(key, "resources")) return Requests(item, at, out.requests);
      if (Is(key, "ports")) return List(item, at, out.ports, [this](auto&&... args) { return PortItem(args...); });
      if (Is(key, "restartPolicy")) {
        std::string_view policy;
        if (!View(item, at, policy)) return false;
        out.restart_always = IsRestartAlways(policy);
        return true;
      }
      if (Is(key, "restartPolicyRules")) {
        return Array(item, at, [&](element rule, const Path& where) { return RestartRule(rule, where, out); });
      }
      return true;
    });
  }

  bool RestartRule(element value, const Path& path, Container& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      if (!Is(key, "action")) return true;
      std::string_view action;
      if (!View(item, path.Field(key), action)) return false;
      if (IsRestartAll(action)) out.restarts_all_containers = true;
      return true;
    });
  }

  bool PortItem(element value, const Path& path, ContainerPort& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "hostPort")) return Int32(item, at, out.host_port);
      if (Is(key, "hostIP")) return String(item, at, out.host_ip);
      return !Is(key, "protocol") || String(item, at, out.protocol);
    });
  }

  bool Volumes(element value, const Path& path, PodSpec& out) {
    out.volumes.clear();
    out.image_volumes.clear();
    return Array(value, path, [&](element item, const Path& at) {
      Volume volume;
      const bool is_good = Object(item, at, [&](std::string_view key, element field) {
        const Path where = at.Field(key);
        if (Is(key, "name")) return String(field, where, volume.name);
        if (field.is_null()) return true;
        if (!Is(key, "image")) return Source(key, field, where, volume.source);
        auto& reference = out.image_volumes.emplace_back();
        return Object(field, where, [&](std::string_view name, element text) {
          return !Is(name, "reference") || String(text, where.Field(name), reference);
        });
      });
      if (is_good && volume.source.kind != VolumeKind::kOther) out.volumes.push_back(std::move(volume));
      return is_good;
    });
  }

  bool ClaimItem(element value, const Path& path, PodResourceClaim& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "name")) return String(item, at, out.name);
      if (Is(key, "resourceClaimName")) return String(item, at, out.claim_name);
      return !Is(key, "resourceClaimTemplateName") || String(item, at, out.template_name);
    });
  }

  bool Constraint(element value, const Path& path, TopologySpreadConstraint& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "maxSkew")) return Int32(item, at, out.max_skew);
      if (Is(key, "topologyKey")) return String(item, at, out.topology_key);
      if (Is(key, "labelSelector")) return Selector(item, at, out.selector);
      if (Is(key, "minDomains")) return Int32(item, at, out.min_domains);
      if (Is(key, "nodeAffinityPolicy")) return Inclusion(item, at, out.node_affinity_policy);
      if (Is(key, "nodeTaintsPolicy")) return Inclusion(item, at, out.node_taints_policy);
      if (Is(key, "matchLabelKeys")) return Strings(item, at, out.match_label_keys);
      if (!Is(key, "whenUnsatisfiable")) return true;
      std::string_view action;
      if (!View(item, at, action)) return false;
      out.when_unsatisfiable = ParseAction(action);
      return true;
    });
  }

  bool Inclusion(element value, const Path& path, std::optional<NodeInclusionPolicy>& out) {
    out.reset();
    if (value.is_null()) return true;
    std::string_view text;
    if (!View(value, path, text)) return false;
    out = ParsePolicy(text);
    return true;
  }

  bool TolerationItem(element value, const Path& path, Toleration& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "key")) return String(item, at, out.key);
      if (Is(key, "operator")) return String(item, at, out.op);
      if (Is(key, "value")) return String(item, at, out.value);
      return !Is(key, "effect") || Effect(item, at, out.effect);
    });
  }

  bool Affinity(element value, const Path& path, PodSpec& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      if (item.is_null()) return true;
      const Path at = path.Field(key);
      if (Is(key, "nodeAffinity")) return NodeAffinityField(item, at, out.node_affinity.emplace());
      if (Is(key, "podAffinity")) return PodAffinityField(item, at, out.pod_affinity);
      return !Is(key, "podAntiAffinity") || PodAffinityField(item, at, out.pod_anti_affinity);
    });
  }

  bool PodAffinityField(element value, const Path& path, PodAffinity& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "requiredDuringSchedulingIgnoredDuringExecution")) {
        return List(item, at, out.required, [this](auto&&... args) { return AffinityTerm(args...); });
      }
      if (!Is(key, "preferredDuringSchedulingIgnoredDuringExecution")) return true;
      return List(item, at, out.preferred, [this](element term, const Path& where, WeightedPodAffinityTerm& slot) {
        return Object(term, where, [&](std::string_view name, element field) {
          if (Is(name, "weight")) return Int32(field, where.Field(name), slot.weight);
          return !Is(name, "podAffinityTerm") || AffinityTerm(field, where.Field(name), slot.term);
        });
      });
    });
  }

  bool AffinityTerm(element value, const Path& path, PodAffinityTerm& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "labelSelector")) return Selector(item, at, out.selector);
      if (Is(key, "namespaces")) return Strings(item, at, out.namespaces);
      if (Is(key, "namespaceSelector")) return Selector(item, at, out.namespace_selector);
      return !Is(key, "topologyKey") || String(item, at, out.topology_key);
    });
  }

  bool NodeAffinityField(element value, const Path& path, NodeAffinity& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      if (item.is_null()) return true;
      const Path at = path.Field(key);
      if (Is(key, "requiredDuringSchedulingIgnoredDuringExecution")) {
        return NodeTerms(item, at, out.required);
      }
      if (Is(key, "preferredDuringSchedulingIgnoredDuringExecution")) {
        return List(item, at, out.preferred, [this](element term, const Path& where, PreferredSchedulingTerm& slot) {
          return Object(term, where, [&](std::string_view name, element field) {
            if (Is(name, "weight")) return Int32(field, where.Field(name), slot.weight);
            return !Is(name, "preference") || TermItem(field, where.Field(name), slot.preference);
          });
        });
      }
      return true;
    });
  }

  bool Status(element value, const Path& path, PodStatus& out) {
    ContainerStatus pod_level;
    const bool is_good = Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "phase")) {
        std::string_view phase;
        if (!View(item, at, phase)) return false;
        out.phase = ParsePhase(phase);
        return true;
      }
      if (Is(key, "nominatedNodeName")) return String(item, at, out.nominated_node_name);
      if (Is(key, "startTime")) return TimeField(item, at, out.start_time);
      if (Is(key, "conditions")) return Conditions(item, at, out.conditions);
      if (Is(key, "containerStatuses") || Is(key, "initContainerStatuses")) {
        return ContainerStatuses(item, at, out.container_statuses);
      }
      if (Is(key, "resourceClaimStatuses")) {
        return List(item, at, out.resource_claim_statuses, [this](auto&&... args) { return ClaimStatus(args...); });
      }
      if (Is(key, "extendedResourceClaimStatus")) {
        return item.is_null() || ExtendedClaimStatus(item, at, out.extended_resource_claim_status.emplace());
      }
      return StatusResources(key, item, at, pod_level);
    });
    if (pod_level.requests || pod_level.allocated_resources) out.pod_resources = std::move(pod_level);
    return is_good;
  }

  bool Conditions(element value, const Path& path, std::vector<PodCondition>& out) {
    return Array(value, path, [&](element item, const Path& at) {
      std::string_view type;
      if (item.is_object() && item["type"].get(type) == simdjson::SUCCESS && !IsKeptCondition(type)) return true;
      PodCondition condition;
      const bool is_good = Object(item, at, [&](std::string_view key, element field) {
        const Path where = at.Field(key);
        if (Is(key, "type")) return String(field, where, condition.type);
        if (Is(key, "status")) return String(field, where, condition.status);
        if (Is(key, "reason")) return String(field, where, condition.reason);
        return !Is(key, "message") || String(field, where, condition.message);
      });
      if (is_good && IsKeptCondition(condition.type)) out.push_back(std::move(condition));
      return is_good;
    });
  }

  bool ContainerStatuses(element value, const Path& path, std::vector<ContainerStatus>& out) {
    return Array(value, path, [&](element item, const Path& at) {
      ContainerStatus status;
      const bool is_good = Object(item, at, [&](std::string_view key, element field) {
        const Path where = at.Field(key);
        return Is(key, "name") ? String(field, where, status.name) : StatusResources(key, field, where, status);
      });
      if (is_good && (status.requests || status.allocated_resources)) out.push_back(std::move(status));
      return is_good;
    });
  }

  // The two fields that a container's and a pod's status share. Present and empty differs from absent.
  bool StatusResources(std::string_view key, element value, const Path& path, ContainerStatus& out) {
    if (value.is_null()) return true;
    if (Is(key, "allocatedResources")) return Resources(value, path, out.allocated_resources.emplace());
    if (!Is(key, "resources")) return true;
    // A status with `resources` but no requests in it asks for nothing: upstream reads a nil map there.
    return Requests(value, path, out.requests.emplace());
  }

  bool ClaimStatus(element value, const Path& path, PodResourceClaimStatus& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      if (Is(key, "name")) return String(item, path.Field(key), out.name);
      return !Is(key, "resourceClaimName") || String(item, path.Field(key), out.claim_name);
    });
  }

  bool ExtendedClaimStatus(element value, const Path& path, PodExtendedResourceClaimStatus& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "resourceClaimName")) return String(item, at, out.claim_name);
      if (!Is(key, "requestMappings")) return true;
      return List(item, at, out.request_mappings,
                  [this](element mapping, const Path& where, ContainerExtendedResourceRequest& slot) {
                    return Object(mapping, where, [&](std::string_view name, element field) {
                      const Path place = where.Field(name);
                      if (Is(name, "containerName")) return String(field, place, slot.container_name);
                      if (Is(name, "resourceName")) return String(field, place, slot.resource_name);
                      return !Is(name, "requestName") || String(field, place, slot.request_name);
                    });
                  });
    });
  }
};

}  // namespace
}  // namespace internal

Expected<std::shared_ptr<const Pod>> DecodePod(simdjson::dom::element object) {
  return internal::PodDecoder().Decode(object);
}

}  // namespace berth::api
