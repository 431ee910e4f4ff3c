#include "berth/api/decode.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <string>

namespace berth::api {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

// A text longer than this is no single object: the API server refuses objects of half this size.
constexpr std::size_t kObjectBytesMax = std::size_t{8} << 20;
constexpr std::size_t kShownTextMax = 64;

// Where the decoder is, as a chain on the stack: it costs nothing until an error has to name its place.
struct Path {
  const Path* parent = nullptr;
  std::string_view key;
  std::int64_t index = -1;  // of an array element
  bool is_map_key = false;  // requests[cpu] instead of requests.cpu

  Path Field(std::string_view name) const { return {this, name, -1, false}; }
  Path Entry(std::string_view name) const { return {this, name, -1, true}; }
  Path Item(std::int64_t at) const { return {this, {}, at, false}; }

  void Append(std::string& out) const {
    if (parent == nullptr) return;
    parent->Append(out);
    if (index >= 0) {
      out += '[' + std::to_string(index) + ']';
    } else if (is_map_key) {
      out += '[' + std::string(key.substr(0, kShownTextMax)) + ']';
    } else {
      if (!out.empty()) out += '.';
      out += key;
    }
  }
};

// Whether `key` is `name`. The constant length lets the compiler compare words in place of calling memcmp: with some
// sixty keys a Pod, each tried against several names, that is a fifth of the time in here.
template <std::size_t kSize>
bool Is(std::string_view key, const char (&name)[kSize]) {
  return key.size() == kSize - 1 && std::memcmp(key.data(), name, kSize - 1) == 0;
}

std::string_view TypeName(element value) {
  switch (value.type()) {
    case element_type::ARRAY: return "an array";
    case element_type::OBJECT: return "an object";
    case element_type::STRING: return "a string";
    case element_type::BOOL: return "a boolean";
    case element_type::NULL_VALUE: return "null";
    default: return "a number";
  }
}

std::string_view TrimSpace(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

TaintEffect ParseEffect(std::string_view text) {
  if (text.empty()) return TaintEffect::kNone;
  if (text == "NoSchedule") return TaintEffect::kNoSchedule;
  if (text == "PreferNoSchedule") return TaintEffect::kPreferNoSchedule;
  if (text == "NoExecute") return TaintEffect::kNoExecute;
  return TaintEffect::kUnknown;
}

PodPhase ParsePhase(std::string_view text) {
  if (text == "Pending") return PodPhase::kPending;
  if (text == "Running") return PodPhase::kRunning;
  if (text == "Succeeded") return PodPhase::kSucceeded;
  if (text == "Failed") return PodPhase::kFailed;
  return PodPhase::kUnknown;
}

// Volumes that a plugin decides about, now or once they have been migrated to CSI.
bool IsDecisiveVolumeSource(std::string_view key) {
  constexpr std::array<std::string_view, 11> kSources = {"persistentVolumeClaim",
                                                         "ephemeral",
                                                         "gcePersistentDisk",
                                                         "awsElasticBlockStore",
                                                         "iscsi",
                                                         "rbd",
                                                         "azureDisk",
                                                         "azureFile",
                                                         "cinder",
                                                         "portworxVolume",
                                                         "vsphereVolume"};
  return std::find(kSources.begin(), kSources.end(), key) != kSources.end();
}

bool IsKeptCondition(std::string_view type) {
  return type == "PodScheduled" || type == "DisruptionTarget" || type == "PodResizePending";
}

// Walks one object. Each method returns false after it has noted the first failure; null counts as absent everywhere.
// Fields are visited once, in the document's order, because looking them up by name walks the object again each time.
class Decoder {
 public:
  explicit Decoder(std::string_view kind) : kind_(kind) {}

  Expected<std::shared_ptr<const Pod>> DecodePod(element object) {
    auto pod = std::make_shared<Pod>();
    const bool is_good = Root(object, [&](std::string_view key, element value) {
      const Path path = kRoot.Field(key);
      if (Is(key, "metadata")) return Metadata(value, path, pod->metadata);
      if (Is(key, "spec")) return Spec(value, path, pod->spec);
      if (Is(key, "status")) return Status(value, path, pod->status);
      return !Is(key, "kind") || Kind(value, path);
    });
    if (!is_good || !Named(pod->metadata)) return Failure(object);
    return std::shared_ptr<const Pod>(std::move(pod));
  }

  Expected<std::shared_ptr<const Node>> DecodeNode(element object) {
    auto node = std::make_shared<Node>();
    const bool is_good = Root(object, [&](std::string_view key, element value) {
      const Path path = kRoot.Field(key);
      if (Is(key, "metadata")) return Metadata(value, path, node->metadata);
      if (Is(key, "spec")) return Spec(value, path, *node);
      if (Is(key, "status")) return Status(value, path, *node);
      return !Is(key, "kind") || Kind(value, path);
    });
    if (!is_good || !Named(node->metadata)) return Failure(object);
    return std::shared_ptr<const Node>(std::move(node));
  }

 private:
  static constexpr Path kRoot{};

  bool Fail(const Path& path, std::string_view message) {
    path.Append(failure_);
    if (!failure_.empty()) failure_ += ": ";
    failure_ += message;
    return false;
  }

  bool WrongType(const Path& path, element value, std::string_view wanted) {
    return Fail(path, "must be " + std::string(wanted) + ", not " + std::string(TypeName(value)));
  }

  // The failure with the object's kind and name in front, as far as it has one.
  Error Failure(element object) const {
    std::string name = kind_;
    std::string_view text;
    if (object["metadata"]["namespace"].get(text) == simdjson::SUCCESS) name += ' ' + std::string(text) + '/';
    if (object["metadata"]["name"].get(text) == simdjson::SUCCESS) {
      if (name.back() != '/') name += ' ';
      name += text;
    }
    return InvalidError(name + ": " + failure_);
  }

  template <typename Visit>
  bool Root(element value, Visit visit) {
    return value.is_null() ? WrongType(kRoot, value, "an object") : Object(value, kRoot, visit);
  }

  bool Named(const ObjectMeta& metadata) {
    return !metadata.name.empty() || Fail(kRoot.Field("metadata.name"), "is missing");
  }

  template <typename Visit>
  bool Object(element value, const Path& path, Visit visit) {
    simdjson::dom::object object;
    if (value.get(object) != simdjson::SUCCESS) return value.is_null() ? true : WrongType(path, value, "an object");
    for (const auto field : object) {
      if (!visit(field.key, field.value)) return false;
    }
    return true;
  }

  template <typename Visit>
  bool Array(element value, const Path& path, Visit visit) {
    simdjson::dom::array array;
    if (value.get(array) != simdjson::SUCCESS) return value.is_null() ? true : WrongType(path, value, "an array");
    std::int64_t index = 0;
    for (const element item : array) {
      if (!visit(item, path.Item(index))) return false;
      ++index;
    }
    return true;
  }

  // An array whose items are decoded by `decode(item, path, slot)`.
  template <typename Item, typename Decode>
  bool List(element value, const Path& path, std::vector<Item>& out, Decode decode) {
    simdjson::dom::array array;
    out.clear();  // Of a doubled field the last one wins.
    if (value.get(array) == simdjson::SUCCESS) out.reserve(array.size());
    return Array(value, path, [&](element item, const Path& at) { return decode(item, at, out.emplace_back()); });
  }

  bool View(element value, const Path& path, std::string_view& out) {
    if (value.get(out) == simdjson::SUCCESS) return true;
    out = {};
    return value.is_null() ? true : WrongType(path, value, "a string");
  }

  bool String(element value, const Path& path, std::string& out) {
    std::string_view text;
    if (!View(value, path, text)) return false;
    out = text;
    return true;
  }

  bool Strings(element value, const Path& path, std::vector<std::string>& out) {
    return List(value, path, out,
                [this](element item, const Path& at, std::string& slot) { return String(item, at, slot); });
  }

  bool Boolean(element value, const Path& path, bool& out) {
    if (value.get(out) == simdjson::SUCCESS) return true;
    return value.is_null() ? true : WrongType(path, value, "a boolean");
  }

  bool Int64(element value, const Path& path, std::int64_t& out) {
    if (value.get(out) == simdjson::SUCCESS) return true;
    if (value.is_null()) return true;
    return value.is_number() ? Fail(path, "must be a whole number of 64 bits")
                             : WrongType(path, value, "a whole number");
  }

  bool Int32(element value, const Path& path, std::int32_t& out) {
    std::int64_t number = 0;
    if (!Int64(value, path, number)) return false;
    if (number < std::numeric_limits<std::int32_t>::min() || number > std::numeric_limits<std::int32_t>::max()) {
      return Fail(path, "must be a whole number of 32 bits, not " + std::to_string(number));
    }
    out = static_cast<std::int32_t>(number);
    return true;
  }

  bool TimeField(element value, const Path& path, std::optional<Time>& out) {
    if (value.is_null()) return true;
    std::string_view text;
    if (!View(value, path, text)) return false;
    out = ParseRfc3339(text);
    if (out) return true;
    return Fail(path, '"' + std::string(text.substr(0, kShownTextMax)) + "\" is no RFC 3339 time");
  }

  bool Strings(element value, const Path& path, StringMap& out) {
    simdjson::dom::object object;
    std::vector<StringMap::Entry> entries;
    if (value.get(object) == simdjson::SUCCESS) entries.reserve(object.size());
    const bool is_good = Object(value, path, [&](std::string_view key, element item) {
      auto& entry = entries.emplace_back(key, std::string());
      return String(item, path.Entry(key), entry.second);
    });
    if (is_good) out = StringMap(std::move(entries));
    return is_good;
  }

  // Quantities may also be written as JSON numbers.
  bool QuantityField(element value, const Path& path, Quantity& out) {
    if (value.is_null()) return true;
    std::string_view text;
    std::array<char, 32> digits;
    if (value.get(text) == simdjson::SUCCESS) {
      text = TrimSpace(text);
    } else if (value.is_number()) {
      std::to_chars_result written{};
      if (std::int64_t whole = 0; value.get(whole) == simdjson::SUCCESS) {
        written = std::to_chars(digits.data(), digits.data() + digits.size(), whole);
      } else if (std::uint64_t unsigned_whole = 0; value.get(unsigned_whole) == simdjson::SUCCESS) {
        written = std::to_chars(digits.data(), digits.data() + digits.size(), unsigned_whole);
      } else {
        double number = 0;
        if (value.get(number) != simdjson::SUCCESS) return WrongType(path, value, "a quantity");
        written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
      }
      text = {digits.data(), static_cast<std::size_t>(written.ptr - digits.data())};
    } else {
      return WrongType(path, value, "a quantity");
    }
    auto quantity = Quantity::Parse(text);
    if (!quantity.ok()) return Fail(path, quantity.error().message);
    out = *quantity;
    return true;
  }

  bool Resources(element value, const Path& path, ResourceList& out) {
    simdjson::dom::object object;
    out.clear();
    if (value.get(object) == simdjson::SUCCESS) out.reserve(object.size());
    const bool is_good = Object(value, path, [&](std::string_view key, element item) {
      auto& entry = out.emplace_back(key, Quantity());
      return QuantityField(item, path.Entry(key), entry.second);
    });
    if (!is_good) return false;
    const auto by_name = [](const auto& a, const auto& b) { return a.first < b.first; };
    if (!std::is_sorted(out.begin(), out.end(), by_name)) std::stable_sort(out.begin(), out.end(), by_name);
    // Of a doubled name the last one wins, as in upstream's maps.
    const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
    if (std::adjacent_find(out.begin(), out.end(), same_name) != out.end()) {
      const auto kept = std::unique(out.rbegin(), out.rend(), same_name);
      out.erase(out.begin(), kept.base());
    }
    return true;
  }

  // The `requests` of a ResourceRequirements object.
  bool Requests(element value, const Path& path, ResourceList& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      return !Is(key, "requests") || Resources(item, path.Field(key), out);
    });
  }

