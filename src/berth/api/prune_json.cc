// SPDX-License-Identifier: Apache-2.0
#include "berth/api/prune_json.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "berth/api/fields_admission.h"
#include "berth/api/fields_node.h"
#include "berth/api/fields_pod.h"
#include "berth/api/fields_pod_details.h"
#include "berth/api/fields_pod_group.h"
#include "berth/api/fields_resource_claim.h"
#include "berth/api/fields_storage.h"
#include "berth/api/fields_workloads.h"

namespace berth::api {

using simdjson::dom::element;

// What is kept of a value.
struct JsonPruner::Shape {
  enum class Kind : std::uint8_t { kLeaf, kAnnotations, kFields, kList, kMap };
  Kind kind = Kind::kLeaf;
  std::vector<std::pair<std::string_view, std::unique_ptr<Shape>>> fields;  // kFields, sorted by name
  std::unique_ptr<Shape> item;                                              // kList, kMap
  PruneOptions::Rewrite rewrite;                                            // kLeaf
  std::vector<std::string> annotations;                                     // kAnnotations
};

namespace internal {
namespace {

using Shape = JsonPruner::Shape;

// Builds shapes from the tables, as Lister in field_list.cc builds paths. Fields that two entries read are merged.
class ShapeMaker {
 public:
  explicit ShapeMaker(const PruneOptions& options) : options_(options) {}

  template <typename Message, typename T>
  void AddMessage(Shape& shape, const std::string& path) const {
    if constexpr (kIsSet<decltype(kMake<Message>)>) {
      using Parts = typename Taken<std::remove_cvref_t<decltype(kMake<Message>)>>::Type;
      AddPlace<Place<Parts>, Parts>(shape, path);
    } else {
      AddPlace<Place<Message>, T>(shape, path);
    }
  }

 private:
  template <typename Where, typename T>
  void AddPlace(Shape& shape, const std::string& path) const {
    shape.kind = Shape::Kind::kFields;
    [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      (AddEntry<Where, kIndex, T>(shape, path), ...);
    }(std::make_index_sequence<Where::kSize>());
  }

  template <typename Where, std::size_t kIndex, typename T>
  void AddEntry(Shape& shape, const std::string& path) const {
    using Entry = typename Where::template Entry<kIndex>;
    const Entry& entry = Where::template At<kIndex>();
    if constexpr (kIsInlined<Entry>) {
      AddPlace<typename Where::template Nested<kIndex>, T>(shape, path);
    } else {
      const std::string of_field = path.empty() ? std::string(entry.name) : path + '.' + std::string(entry.name);
      Shape& field = FieldOf(shape, entry.name);
      if constexpr (kIsFields<std::remove_cvref_t<decltype(entry.where)>>) {
        AddPlace<typename Where::template Nested<kIndex>, T>(field, of_field);
      } else {
        AddWhere<T>(field, of_field, entry.where);
      }
    }
  }

  static Shape& FieldOf(Shape& shape, std::string_view name) {
    const auto at = std::ranges::lower_bound(shape.fields, name, {}, &decltype(shape.fields)::value_type::first);
    if (at != shape.fields.end() && at->first == name) return *at->second;
    return *shape.fields.emplace(at, name, std::make_unique<Shape>())->second;
  }

  template <typename T, typename Where>
  void AddWhere(Shape& shape, const std::string& path, Where) const {
    if constexpr (kIsFunction<Where>) {
      AddValue<ByType, typename Taken<Where>::Type>(shape, path);
    } else if constexpr (kIsEach<Where>) {
      AddList<ByType, typename Taken<decltype(Where::function)>::Type>(shape, path);
    } else {
      using Kept = std::remove_cvref_t<decltype(Slot(std::declval<T&>(), std::declval<Where>()))>;
      AddValue<typename ShapeOf<Where>::Type, Kept>(shape, path);
    }
  }

  template <typename ItemShape, typename Item>
  void AddList(Shape& shape, const std::string& path) const {
    shape.kind = Shape::Kind::kList;
    if (shape.item == nullptr) shape.item = std::make_unique<Shape>();
    AddValue<ItemShape, Item>(*shape.item, path);
  }

  template <typename ShapeName, typename T>
  void AddValue(Shape& shape, const std::string& path) const {
    if constexpr (kIsOptional<T>) {
      AddValue<ShapeName, typename T::value_type>(shape, path);
    } else {
      using Way = Reading<ShapeName, T>;
      if constexpr (Way::kForm == Form::kList) {
        AddList<typename Way::ItemShape, typename T::value_type>(shape, path);
      } else if constexpr (Way::kForm == Form::kMap) {
        shape.item = std::make_unique<Shape>();
        AddValue<typename Way::ItemShape, typename T::value_type::second_type>(*shape.item, path);
        shape.kind = Shape::Kind::kMap;
        if (shape.item->kind == Shape::Kind::kLeaf) AddLeaf(shape, path);
      } else if constexpr (Way::kForm == Form::kMessage) {
        AddMessage<typename Way::Message, T>(shape, path);
      } else {
        AddLeaf(shape, path);
      }
    }
  }

  void AddLeaf(Shape& shape, const std::string& path) const {
    shape.item.reset();
    shape.kind = path == "metadata.annotations" ? Shape::Kind::kAnnotations : Shape::Kind::kLeaf;
    if (shape.kind == Shape::Kind::kAnnotations) shape.annotations = options_.annotations;
    if (options_.rewrite_of) shape.rewrite = options_.rewrite_of(path);
  }

