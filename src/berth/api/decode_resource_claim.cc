// Dynamic resource allocation.
#include "berth/api/decode.h"
#include "berth/api/decode_internal.h"

namespace berth::api {
namespace internal {
namespace {

// What devices and requests have in common.
class DeviceDecoder : public Decoder {
 public:
  using Decoder::Decoder;

 protected:
  bool Amounts(element value, const Path& path, std::vector<std::pair<std::string, Quantity>>& out) {
    return Map(value, path, out,
               [this](element item, const Path& at, Quantity& slot) { return QuantityField(item, at, slot); });
  }

  // A list of selectors, of which the CEL expressions are kept.
  bool Selectors(element value, const Path& path, std::vector<std::string>& out) {
    return List(value, path, out, [this](element selector, const Path& at, std::string& slot) {
      return Object(selector, at, [&](std::string_view key, element item) {
        if (!Is(key, "cel")) return true;
        const Path cel = at.Field(key);
        return Object(item, cel, [&](std::string_view name, element text) {
          return !Is(name, "expression") || String(text, cel.Field(name), slot);
        });
      });
    });
  }

  // The part of a configuration that the scheduler passes on as it is. `visit` gets the other members.
  template <typename Visit>
  bool Configuration(element value, const Path& path, std::string& out, Visit visit) {
    out = "{}";
    return Object(value, path, [&](std::string_view key, element item) {
      if (!Is(key, "opaque")) return visit(key, item, path.Field(key));
      if (item.is_null()) return true;
      if (!item.is_object()) return WrongType(path.Field(key), item, "an object");
      out = "{\"opaque\":" + simdjson::minify(item) + '}';
      return true;
    });
  }
};

class SliceDecoder : public DeviceDecoder {
 public:
  using DeviceDecoder::DeviceDecoder;

  Expected<std::shared_ptr<const ResourceSlice>> Slice(element object) {
    return Whole<ResourceSlice>(object,
                                [this](ResourceSlice& out, std::string_view key, element value, const Path& path) {
                                  return !Is(key, "spec") || SliceSpec(value, path, out);
                                });
  }

  Expected<std::shared_ptr<const DeviceClass>> Class(element object) {
    return Whole<DeviceClass>(object, [this](DeviceClass& out, std::string_view key, element value, const Path& path) {
      if (!Is(key, "spec")) return true;
      return Object(value, path, [&](std::string_view name, element item) {
        const Path at = path.Field(name);
        if (Is(name, "selectors")) return Selectors(item, at, out.selectors);
        if (Is(name, "extendedResourceName")) return String(item, at, out.extended_resource_name);
        if (!Is(name, "config")) return true;
        return List(item, at, out.configs, [this](element config, const Path& where, std::string& slot) {
          return Configuration(config, where, slot, [](std::string_view, element, const Path&) { return true; });
        });
      });
    });
  }

