// Dynamic resource allocation.
#include "berth/api/decode.h"
#include "berth/api/decode_protobuf.h"
#include "berth/api/decode_protobuf_internal.h"

namespace berth::api {
namespace internal {
namespace {

using Amounts = std::vector<std::pair<std::string, Quantity>>;

// What devices and requests have in common.
class DeviceDecoder : public ProtobufDecoder {
 public:
  using ProtobufDecoder::ProtobufDecoder;

 protected:
  // A DeviceSelector, of which the CEL expression is kept.
  bool SelectorItem(const Field& in, std::vector<std::string>& out) {
    return Append(in, out, "selectors", [this](const Field& item, std::string& slot) {
      return Message(item, [&](const Field& part) {
        if (part.number() != 1) return true;
        const bool is_good = Message(
            part, [&](const Field& each) { return each.number() != 1 || String(each, slot) || At("expression"); });
        return is_good || At("cel");
      });
    });
  }

  // A DeviceConfiguration, as the JSON that decode.h keeps of it.
  bool Configuration(const Field& in, std::string& out) {
    return Message(in, [&](const Field& part) { return part.number() != 1 || Opaque(part, out) || At("opaque"); });
  }

 private:
  bool Opaque(const Field& in, std::string& out) {
    std::string_view driver;
    std::string_view parameters = "null";  // as Go writes a RawExtension that was never set
    const bool is_good = Message(in, [&](const Field& part) {
      if (part.number() == 1) return View(part, driver) || At("driver");
      if (part.number() != 2) return true;
      return Message(part, [&](const Field& each) { return each.number() != 1 || View(each, parameters); }) ||
             At("parameters");
    });
    if (!is_good) return false;
    std::string driver_json;
    std::string parameters_json;
    if (!Minified(Quoted(driver), driver_json)) return At("driver");
    if (!Minified(parameters, parameters_json)) return At("parameters");
    out = R"({"opaque":{"driver":)" + driver_json + R"(,"parameters":)" + parameters_json + "}}";
    return true;
  }

  // One JSON value, in the words of decode.h.
  bool Minified(std::string_view text, std::string& out) {
    const auto document = ParseObject("value", text);
    if (!document.ok()) return Fail(document.error().message);
    out = simdjson::minify(*document);
    return true;
  }

  static std::string Quoted(std::string_view text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string quoted = "\"";
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20) {
        quoted.append("\\u00").append({kHex[byte >> 4], kHex[byte & 15]});
      } else {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
      }
    }
    return quoted + '"';
  }
};

class SliceDecoder : public DeviceDecoder {
 public:
  using DeviceDecoder::DeviceDecoder;

  Expected<std::shared_ptr<const ResourceSlice>> Slice(std::string_view raw) {
    return Whole<ResourceSlice>(raw, [this](ResourceSlice& out, const Field& in) {
      return in.number() != 2 || SliceSpec(in, out) || At("spec");
    });
  }

  Expected<std::shared_ptr<const DeviceClass>> Class(std::string_view raw) {
    return Whole<DeviceClass>(raw, [this](DeviceClass& out, const Field& in) {
      if (in.number() != 2) return true;
      const bool is_good = Message(in, [&](const Field& part) {
        switch (part.number()) {
          case 1: return SelectorItem(part, out.selectors);
          case 2: return Append(part, out.configs, "config", [this](auto&&... args) { return ClassConfig(args...); });
          case 4: return String(part, out.extended_resource_name) || At("extendedResourceName");
          default: return true;
        }
      });
      return is_good || At("spec");
    });
  }

 private:
  bool ClassConfig(const Field& in, std::string& out) {
    out = "{}";
    return Message(in, [&](const Field& part) { return part.number() != 1 || Configuration(part, out); });
  }