  bool Kind(element value, const Path& path) {
    std::string_view text;
    if (!View(value, path, text)) return false;
    return text.empty() || text == kind_ || Fail(path, "must be " + kind_ + ", not \"" + std::string(text) + '"');
  }

  bool Metadata(element value, const Path& path, ObjectMeta& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "name")) return String(item, at, out.name);
      if (Is(key, "namespace")) return String(item, at, out.namespace_name);
      if (Is(key, "uid")) return String(item, at, out.uid);
      if (Is(key, "resourceVersion")) return String(item, at, out.resource_version);
      if (Is(key, "generation")) return Int64(item, at, out.generation);
      if (Is(key, "labels")) return Strings(item, at, out.labels);
      if (Is(key, "annotations")) return Strings(item, at, out.annotations);
      if (Is(key, "ownerReferences")) return Controller(item, at, out.controller);
      if (Is(key, "creationTimestamp")) return TimeField(item, at, out.creation_time);
      if (Is(key, "deletionTimestamp")) return TimeField(item, at, out.deletion_time);
      return true;
    });
  }

  bool Controller(element value, const Path& path, std::optional<OwnerReference>& out) {
    return Array(value, path, [&](element item, const Path& at) {
      OwnerReference owner;
      bool is_controller = false;
      const bool is_good = Object(item, at, [&](std::string_view key, element field) {
        const Path where = at.Field(key);
        if (Is(key, "apiVersion")) return String(field, where, owner.api_version);
        if (Is(key, "kind")) return String(field, where, owner.kind);
        if (Is(key, "name")) return String(field, where, owner.name);
        if (Is(key, "uid")) return String(field, where, owner.uid);
        return !Is(key, "controller") || Boolean(field, where, is_controller);
      });
      if (is_good && is_controller && !out) out = std::move(owner);
      return is_good;
    });
  }

  bool Spec(element value, const Path& path, PodSpec& out) {
    bool host_network = false;
    bool host_users = true;
    const bool is_good = Object(value, path, [&](std::string_view key, element item) {
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
      if (Is(key, "containers")) return Containers(item, at, out.containers, out.features);
      if (Is(key, "initContainers")) return Containers(item, at, out.init_containers, out.features);
      if (Is(key, "volumes")) return Volumes(item, at, out);
      if (Is(key, "overhead")) return Resources(item, at, out.overhead);
      if (Is(key, "resources")) return Requests(item, at, out.requests);
      if (Is(key, "schedulingGates")) {
        return List(item, at, out.scheduling_gates,
                    [this](element gate, const Path& where, std::string& slot) { return NameOf(gate, where, slot); });
      }
      if (Is(key, "topologySpreadConstraints")) return Present(item, at, out.features.topology_spread);
      if (Is(key, "resourceClaims")) return Present(item, at, out.features.resource_claims);
      if (Is(key, "hostNetwork")) return Boolean(item, at, host_network);
      if (Is(key, "hostUsers")) return Boolean(item, at, host_users);
      return true;
    });
    if (host_network && !host_users) out.features.declared_features = true;
    return is_good;
  }

  bool Policy(element value, const Path& path, PreemptionPolicy& out) {
    std::string_view text;
    if (!View(value, path, text)) return false;
    out = text == "Never" ? PreemptionPolicy::kNever : PreemptionPolicy::kPreemptLowerPriority;
    return true;
  }

  // Sets `out` when the array has items.
  bool Present(element value, const Path& path, bool& out) {
    return Array(value, path, [&](element, const Path&) {
      out = true;
      return true;
    });
  }

  bool NameOf(element value, const Path& path, std::string& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      return !Is(key, "name") || String(item, path.Field(key), out);
    });
  }

  bool Containers(element value, const Path& path, std::vector<Container>& out, PodFeatures& features) {
    return List(value, path, out, [&](element item, const Path& at, Container& container) {
      return ContainerItem(item, at, container, features);
    });
  }

  bool ContainerItem(element value, const Path& path, Container& out, PodFeatures& features) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "name")) return String(item, at, out.name);
      if (Is(key, "image")) return String(item, at, out.image);
      if (Is(key, "resources")) return Requests(item, at, out.requests);
      if (Is(key, "ports")) return List(item, at, out.ports, [this](auto&&... args) { return PortItem(args...); });
      if (Is(key, "restartPolicy")) {
        std::string_view policy;
        if (!View(item, at, policy)) return false;
        out.restart_always = policy == "Always";
        return true;
      }
      if (Is(key, "restartPolicyRules")) {
        return Array(item, at, [&](element rule, const Path& where) { return RestartRule(rule, where, features); });
      }
      return true;
    });
  }

  bool RestartRule(element value, const Path& path, PodFeatures& features) {
    return Object(value, path, [&](std::string_view key, element item) {
      if (!Is(key, "action")) return true;
      std::string_view action;
      if (!View(item, path.Field(key), action)) return false;
      if (action == "RestartAllContainers") features.declared_features = true;
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
    return Array(value, path, [&](element volume, const Path& at) {
      return Object(volume, at, [&](std::string_view key, element item) {
        if (item.is_null()) return true;
        if (IsDecisiveVolumeSource(key)) out.features.volumes = true;
        if (!Is(key, "image")) return true;
        const Path image = at.Field(key);
        auto& reference = out.image_volumes.emplace_back();
        return Object(item, image, [&](std::string_view name, element field) {
          return !Is(name, "reference") || String(field, image.Field(name), reference);
        });
      });
    });
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

  bool Effect(element value, const Path& path, TaintEffect& out) {
    std::string_view text;
    if (!View(value, path, text)) return false;
    out = ParseEffect(text);
    return true;
  }

  bool Affinity(element value, const Path& path, PodSpec& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      if (item.is_null()) return true;
      const Path at = path.Field(key);
      if (Is(key, "nodeAffinity")) return NodeAffinityField(item, at, out.node_affinity.emplace());
      if (Is(key, "podAffinity") || Is(key, "podAntiAffinity")) {
        return Object(item, at, [&](std::string_view list, element terms) {
          const bool is_known = Is(list, "requiredDuringSchedulingIgnoredDuringExecution") ||
                                Is(list, "preferredDuringSchedulingIgnoredDuringExecution");
          return !is_known || Present(terms, at.Field(list), out.features.pod_affinity);
        });
      }
      return true;
    });
  }

  bool NodeAffinityField(element value, const Path& path, NodeAffinity& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      if (item.is_null()) return true;
      const Path at = path.Field(key);
      if (Is(key, "requiredDuringSchedulingIgnoredDuringExecution")) {
        auto& terms = out.required.emplace();
        return Object(item, at, [&](std::string_view name, element list) {
          return !Is(name, "nodeSelectorTerms") ||
                 List(list, at.Field(name), terms, [this](auto&&... args) { return TermItem(args...); });
        });
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

  bool TermItem(element value, const Path& path, NodeSelectorTerm& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      const auto decode = [this](auto&&... args) { return RequirementItem(args...); };
      if (Is(key, "matchExpressions")) return List(item, at, out.match_expressions, decode);
      return !Is(key, "matchFields") || List(item, at, out.match_fields, decode);
    });
  }

  bool RequirementItem(element value, const Path& path, Requirement& out) {
    out.op = SelectorOperator::kUnknown;
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "key")) return String(item, at, out.key);
      if (Is(key, "values")) return Strings(item, at, out.values);
      if (!Is(key, "operator")) return true;
      std::string_view text;
      if (!View(item, at, text)) return false;
      out.op = ParseSelectorOperator(text);
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

  bool Spec(element value, const Path& path, Node& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "unschedulable")) return Boolean(item, at, out.unschedulable);
      if (!Is(key, "taints")) return true;
      return List(item, at, out.taints, [this](element taint, const Path& where, Taint& slot) {
        return Object(taint, where, [&](std::string_view name, element field) {
          const Path place = where.Field(name);
          if (Is(name, "key")) return String(field, place, slot.key);
          if (Is(name, "value")) return String(field, place, slot.value);
          return !Is(name, "effect") || Effect(field, place, slot.effect);
        });
      });
    });
  }

  bool Status(element value, const Path& path, Node& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "allocatable")) return Resources(item, at, out.allocatable);
      if (Is(key, "conditions")) return Conditions(item, at, out);
      if (Is(key, "declaredFeatures")) return Strings(item, at, out.declared_features);
      if (!Is(key, "images")) return true;
      return List(item, at, out.images, [this](element image, const Path& where, ContainerImage& slot) {
        return Object(image, where, [&](std::string_view name, element field) {
          if (Is(name, "names")) return Strings(field, where.Field(name), slot.names);
          return !Is(name, "sizeBytes") || Int64(field, where.Field(name), slot.size_bytes);
        });
      });
    });
  }

  bool Conditions(element value, const Path& path, Node& out) {
    const bool is_good = List(value, path, out.conditions, [this](element item, const Path& at, auto& slot) {
      return Object(item, at, [&](std::string_view key, element field) {
        if (Is(key, "type")) return String(field, at.Field(key), slot.first);
        return !Is(key, "status") || String(field, at.Field(key), slot.second);
      });
    });
    std::sort(out.conditions.begin(), out.conditions.end());
    return is_good;
  }

  std::string kind_;
  std::string failure_;
};

