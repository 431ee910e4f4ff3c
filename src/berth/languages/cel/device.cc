// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/device.h"

#include <map>
#include <memory>
#include <string_view>

namespace berth::cel {
namespace {

constexpr std::string_view kDeviceType = "kubernetes.DRADevice";

Environment MakeEnvironment(const DeviceFeatures& features) {
  Environment environment;
  // The type any, which attributes have without the gate, does not allow iteration over lists.
  const TypePtr attribute = features.list_attributes ? DynType() : AnyType();
  std::map<std::string, TypePtr> fields = {{"driver", StringType()},
                                           {"allowMultipleAllocations", BoolType()},
                                           {"attributes", MapType(StringType(), MapType(StringType(), attribute))},
                                           {"capacity", MapType(StringType(), MapType(StringType(), QuantityType()))}};
  environment.AddStruct(kDeviceType, std::move(fields));
  environment.AddVariable("device", StructType(kDeviceType));
  environment.NameContainer(features.names_container);
  return environment;
}

const Environment& DeviceEnvironment(const DeviceFeatures& features) {
  static const Environment kEnvironments[] = {
      MakeEnvironment({.list_attributes = false, .names_container = false}),
      MakeEnvironment({.list_attributes = false, .names_container = true}),
      MakeEnvironment({.list_attributes = true, .names_container = false}),
      MakeEnvironment({.list_attributes = true, .names_container = true}),
  };
  return kEnvironments[(features.list_attributes ? 2 : 0) + (features.names_container ? 1 : 0)];
}

Expected<Value> VersionValue(const DeviceVersion& version) {
  auto parsed = Semver::Parse(version.text);
  if (!parsed.ok()) return InvalidError("parse semantic version: " + parsed.error().message);
  return Value::Of(std::move(*parsed));
}

Expected<Value> ScalarValue(std::int64_t value) { return Value::Int(value); }
Expected<Value> ScalarValue(bool value) { return Value::Bool(value); }
Expected<Value> ScalarValue(const std::string& value) { return Value::String(value); }
Expected<Value> ScalarValue(const DeviceVersion& value) { return VersionValue(value); }

template <typename T>
Expected<Value> ListValue(const std::vector<T>& list) {
  std::vector<Value> items;
  for (const T& item : list) {
    BERTH_ASSIGN_OR_RETURN(Value value, ScalarValue(item));
    items.push_back(std::move(value));
  }
  return Value::OfList(std::move(items));
}

// Converts an attribute to a value.
struct AttributeValue {
  const DeviceFeatures& features;

  static Error Unsupported() { return InvalidError("unsupported attribute value"); }