  bool SliceSpec(const Field& in, ResourceSlice& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.driver) || At("driver");
        case 2: return Pool(part, out) || At("pool");
        case 3: return String(part, out.nodes.node_name) || At("nodeName");
        case 4: return NodeTerms(part, out.nodes.node_selector) || At("nodeSelector");
        case 5: return Boolean(part, out.nodes.all_nodes) || At("allNodes");
        case 6: return Append(part, out.devices, "devices", [this](auto&&... args) { return DeviceItem(args...); });
        case 7: return Boolean(part, out.per_device_node_selection) || At("perDeviceNodeSelection");
        case 8:
          return Append(part, out.shared_counters, "sharedCounters", [this](auto&&... args) { return Set(args...); });
        default: return true;
      }
    });
  }

  bool Pool(const Field& in, ResourceSlice& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.pool_name) || At("name");
        case 2: return Int64(part, out.pool_generation) || At("generation");
        case 3: return Int64(part, out.pool_slice_count) || At("resourceSliceCount");
        default: return true;
      }
    });
  }

  // A CounterSet, or a DeviceCounterConsumption, which names one.
  bool Set(const Field& in, CounterSet& out) {
    const bool is_good = Message(in, [&](const Field& part) {
      if (part.number() == 1) return String(part, out.name) || At("name");
      return part.number() != 2 || Entry(part, out.counters, "counters", [this](const Field& counter, Quantity& slot) {
               return Message(counter, [&](const Field& each) {
                 return each.number() != 1 || QuantityField(each, slot) || At("value");
               });
             });
    });
    SortMap(out.counters);
    return is_good;
  }

  bool DeviceItem(const Field& in, Device& out) {
    const bool is_good = Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.name) || At("name");
        case 2: return Entry(part, out.attributes, "attributes", [this](auto&&... args) { return Attribute(args...); });
        case 3: return Entry(part, out.capacity, "capacity", [this](auto&&... args) { return Capacity(args...); });
        case 4:
          return Append(part, out.consumes_counters, "consumesCounters",
                        [this](auto&&... args) { return Set(args...); });
        case 5: return String(part, out.nodes.node_name) || At("nodeName");
        case 6: return NodeTerms(part, out.nodes.node_selector) || At("nodeSelector");
        case 7: return Boolean(part, out.nodes.all_nodes) || At("allNodes");
        case 8: return Append(part, out.taints, "taints", [this](auto&&... args) { return Taint(args...); });
        case 9: return Boolean(part, out.binds_to_node) || At("bindsToNode");
        case 10: return Append(part, out.binding_conditions, "bindingConditions");
        case 11: return Append(part, out.binding_failure_conditions, "bindingFailureConditions");
        case 12: return Boolean(part, out.allow_multiple_allocations) || At("allowMultipleAllocations");
        case 13:
          return Entry(part, out.node_allocatable_resource_mappings, "nodeAllocatableResourceMappings",
                       [this](auto&&... args) { return Mapping(args...); });
        default: return true;
      }
    });
    SortMap(out.attributes);
    SortMap(out.capacity);
    SortMap(out.node_allocatable_resource_mappings);
    return is_good;
  }

  // What is there already of the alternative that a repeated field belongs to, or an empty one.
  template <typename T>
  static T& Alternative(DeviceAttribute& out) {
    T* held = std::get_if<T>(&out);
    return held != nullptr ? *held : out.emplace<T>();
  }

  bool Attribute(const Field& in, DeviceAttribute& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 2: return Int64(part, out.emplace<std::int64_t>()) || At("int");
        case 3: return Boolean(part, out.emplace<bool>()) || At("bool");
        case 4: return String(part, out.emplace<std::string>()) || At("string");
        case 5: return String(part, out.emplace<VersionValue>().text) || At("version");
        case 6: return Numbers(part, Alternative<std::vector<std::int64_t>>(out)) || At("ints");
        case 7: return Booleans(part, Alternative<std::vector<bool>>(out)) || At("bools");
        case 8: return Append(part, Alternative<std::vector<std::string>>(out), "strings");
        case 9:
          return Append(part, Alternative<std::vector<VersionValue>>(out), "versions",
                        [this](const Field& text, VersionValue& slot) { return String(text, slot.text); });
        default: return true;
      }
    });
  }

  // One number each, as proto2 has them, which is how Kubernetes writes.
  bool Numbers(const Field& in, std::vector<std::int64_t>& out) { return Int64(in, out.emplace_back()); }
  bool Booleans(const Field& in, std::vector<bool>& out) {
    bool flag = false;
    const bool is_good = Boolean(in, flag);
    out.push_back(flag);
    return is_good;
  }

  bool Capacity(const Field& in, DeviceCapacity& out) {
    return Message(in, [&](const Field& part) {
      if (part.number() == 1) return QuantityField(part, out.value) || At("value");
      return part.number() != 2 || Policy(part, out.request_policy.emplace()) || At("requestPolicy");
    });
  }

  bool Policy(const Field& in, CapacityRequestPolicy& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return QuantityField(part, out.default_value) || At("default");
        case 3:
          return Append(part, out.valid_values, "validValues",
                        [this](const Field& each, Quantity& slot) { return QuantityField(each, slot); });
        case 4: return Range(part, out.valid_range.emplace()) || At("validRange");
        default: return true;
      }
    });
  }

  bool Range(const Field& in, CapacityRequestRange& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return QuantityField(part, out.min) || At("min");
        case 2: return QuantityField(part, out.max) || At("max");
        case 3: return QuantityField(part, out.step) || At("step");
        default: return true;
      }
    });
  }

  bool Taint(const Field& in, DeviceTaint& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.key) || At("key");
        case 2: return String(part, out.value) || At("value");
        case 3: return String(part, out.effect) || At("effect");
        default: return true;
      }
    });
  }

  bool Mapping(const Field& in, NodeAllocatableResourceMapping& out) {
    return Message(in, [&](const Field& part) {
      if (part.number() == 1) return String(part, out.capacity_key) || At("capacityKey");
      return part.number() != 2 || QuantityField(part, out.allocation_multiplier) || At("allocationMultiplier");
    });
  }
};

