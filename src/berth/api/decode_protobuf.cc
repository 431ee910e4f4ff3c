#include "berth/api/decode_protobuf.h"

#include <algorithm>

#include "berth/api/decode_protobuf_internal.h"

namespace berth::api {
namespace internal {

bool ProtobufDecoder::Fail(std::string_view message) {
  failure_ = message;
  return false;
}

bool ProtobufDecoder::Malformed() { return Fail("is no valid protobuf"); }

bool ProtobufDecoder::WrongType(const Field& in, std::string_view wanted) {
  const std::string_view type = in.is_bytes() ? "bytes" : in.is_number() ? "a number" : "a number of fixed size";
  return Fail("must be " + std::string(wanted) + ", not " + std::string(type));
}

bool ProtobufDecoder::NameMissing() {
  Fail(kNameMissing);
  return At("metadata.name");
}

bool ProtobufDecoder::At(std::string_view key) {
  if (!path_.empty() && path_.front() != '[') path_.insert(0, ".");
  path_.insert(0, key);
  return false;
}

bool ProtobufDecoder::At(std::string_view key, std::size_t index) { return AtEntry(key, std::to_string(index)); }

bool ProtobufDecoder::AtEntry(std::string_view key, std::string_view entry) {
  At('[' + std::string(entry.substr(0, kShownTextMax)) + ']');
  return At(key);
}

Error ProtobufDecoder::Failure(const ObjectMeta& metadata) const {
  const std::string failure = path_.empty() ? failure_ : path_ + ": " + failure_;
  return ObjectError(kind_, metadata.namespace_name, metadata.name, failure);
}

bool ProtobufDecoder::QuantityField(const Field& in, Quantity& out) {
  return Message(in, [&](const Field& part) {
    if (part.number() != 1) return true;
    std::string_view text;
    if (!View(part, text)) return false;
    auto quantity = Quantity::Parse(text);
    if (!quantity.ok()) return Fail(quantity.error().message);
    out = *quantity;
    return true;
  });
}

bool ProtobufDecoder::TimeField(const Field& in, std::optional<Time>& out) {
  // What RFC 3339 can write: the years 0 to 9999.
  constexpr std::int64_t kSecondsMin = -62'167'219'200;
  constexpr std::int64_t kSecondsMax = 253'402'300'799;
  out.reset();
  if (in.is_bytes() && in.bytes().empty()) return true;
  std::int64_t seconds = 0;
  const bool is_good = Message(in, [&](const Field& part) { return part.number() != 1 || Int64(part, seconds); });
  if (!is_good) return false;
  if (seconds < kSecondsMin || seconds > kSecondsMax) return Fail(NoTime(std::to_string(seconds)));
  out = Time(std::chrono::seconds(seconds));
  return true;
}

bool ProtobufDecoder::Requests(const Field& in, ResourceList& out) {
  const bool is_good =
      Message(in, [&](const Field& part) { return part.number() != 2 || Entry(part, out, "requests"); });
  SortMap(out);
  return is_good;
}

bool ProtobufDecoder::Metadata(const Field& in, ObjectMeta& out, std::vector<std::string>* finalizers,
                               std::vector<OwnerReference>* owners) {
  std::vector<StringMap::Entry> labels;
  std::vector<StringMap::Entry> annotations;
  std::size_t owner_count = 0;
  const bool is_good = Message(in, [&](const Field& part) {
    switch (part.number()) {
      case 1: return String(part, out.name) || At("name");
      case 3: return String(part, out.namespace_name) || At("namespace");
      case 5: return String(part, out.uid) || At("uid");
      case 6: return String(part, out.resource_version) || At("resourceVersion");
      case 7: return Int64(part, out.generation) || At("generation");
      case 8: return TimeField(part, out.creation_time) || At("creationTimestamp");
      case 9: return TimeField(part, out.deletion_time) || At("deletionTimestamp");
      case 11: return Entry(part, labels, "labels");
      case 12: return Entry(part, annotations, "annotations");
      case 13: {
        OwnerReference owner;
        bool is_controller = false;
        if (!Owner(part, owner, is_controller)) return At("ownerReferences", owner_count);
        ++owner_count;
        if (owners != nullptr) owners->push_back(owner);
        if (is_controller && !out.controller) out.controller = std::move(owner);
        return true;
      }
      case 14: return finalizers == nullptr || Append(part, *finalizers, "finalizers");
      default: return true;
    }
  });
  if (!labels.empty()) out.labels = StringMap(std::move(labels));
  if (!annotations.empty()) out.annotations = StringMap(std::move(annotations));
  return is_good;
}

bool ProtobufDecoder::Owner(const Field& in, OwnerReference& out, bool& is_controller) {
  return Message(in, [&](const Field& part) {
    switch (part.number()) {
      case 1: return String(part, out.kind) || At("kind");
      case 3: return String(part, out.name) || At("name");
      case 4: return String(part, out.uid) || At("uid");
      case 5: return String(part, out.api_version) || At("apiVersion");
      case 6: return Boolean(part, is_controller) || At("controller");
      default: return true;
    }
  });
}

bool ProtobufDecoder::Effect(const Field& in, TaintEffect& out) {
  std::string_view text;
  if (!View(in, text)) return false;
  out = ParseEffect(text);
  return true;
}

bool ProtobufDecoder::RequirementItem(const Field& in, Requirement& out) {
  out.op = SelectorOperator::kUnknown;
  return Message(in, [&](const Field& part) {
    switch (part.number()) {
      case 1: return String(part, out.key) || At("key");
      case 2: {
        std::string_view text;
        if (!View(part, text)) return At("operator");
        SetOperator(out, text);
        return true;
      }
      case 3: return Append(part, out.values, "values");
      default: return true;
    }
  });
}

bool ProtobufDecoder::Selector(const Field& in, LabelSelector& out) {
  std::vector<StringMap::Entry> labels;
  std::vector<Requirement> expressions;
  const bool is_good = Message(in, [&](const Field& part) {
    if (part.number() == 1) return Entry(part, labels, "matchLabels");
    return part.number() != 2 ||
           Append(part, expressions, "matchExpressions", [this](auto&&... args) { return RequirementItem(args...); });
  });
  SortMap(labels);
  SetRequirements(out, std::move(labels), std::move(expressions));
  return is_good;
}

bool ProtobufDecoder::TermItem(const Field& in, NodeSelectorTerm& out) {
  return Message(in, [&](const Field& part) {
    const auto decode = [this](auto&&... args) { return RequirementItem(args...); };
    if (part.number() == 1) return Append(part, out.match_expressions, "matchExpressions", decode);
    return part.number() != 2 || Append(part, out.match_fields, "matchFields", decode);
  });
}

bool ProtobufDecoder::NodeTerms(const Field& in, std::optional<std::vector<NodeSelectorTerm>>& out) {
  auto& terms = out ? *out : out.emplace();
  return Message(in, [&](const Field& part) {
    return part.number() != 1 ||
           Append(part, terms, "nodeSelectorTerms", [this](auto&&... args) { return TermItem(args...); });
  });
}

namespace {

class NodeDecoder : public ProtobufDecoder {
 public:
  NodeDecoder() : ProtobufDecoder("Node") {}

