#include <algorithm>

#include "berth/api/decode.h"
#include "berth/api/decode_internal.h"

namespace berth::api {
namespace internal {
namespace {

class NodeDecoder : public Decoder {
 public:
  NodeDecoder() : Decoder("Node") {}

  Expected<std::shared_ptr<const Node>> Decode(element object) {
    return Whole<Node>(object, [this](Node& out, std::string_view key, element value, const Path& path) {
      if (Is(key, "spec")) return Spec(value, path, out);
      return !Is(key, "status") || Status(value, path, out);
    });
  }

 private:
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
};

}  // namespace
}  // namespace internal

Expected<std::shared_ptr<const Node>> DecodeNode(simdjson::dom::element object) {
  return internal::NodeDecoder().Decode(object);
}

}  // namespace berth::api