class ClaimDecoder : public DeviceDecoder {
 public:
  ClaimDecoder() : DeviceDecoder("ResourceClaim") {}

  Expected<std::shared_ptr<const ResourceClaim>> Claim(std::string_view raw) {
    auto out = std::make_shared<ResourceClaim>();
    const bool is_good = Message(raw, [&](const Field& in) {
      switch (in.number()) {
        case 1: return Metadata(in, out->metadata, &out->finalizers, &out->owners) || At("metadata");
        case 2: return Spec(in, out->spec) || At("spec");
        case 3: return Status(in, *out) || At("status");
        default: return true;
      }
    });
    if (!is_good || !Named(out->metadata)) return Failure(out->metadata);
    return std::shared_ptr<const ResourceClaim>(std::move(out));
  }

 private:
  bool Spec(const Field& in, ResourceClaimSpec& out) {
    return Message(in, [&](const Field& part) { return part.number() != 1 || Devices(part, out) || At("devices"); });
  }

  bool Devices(const Field& in, ResourceClaimSpec& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return Append(part, out.requests, "requests", [this](auto&&... args) { return Request(args...); });
        case 2:
          return Append(part, out.constraints, "constraints", [this](auto&&... args) { return Constraint(args...); });
        case 3: return Append(part, out.configs, "config", [this](auto&&... args) { return ClaimConfig(args...); });
        default: return true;
      }
    });
  }

  // A DeviceClaimConfiguration.
  bool ClaimConfig(const Field& in, DeviceClaimConfiguration& out) {
    out.config = "{}";
    return Message(in, [&](const Field& part) {
      if (part.number() == 1) return Append(part, out.requests, "requests");
      return part.number() != 2 || Configuration(part, out.config);
    });
  }

  // A DeviceAllocationConfiguration.
  bool AllocationConfig(const Field& in, DeviceClaimConfiguration& out) {
    out.config = "{}";
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.source) || At("source");
        case 2: return Append(part, out.requests, "requests");
        case 3: return Configuration(part, out.config);
        default: return true;
      }
    });
  }

  bool Constraint(const Field& in, DeviceConstraint& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return Append(part, out.requests, "requests");
        case 2: return String(part, out.match_attribute) || At("matchAttribute");
        case 3: return String(part, out.distinct_attribute) || At("distinctAttribute");
        default: return true;
      }
    });
  }

  bool Request(const Field& in, DeviceRequest& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.name) || At("name");
        case 2: return Exact(part, out.exactly.emplace()) || At("exactly");
        case 3:
          return Append(part, out.first_available, "firstAvailable", [this](auto&&... args) { return Sub(args...); });
        default: return true;
      }
    });
  }

  bool Exact(const Field& in, ExactDeviceRequest& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.device_class_name) || At("deviceClassName");
        case 2: return SelectorItem(part, out.selectors);
        case 3: return String(part, out.allocation_mode) || At("allocationMode");
        case 4: return Int64(part, out.count) || At("count");
        case 5: return Boolean(part, out.admin_access) || At("adminAccess");
        case 6: return TolerationItem(part, out.tolerations);
        case 7: return CapacityRequests(part, out.capacity_requests) || At("capacity");
        default: return true;
      }
    });
  }

  bool Sub(const Field& in, ExactDeviceRequest& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.name) || At("name");
        case 2: return String(part, out.device_class_name) || At("deviceClassName");
        case 3: return SelectorItem(part, out.selectors);
        case 4: return String(part, out.allocation_mode) || At("allocationMode");
        case 5: return Int64(part, out.count) || At("count");
        case 6: return TolerationItem(part, out.tolerations);
        case 7: return CapacityRequests(part, out.capacity_requests) || At("capacity");
        default: return true;
      }
    });
  }

  // Protobuf does not tell an empty map from an absent one, and neither does what the API server writes as JSON.
  bool CapacityRequests(const Field& in, std::optional<Amounts>& out) {
    Amounts amounts;
    const bool is_good =
        Message(in, [&](const Field& part) { return part.number() != 1 || Entry(part, amounts, "requests"); });
    SortMap(amounts);
    if (!amounts.empty()) out = std::move(amounts);
    return is_good;
  }

  bool TolerationItem(const Field& in, std::vector<DeviceToleration>& out) {
    return Append(in, out, "tolerations", [this](const Field& item, DeviceToleration& slot) {
      return Message(item, [&](const Field& part) {
        switch (part.number()) {
          case 1: return String(part, slot.key) || At("key");
          case 2: return String(part, slot.op) || At("operator");
          case 3: return String(part, slot.value) || At("value");
          case 4: return String(part, slot.effect) || At("effect");
          case 5: return Int64(part, slot.toleration_seconds) || At("tolerationSeconds");
          default: return true;
        }
      });
    });
  }

  bool Status(const Field& in, ResourceClaim& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return Allocation(part, out.allocation.emplace()) || At("allocation");
        case 2:
          return Append(part, out.reserved_for, "reservedFor", [this](auto&&... args) { return Consumer(args...); });
        case 4: return Append(part, out.devices, "devices", [this](auto&&... args) { return DeviceStatus(args...); });
        default: return true;
      }
    });
  }

  bool Allocation(const Field& in, AllocationResult& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return AllocatedDevices(part, out) || At("devices");
        case 3: return NodeTerms(part, out.node_selector) || At("nodeSelector");
        case 5: return TimeField(part, out.allocation_timestamp) || At("allocationTimestamp");
        default: return true;
      }
    });
  }

  bool AllocatedDevices(const Field& in, AllocationResult& out) {
    return Message(in, [&](const Field& part) {
      if (part.number() == 1) {
        return Append(part, out.results, "results", [this](auto&&... args) { return Result(args...); });
      }
      return part.number() != 2 ||
             Append(part, out.configs, "config", [this](auto&&... args) { return AllocationConfig(args...); });
    });
  }

  bool Result(const Field& in, DeviceAllocationResult& out) {
    const bool is_good = Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.request) || At("request");
        case 2: return String(part, out.driver) || At("driver");
        case 3: return String(part, out.pool) || At("pool");
        case 4: return String(part, out.device) || At("device");
        case 5: return Boolean(part, out.admin_access) || At("adminAccess");
        case 6: return TolerationItem(part, out.tolerations);
        case 7: return Append(part, out.binding_conditions, "bindingConditions");
        case 8: return Append(part, out.binding_failure_conditions, "bindingFailureConditions");
        case 9: return String(part, out.share_id) || At("shareID");
        case 10: return Entry(part, out.consumed_capacity, "consumedCapacity");
        default: return true;
      }
    });
    SortMap(out.consumed_capacity);
    return is_good;
  }

  bool Consumer(const Field& in, ClaimConsumer& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.api_group) || At("apiGroup");
        case 3: return String(part, out.resource) || At("resource");
        case 4: return String(part, out.name) || At("name");
        case 5: return String(part, out.uid) || At("uid");
        default: return true;
      }
    });
  }

  bool DeviceStatus(const Field& in, AllocatedDeviceStatus& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.driver) || At("driver");
        case 2: return String(part, out.pool) || At("pool");
        case 3: return String(part, out.device) || At("device");
        case 4:
          return Append(part, out.conditions, "conditions", [this](auto&&... args) { return Condition(args...); });
        case 7: return String(part, out.share_id) || At("shareID");
        default: return true;
      }
    });
  }

  bool Condition(const Field& in, DeviceCondition& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.type) || At("type");
        case 2: return String(part, out.status) || At("status");
        case 5: return String(part, out.reason) || At("reason");
        case 6: return String(part, out.message) || At("message");
        default: return true;
      }
    });
  }
};

}  // namespace
}  // namespace internal

using internal::SliceDecoder;

Expected<std::shared_ptr<const ResourceSlice>> DecodeResourceSliceProtobuf(std::string_view raw) {
  return SliceDecoder("ResourceSlice").Slice(raw);
}
Expected<std::shared_ptr<const DeviceClass>> DecodeDeviceClassProtobuf(std::string_view raw) {
  return SliceDecoder("DeviceClass").Class(raw);
}
Expected<std::shared_ptr<const ResourceClaim>> DecodeResourceClaimProtobuf(std::string_view raw) {
  return internal::ClaimDecoder().Claim(raw);
}

}  // namespace berth::api