  const PruneOptions& options_;
};

template <typename... Objects>
struct Kinds {
  static void Make(std::string_view kind, const ShapeMaker& maker, Shape& out) {
    ((kind == kKind<Objects> ? maker.AddMessage<Objects, Objects>(out, "") : void()), ...);
  }
};

// For a kind with several structs, every field that any of them reads is kept.
using AllKinds =
    Kinds<Pod, PodDetails, Node, PersistentVolume, PersistentVolumeClaim, StorageClass, CsiNode, CsiDriver,
          CsiStorageCapacity, VolumeAttachment, PodDisruptionBudget, BudgetDetails, Namespace, Service,
          ReplicationController, ReplicaSet, StatefulSet, ResourceSlice, DeviceTaintRule, DeviceClass, ResourceClaim,
          PodGroup, CompositePodGroup, PriorityClass, RuntimeClass, ResourceClaimTemplate, ResourceQuota>;

// --- Writing ---------------------------------------------------------------------------------------------------------

void AppendWhole(element value, std::string& out) { out += simdjson::minify(value); }

bool IsKept(std::string_view key, const std::vector<std::string>& kept) {
  return std::ranges::any_of(kept, [key](const std::string& want) {
    return want.ends_with('*') ? key.starts_with(std::string_view(want).substr(0, want.size() - 1)) : key == want;
  });
}

void AppendLeaf(const Shape& shape, element value, std::string& out) {
  if (shape.rewrite && !value.is_null()) {
    shape.rewrite(value, out);
  } else {
    AppendWhole(value, out);
  }
}

void AppendValue(const Shape& shape, element value, std::string& out);

// Calls append(member) for each member; it returns whether it has written something.
template <typename Append>
void AppendMembers(simdjson::dom::object object, std::string& out, Append append) {
  out += '{';
  bool is_first = true;
  for (const auto member : object) {
    const std::size_t before = out.size();
    if (!is_first) out += ',';
    if (append(member)) {
      is_first = false;
    } else {
      out.resize(before);
    }
  }
  out += '}';
}

void AppendFields(const Shape& shape, simdjson::dom::object object, std::string& out) {
  AppendMembers(object, out, [&](const auto& member) {
    const std::string_view key = member.key;
    const auto at = std::ranges::lower_bound(shape.fields, key, {}, [](const auto& field) { return field.first; });
    if (at == shape.fields.end() || at->first != key) return false;
    out.append("\"").append(key).append("\":");
    AppendValue(*at->second, member.value, out);
    return true;
  });
}

void AppendAnnotations(const Shape& shape, simdjson::dom::object object, std::string& out) {
  std::string kept;
  AppendMembers(object, kept, [&](const auto& member) {
    if (!IsKept(member.key, shape.annotations)) return false;
    AppendJsonText(member.key, kept);
    kept += ':';
    AppendWhole(member.value, kept);
    return true;
  });
  if (!shape.rewrite) {
    out += kept;
    return;
  }
  simdjson::dom::parser parser;
  element parsed;
  // `kept` was just written and is valid JSON.
  if (parser.parse(kept).get(parsed) == simdjson::SUCCESS) shape.rewrite(parsed, out);
}

void AppendList(const Shape& item, simdjson::dom::array array, std::string& out) {
  out += '[';
  bool is_first = true;
  for (const element value : array) {
    if (!std::exchange(is_first, false)) out += ',';
    AppendValue(item, value, out);
  }
  out += ']';
}

void AppendValue(const Shape& shape, element value, std::string& out) {
  simdjson::dom::object object;
  simdjson::dom::array array;
  switch (shape.kind) {
    case Shape::Kind::kLeaf: return AppendLeaf(shape, value, out);
    case Shape::Kind::kAnnotations:
      if (value.get(object) == simdjson::SUCCESS) return AppendAnnotations(shape, object, out);
      break;
    case Shape::Kind::kFields:
      if (value.get(object) == simdjson::SUCCESS) return AppendFields(shape, object, out);
      break;
    case Shape::Kind::kMap:
      if (value.get(object) != simdjson::SUCCESS) break;
      return AppendMembers(object, out, [&](const auto& member) {
        AppendJsonText(member.key, out);
        out += ':';
        AppendValue(*shape.item, member.value, out);
        return true;
      });
    case Shape::Kind::kList:
      if (value.get(array) == simdjson::SUCCESS) return AppendList(*shape.item, array, out);
      break;
  }
  AppendWhole(value, out);
}

}  // namespace
}  // namespace internal

JsonPruner::JsonPruner(std::string_view kind, const PruneOptions& options) {
  auto shape = std::make_unique<Shape>();
  internal::AllKinds::Make(kind, internal::ShapeMaker(options), *shape);
  shape_ = std::move(shape);
}

JsonPruner::~JsonPruner() = default;
JsonPruner::JsonPruner(JsonPruner&&) noexcept = default;
JsonPruner& JsonPruner::operator=(JsonPruner&&) noexcept = default;

void AppendJsonText(std::string_view text, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.append("\\").push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out.append("\\u00").push_back(kHex[static_cast<unsigned char>(c) >> 4]);
      out.push_back(kHex[static_cast<unsigned char>(c) & 15]);
    } else {
      out.push_back(c);
    }
  }
  out += '"';
}

void JsonPruner::Append(const element& object, std::string& out) const { internal::AppendValue(*shape_, object, out); }

}  // namespace berth::api