  Expected<std::shared_ptr<const Node>> Decode(std::string_view raw) {
    return Whole<Node>(raw, [this](Node& out, const Field& in) {
      if (in.number() == 2) return Spec(in, out) || At("spec");
      return in.number() != 3 || Status(in, out) || At("status");
    });
  }

 private:
  bool Spec(const Field& in, Node& out) {
    return Message(in, [&](const Field& part) {
      if (part.number() == 4) return Boolean(part, out.unschedulable) || At("unschedulable");
      return part.number() != 5 || Append(part, out.taints, "taints", [this](const Field& taint, Taint& slot) {
               return Message(taint, [&](const Field& each) {
                 switch (each.number()) {
                   case 1: return String(each, slot.key) || At("key");
                   case 2: return String(each, slot.value) || At("value");
                   case 3: return Effect(each, slot.effect) || At("effect");
                   default: return true;
                 }
               });
             });
    });
  }

  bool Status(const Field& in, Node& out) {
    const bool is_good = Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 2: return Entry(part, out.allocatable, "allocatable");
        case 4: return Condition(part, out);
        case 8: return Append(part, out.images, "images", [this](auto&&... args) { return Image(args...); });
        case 14: return Append(part, out.declared_features, "declaredFeatures");
        default: return true;
      }
    });
    SortMap(out.allocatable);
    std::sort(out.conditions.begin(), out.conditions.end());
    return is_good;
  }

  bool Condition(const Field& in, Node& out) {
    return Append(in, out.conditions, "conditions", [this](const Field& item, auto& slot) {
      return Message(item, [&](const Field& part) {
        if (part.number() == 1) return String(part, slot.first) || At("type");
        return part.number() != 2 || String(part, slot.second) || At("status");
      });
    });
  }