  Expected<Value> operator()(std::monostate) const { return Unsupported(); }
  template <typename T>
  Expected<Value> operator()(const T& value) const {
    return ScalarValue(value);
  }
  template <typename T>
  Expected<Value> operator()(const std::vector<T>& list) const {
    if (!features.list_attributes) return Unsupported();
    return ListValue(list);
  }
};

struct QualifiedName {
  std::string domain;
  std::string id;
};

QualifiedName Split(const std::string& name, const std::string& driver) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return {driver, name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

// Attributes or capacities by domain. A missing domain is an empty map.
class Domains {
 public:
  Domains() {
    domains_->set_input(true);
    domains_->SetDefault(Value::Of(std::make_shared<Map>()));
  }

  void Put(const QualifiedName& name, Value value) {
    const Value domain = Value::String(name.domain);
    const Value* found = domains_->Find(domain);
    if (found == nullptr) {
      auto ids = std::make_shared<Map>();
      ids->set_input(true);
      domains_->Put(domain, Value::Of(std::move(ids)));
      found = domains_->Find(domain);
    }
    found->AsMap()->Put(Value::String(name.id), std::move(value));
  }
  Value value() const { return Value::Of(domains_); }

 private:
  std::shared_ptr<Map> domains_ = std::make_shared<Map>();
};

// Why a value is not a bool, in the words of upstream's conversions.
std::string WhyNotBool(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kInt: return "unsupported type conversion from 'int' to bool";
    case ValueKind::kUint: return "unsupported type conversion from 'uint' to bool";
    case ValueKind::kString: return "unsupported native conversion from string to 'bool'";
    case ValueKind::kDouble: return "type conversion error from Double to 'bool'";
    case ValueKind::kBytes: return "type conversion error from Bytes to 'bool'";
    case ValueKind::kNull: return "type conversion error from 'null_type' to 'bool'";
    case ValueKind::kList: return "type conversion error from list to 'bool'";
    case ValueKind::kMap: return "type conversion error from map to 'bool'";
    case ValueKind::kType: return "type conversion not supported for 'type'";
    case ValueKind::kDuration: return "type conversion error from 'Duration' to 'bool'";
    case ValueKind::kTimestamp: return "type conversion error from 'Timestamp' to 'bool'";
    case ValueKind::kQuantity: return "type conversion error from 'Quantity' to 'bool'";
    case ValueKind::kSemver: return "type conversion error from 'Semver' to 'bool'";
    case ValueKind::kIp: return "type conversion error from 'IP' to 'bool'";
    case ValueKind::kCidr: return "type conversion error from 'CIDR' to 'bool'";
    case ValueKind::kOptional: return "optional.none() dereference";
    default: return {};
  }
}

Expected<bool> ToBool(const Value& value) {
  const Value* content = &value;
  while (content->Is(ValueKind::kOptional) && content->AsOptional() != nullptr) content = content->AsOptional().get();
  if (content->Is(ValueKind::kBool)) return content->AsBool();
  return InvalidError("CEL result of type " + std::string(TypeName(value)) +
                      " could not be converted to bool: " + WhyNotBool(*content));
}

}  // namespace

Expected<DeviceInput> DeviceInput::Make(const Device& device, const DeviceFeatures& features) {
  Domains attributes;
  for (const auto& [name, attribute] : device.attributes) {
    auto value = std::visit(AttributeValue{features}, attribute);
    if (!value.ok()) return InvalidError("attribute " + name + ": " + value.error().message);
    attributes.Put(Split(name, device.driver), std::move(*value));
  }
  Domains capacity;
  for (const auto& [name, amount] : device.capacity) {
    capacity.Put(Split(name, device.driver), Value::Of(QuantityFromAmount(amount)));
  }
  auto fields = std::make_shared<Map>();
  fields->set_input(true);
  fields->Put(Value::String("driver"), Value::String(device.driver));
  fields->Put(Value::String("allowMultipleAllocations"),
              Value::Bool(features.shared_devices && device.allow_multiple_allocations));
  fields->Put(Value::String("attributes"), attributes.value());
  fields->Put(Value::String("capacity"), capacity.value());
  DeviceInput input;
  input.activation_.Set("device", Value::Of(std::move(fields)));
  return input;
}

Expected<DeviceSelector> DeviceSelector::Compile(std::string_view expression, const DeviceFeatures& features) {
  const auto check_type = [&features](const Type& type) -> Expected<void> {
    const bool may_be_bool = type.kind == TypeKind::kBool || type.kind == TypeKind::kAny ||
                             (features.list_attributes && type.kind == TypeKind::kDyn);
    if (may_be_bool) return {};
    return InvalidError("must evaluate to bool or the unknown type, not " + TypeString(type));
  };
  BERTH_ASSIGN_OR_RETURN(Program program, Program::Compile(DeviceEnvironment(features), expression, check_type));
  return DeviceSelector(std::move(program));
}

DeviceMatch DeviceSelector::Matches(const DeviceInput& device, std::uint64_t cost_limit) const {
  EvaluationResult result = program_.Evaluate(device.activation(), cost_limit);
  if (!result.value.ok()) return {result.value.error(), result.cost};
  return {ToBool(*result.value), result.cost};
}

}  // namespace berth::cel