 private:
  bool SliceSpec(element value, const Path& path, ResourceSlice& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "driver")) return String(item, at, out.driver);
      if (Is(key, "pool")) return Pool(item, at, out);
      if (Is(key, "perDeviceNodeSelection")) return Boolean(item, at, out.per_device_node_selection);
      if (Is(key, "devices")) {
        return List(item, at, out.devices, [this](auto&&... args) { return DeviceItem(args...); });
      }
      if (Is(key, "sharedCounters")) {
        return List(item, at, out.shared_counters,
                    [this](element set, const Path& where, CounterSet& slot) { return Set(set, where, "name", slot); });
      }
      return Nodes(key, item, at, out.nodes);
    });
  }

  bool Pool(element value, const Path& path, ResourceSlice& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "name")) return String(item, at, out.pool_name);
      if (Is(key, "generation")) return Int64(item, at, out.pool_generation);
      return !Is(key, "resourceSliceCount") || Int64(item, at, out.pool_slice_count);
    });
  }

  // The members that say where devices can be used, of a slice or a device.
  bool Nodes(std::string_view key, element value, const Path& path, DeviceNodes& out) {
    if (Is(key, "nodeName")) return String(value, path, out.node_name);
    if (Is(key, "nodeSelector")) return NodeTerms(value, path, out.node_selector);
    return !Is(key, "allNodes") || Boolean(value, path, out.all_nodes);
  }

  bool Set(element value, const Path& path, std::string_view name_member, CounterSet& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (key == name_member) return String(item, at, out.name);
      if (!Is(key, "counters")) return true;
      return Map(item, at, out.counters,
                 [this](element counter, const Path& where, Quantity& slot) { return ValueOf(counter, where, slot); });
    });
  }

  bool ValueOf(element value, const Path& path, Quantity& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      return !Is(key, "value") || QuantityField(item, path.Field(key), out);
    });
  }

  bool DeviceItem(element value, const Path& path, Device& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "name")) return String(item, at, out.name);
      if (Is(key, "attributes")) {
        return Map(item, at, out.attributes, [this](auto&&... args) { return Attribute(args...); });
      }
      if (Is(key, "capacity")) {
        return Map(item, at, out.capacity, [this](auto&&... args) { return Capacity(args...); });
      }
      if (Is(key, "consumesCounters")) {
        return List(item, at, out.consumes_counters, [this](element set, const Path& where, CounterSet& slot) {
          return Set(set, where, "counterSet", slot);
        });
      }
      if (Is(key, "taints")) return List(item, at, out.taints, [this](auto&&... args) { return Taint(args...); });
      if (Is(key, "bindsToNode")) return Boolean(item, at, out.binds_to_node);
      if (Is(key, "bindingConditions")) return Strings(item, at, out.binding_conditions);
      if (Is(key, "bindingFailureConditions")) return Strings(item, at, out.binding_failure_conditions);
      if (Is(key, "allowMultipleAllocations")) return Boolean(item, at, out.allow_multiple_allocations);
      if (Is(key, "nodeAllocatableResourceMappings")) {
        return Map(item, at, out.node_allocatable_resource_mappings,
                   [this](auto&&... args) { return Mapping(args...); });
      }
      return Nodes(key, item, at, out.nodes);
    });
  }

  bool Attribute(element value, const Path& path, DeviceAttribute& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      if (item.is_null()) return true;
      const Path at = path.Field(key);
      const auto version = [this](element text, const Path& where, VersionValue& slot) {
        return String(text, where, slot.text);
      };
      if (Is(key, "int")) return Int64(item, at, out.emplace<std::int64_t>());
      if (Is(key, "bool")) return Boolean(item, at, out.emplace<bool>());
      if (Is(key, "string")) return String(item, at, out.emplace<std::string>());
      if (Is(key, "version")) return version(item, at, out.emplace<VersionValue>());
      if (Is(key, "ints")) {
        return List(item, at, out.emplace<std::vector<std::int64_t>>(),
                    [this](auto&&... args) { return Int64(args...); });
      }
      if (Is(key, "bools")) return Booleans(item, at, out.emplace<std::vector<bool>>());
      if (Is(key, "strings")) return Strings(item, at, out.emplace<std::vector<std::string>>());
      return !Is(key, "versions") || List(item, at, out.emplace<std::vector<VersionValue>>(), version);
    });
  }

  bool Booleans(element value, const Path& path, std::vector<bool>& out) {
    return Array(value, path, [&](element item, const Path& at) {
      bool flag = false;
      const bool is_good = Boolean(item, at, flag);
      out.push_back(flag);
      return is_good;
    });
  }

  bool Capacity(element value, const Path& path, DeviceCapacity& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "value")) return QuantityField(item, at, out.value);
      if (!Is(key, "requestPolicy") || item.is_null()) return true;
      return Policy(item, at, out.request_policy.emplace());
    });
  }

  bool Policy(element value, const Path& path, CapacityRequestPolicy& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "default")) return QuantityField(item, at, out.default_value);
      if (Is(key, "validValues")) {
        return List(item, at, out.valid_values, [this](element each, const Path& where, Quantity& slot) {
          return QuantityField(each, where, slot);
        });
      }
      if (!Is(key, "validRange") || item.is_null()) return true;
      CapacityRequestRange& range = out.valid_range.emplace();
      return Object(item, at, [&](std::string_view name, element limit) {
        const Path where = at.Field(name);
        if (Is(name, "min")) return QuantityField(limit, where, range.min);
        if (Is(name, "max")) return QuantityField(limit, where, range.max);
        return !Is(name, "step") || QuantityField(limit, where, range.step);
      });
    });
  }

  bool Taint(element value, const Path& path, DeviceTaint& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "key")) return String(item, at, out.key);
      if (Is(key, "value")) return String(item, at, out.value);
      return !Is(key, "effect") || String(item, at, out.effect);
    });
  }

  bool Mapping(element value, const Path& path, NodeAllocatableResourceMapping& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "capacityKey")) return String(item, at, out.capacity_key);
      return !Is(key, "allocationMultiplier") || QuantityField(item, at, out.allocation_multiplier);
    });
  }
};