  bool Image(const Field& in, ContainerImage& out) {
    return Message(in, [&](const Field& part) {
      if (part.number() == 1) return Append(part, out.names, "names");
      return part.number() != 2 || Int64(part, out.size_bytes) || At("sizeBytes");
    });
  }
};

class WorkloadDecoder : public ProtobufDecoder {
 public:
  using ProtobufDecoder::ProtobufDecoder;

  // Kinds of which scheduling reads the metadata alone, or also spec.selector, in field 2 of the spec.
  template <typename T>
  Expected<std::shared_ptr<const T>> Plain(std::string_view raw) {
    return Whole<T>(raw, [](T&, const Field&) { return true; });
  }

  template <typename T>
  Expected<std::shared_ptr<const T>> WithSelector(std::string_view raw) {
    return Whole<T>(
        raw, [this](T& out, const Field& in) { return in.number() != 2 || Spec(in, out.selector) || At("spec"); });
  }

  Expected<std::shared_ptr<const PodDisruptionBudget>> Budget(std::string_view raw) {
    return Whole<PodDisruptionBudget>(raw, [this](PodDisruptionBudget& out, const Field& in) {
      if (in.number() == 2) return Spec(in, out.selector) || At("spec");
      return in.number() != 3 || BudgetStatus(in, out) || At("status");
    });
  }

 private:
  bool Spec(const Field& in, std::optional<LabelSelector>& out) {
    return Message(in, [&](const Field& part) { return part.number() != 2 || Selector(part, out) || At("selector"); });
  }
  bool Spec(const Field& in, StringMap& out) {
    std::vector<StringMap::Entry> entries;
    const bool is_good =
        Message(in, [&](const Field& part) { return part.number() != 2 || Entry(part, entries, "selector"); });
    out = StringMap(std::move(entries));
    return is_good;
  }
  // Protobuf does not tell an empty map from an absent one, and neither does what the API server writes as JSON.
  bool Spec(const Field& in, std::optional<StringMap>& out) {
    StringMap selector;
    const bool is_good = Spec(in, selector);
    if (!selector.empty()) out = std::move(selector);
    return is_good;
  }

  bool BudgetStatus(const Field& in, PodDisruptionBudget& out) {
    const bool is_good = Message(in, [&](const Field& part) {
      if (part.number() == 3) return Int32(part, out.disruptions_allowed) || At("disruptionsAllowed");
      if (part.number() != 2) return true;
      std::string& name = out.disrupted_pods.emplace_back();
      return Message(part, [&](const Field& each) { return each.number() != 1 || String(each, name); }) ||
             At("disruptedPods");
    });
    std::sort(out.disrupted_pods.begin(), out.disrupted_pods.end());
    return is_good;
  }
};

}  // namespace
}  // namespace internal

using internal::WorkloadDecoder;

Expected<std::shared_ptr<const Node>> DecodeNodeProtobuf(std::string_view raw) {
  return internal::NodeDecoder().Decode(raw);
}
Expected<std::shared_ptr<const PodDisruptionBudget>> DecodePodDisruptionBudgetProtobuf(std::string_view raw) {
  return WorkloadDecoder("PodDisruptionBudget").Budget(raw);
}
Expected<std::shared_ptr<const Namespace>> DecodeNamespaceProtobuf(std::string_view raw) {
  return WorkloadDecoder("Namespace").Plain<Namespace>(raw);
}
Expected<std::shared_ptr<const Service>> DecodeServiceProtobuf(std::string_view raw) {
  return WorkloadDecoder("Service").WithSelector<Service>(raw);
}
Expected<std::shared_ptr<const ReplicationController>> DecodeReplicationControllerProtobuf(std::string_view raw) {
  return WorkloadDecoder("ReplicationController").WithSelector<ReplicationController>(raw);
}
Expected<std::shared_ptr<const ReplicaSet>> DecodeReplicaSetProtobuf(std::string_view raw) {
  return WorkloadDecoder("ReplicaSet").WithSelector<ReplicaSet>(raw);
}
Expected<std::shared_ptr<const StatefulSet>> DecodeStatefulSetProtobuf(std::string_view raw) {
  return WorkloadDecoder("StatefulSet").WithSelector<StatefulSet>(raw);
}

}  // namespace berth::api