// `decode` with the parsed text; the parser's memory is kept for the thread's next text.
template <typename Object, typename Decode>
Expected<std::shared_ptr<const Object>> FromText(std::string_view kind, std::string_view text, Decode decode) {
  static thread_local simdjson::dom::parser parser(kObjectBytesMax);
  element root;
  const auto failure = parser.parse(text.data(), text.size()).get(root);
  if (failure == simdjson::CAPACITY) {
    return Error{ErrorCode::kTooLarge, std::string(kind) + " of " + std::to_string(text.size()) + " bytes: at most " +
                                           std::to_string(kObjectBytesMax) + " are read"};
  }
  if (failure != simdjson::SUCCESS) {
    return InvalidError(std::string(kind) + ": not valid JSON: " + simdjson::error_message(failure));
  }
  return decode(root);
}

}  // namespace

Expected<std::shared_ptr<const Pod>> DecodePod(element object) { return Decoder("Pod").DecodePod(object); }

Expected<std::shared_ptr<const Node>> DecodeNode(element object) { return Decoder("Node").DecodeNode(object); }

Expected<std::shared_ptr<const Pod>> DecodePod(std::string_view text) {
  return FromText<Pod>("Pod", text, [](element object) { return DecodePod(object); });
}

Expected<std::shared_ptr<const Node>> DecodeNode(std::string_view text) {
  return FromText<Node>("Node", text, [](element object) { return DecodeNode(object); });
}

}  // namespace berth::api