class ClaimDecoder : public DeviceDecoder {
 public:
  ClaimDecoder() : DeviceDecoder("ResourceClaim") {}

  Expected<std::shared_ptr<const ResourceClaim>> Claim(element object) {
    auto claim =
        Whole<ResourceClaim>(object, [this](ResourceClaim& out, std::string_view key, element value, const Path& path) {
          if (Is(key, "spec")) return Devices(value, path, out.spec);
          return !Is(key, "status") || Status(value, path, out);
        });
    if (!claim.ok()) return claim;
    auto out = std::make_shared<ResourceClaim>(**claim);
    return Extras(object, *out) ? Expected<std::shared_ptr<const ResourceClaim>>(std::move(out)) : Failure(object);
  }

 private:
  // Of the metadata, what only writers of claims need.
  bool Extras(element object, ResourceClaim& out) {
    element metadata;
    if (object["metadata"].get(metadata) != simdjson::SUCCESS) return true;
    const Path path = kRoot.Field("metadata");
    return Object(metadata, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "finalizers")) return Strings(item, at, out.finalizers);
      if (!Is(key, "ownerReferences")) return true;
      return List(item, at, out.owners, [this](element owner, const Path& where, OwnerReference& slot) {
        bool is_controller = false;
        return Owner(owner, where, slot, is_controller);
      });
    });
  }

  bool Devices(element value, const Path& path, ResourceClaimSpec& out) {
    return Object(value, path, [&](std::string_view key, element devices) {
      if (!Is(key, "devices")) return true;
      const Path at = path.Field(key);
      return Object(devices, at, [&](std::string_view name, element item) {
        const Path where = at.Field(name);
        if (Is(name, "requests")) {
          return List(item, where, out.requests, [this](auto&&... args) { return Request(args...); });
        }
        if (Is(name, "constraints")) {
          return List(item, where, out.constraints, [this](auto&&... args) { return Constraint(args...); });
        }
        return !Is(name, "config") || Configs(item, where, out.configs);
      });
    });
  }

  bool Configs(element value, const Path& path, std::vector<DeviceClaimConfiguration>& out) {
    return List(value, path, out, [this](element item, const Path& at, DeviceClaimConfiguration& slot) {
      return Configuration(item, at, slot.config, [&](std::string_view key, element field, const Path& where) {
        if (Is(key, "source")) return String(field, where, slot.source);
        return !Is(key, "requests") || Strings(field, where, slot.requests);
      });
    });
  }

  bool Constraint(element value, const Path& path, DeviceConstraint& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "requests")) return Strings(item, at, out.requests);
      if (Is(key, "matchAttribute")) return String(item, at, out.match_attribute);
      return !Is(key, "distinctAttribute") || String(item, at, out.distinct_attribute);
    });
  }

  bool Request(element value, const Path& path, DeviceRequest& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "name")) return String(item, at, out.name);
      if (Is(key, "exactly")) {
        out.exactly.reset();
        return item.is_null() || Demand(item, at, out.exactly.emplace());
      }
      return !Is(key, "firstAvailable") ||
             List(item, at, out.first_available, [this](auto&&... args) { return Demand(args...); });
    });
  }

  bool Demand(element value, const Path& path, ExactDeviceRequest& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "name")) return String(item, at, out.name);
      if (Is(key, "deviceClassName")) return String(item, at, out.device_class_name);
      if (Is(key, "selectors")) return Selectors(item, at, out.selectors);
      if (Is(key, "allocationMode")) return String(item, at, out.allocation_mode);
      if (Is(key, "count")) return Int64(item, at, out.count);
      if (Is(key, "adminAccess")) return Boolean(item, at, out.admin_access);
      if (Is(key, "tolerations")) return Tolerations(item, at, out.tolerations);
      if (!Is(key, "capacity") || item.is_null()) return true;
      return Object(item, at, [&](std::string_view name, element field) {
        if (!Is(name, "requests") || field.is_null()) return true;
        return Amounts(field, at.Field(name), out.capacity_requests.emplace());
      });
    });
  }

  bool Tolerations(element value, const Path& path, std::vector<DeviceToleration>& out) {
    return List(value, path, out, [this](element item, const Path& at, DeviceToleration& slot) {
      return Object(item, at, [&](std::string_view key, element field) {
        const Path where = at.Field(key);
        if (Is(key, "key")) return String(field, where, slot.key);
        if (Is(key, "operator")) return String(field, where, slot.op);
        if (Is(key, "value")) return String(field, where, slot.value);
        if (Is(key, "effect")) return String(field, where, slot.effect);
        if (!Is(key, "tolerationSeconds") || field.is_null()) return true;
        return Int64(field, where, slot.toleration_seconds.emplace());
      });
    });
  }

  bool Status(element value, const Path& path, ResourceClaim& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "allocation")) {
        out.allocation.reset();
        return item.is_null() || Allocation(item, at, out.allocation.emplace());
      }
      if (Is(key, "reservedFor")) {
        return List(item, at, out.reserved_for, [this](auto&&... args) { return Consumer(args...); });
      }
      return !Is(key, "devices") ||
             List(item, at, out.devices, [this](auto&&... args) { return DeviceStatus(args...); });
    });
  }

  bool Allocation(element value, const Path& path, AllocationResult& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "nodeSelector")) return NodeTerms(item, at, out.node_selector);
      if (Is(key, "allocationTimestamp")) return TimeField(item, at, out.allocation_timestamp);
      if (!Is(key, "devices")) return true;
      return Object(item, at, [&](std::string_view name, element field) {
        const Path where = at.Field(name);
        if (Is(name, "results")) {
          return List(field, where, out.results, [this](auto&&... args) { return Result(args...); });
        }
        return !Is(name, "config") || Configs(field, where, out.configs);
      });
    });
  }

  bool Result(element value, const Path& path, DeviceAllocationResult& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "request")) return String(item, at, out.request);
      if (Is(key, "driver")) return String(item, at, out.driver);
      if (Is(key, "pool")) return String(item, at, out.pool);
      if (Is(key, "device")) return String(item, at, out.device);
      if (Is(key, "adminAccess")) return Boolean(item, at, out.admin_access);
      if (Is(key, "tolerations")) return Tolerations(item, at, out.tolerations);
      if (Is(key, "bindingConditions")) return Strings(item, at, out.binding_conditions);
      if (Is(key, "bindingFailureConditions")) return Strings(item, at, out.binding_failure_conditions);
      if (Is(key, "shareID")) return String(item, at, out.share_id);
      return !Is(key, "consumedCapacity") || Amounts(item, at, out.consumed_capacity);
    });
  }

  bool Consumer(element value, const Path& path, ClaimConsumer& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "apiGroup")) return String(item, at, out.api_group);
      if (Is(key, "resource")) return String(item, at, out.resource);
      if (Is(key, "name")) return String(item, at, out.name);
      return !Is(key, "uid") || String(item, at, out.uid);
    });
  }

  bool DeviceStatus(element value, const Path& path, AllocatedDeviceStatus& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "driver")) return String(item, at, out.driver);
      if (Is(key, "pool")) return String(item, at, out.pool);
      if (Is(key, "device")) return String(item, at, out.device);
      if (Is(key, "shareID")) return String(item, at, out.share_id);
      if (!Is(key, "conditions")) return true;
      return List(item, at, out.conditions, [this](element condition, const Path& where, DeviceCondition& slot) {
        return Object(condition, where, [&](std::string_view name, element field) {
          const Path place = where.Field(name);
          if (Is(name, "type")) return String(field, place, slot.type);
          if (Is(name, "status")) return String(field, place, slot.status);
          if (Is(name, "reason")) return String(field, place, slot.reason);
          return !Is(name, "message") || String(field, place, slot.message);
        });
      });
    });
  }
};

}  // namespace
}  // namespace internal

using internal::ClaimDecoder;
using internal::SliceDecoder;

Expected<std::shared_ptr<const ResourceSlice>> DecodeResourceSlice(simdjson::dom::element object) {
  return SliceDecoder("ResourceSlice").Slice(object);
}
Expected<std::shared_ptr<const DeviceClass>> DecodeDeviceClass(simdjson::dom::element object) {
  return SliceDecoder("DeviceClass").Class(object);
}
Expected<std::shared_ptr<const ResourceClaim>> DecodeResourceClaim(simdjson::dom::element object) {
  return ClaimDecoder().Claim(object);
}

}  // namespace berth::api
