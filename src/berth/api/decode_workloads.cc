#include <algorithm>

#include "berth/api/decode.h"
#include "berth/api/decode_internal.h"

namespace berth::api {
namespace internal {
namespace {

class WorkloadDecoder : public Decoder {
 public:
  using Decoder::Decoder;

  // Kinds of which scheduling reads the metadata alone, or also spec.selector.
  template <typename T>
  Expected<std::shared_ptr<const T>> Plain(element object) {
    return Whole<T>(object, [](T&, std::string_view, element, const Path&) { return true; });
  }

  template <typename T>
  Expected<std::shared_ptr<const T>> WithSelector(element object) {
    return Whole<T>(object, [this](T& out, std::string_view key, element value, const Path& path) {
      return !Is(key, "spec") || SpecSelector(value, path, out.selector);
    });
  }

  Expected<std::shared_ptr<const PodDisruptionBudget>> Budget(element object) {
    return Whole<PodDisruptionBudget>(
        object, [this](PodDisruptionBudget& out, std::string_view key, element value, const Path& path) {
          if (Is(key, "spec")) return SpecSelector(value, path, out.selector);
          return !Is(key, "status") || BudgetStatus(value, path, out);
        });
  }

 private:
  template <typename Selector>
  bool SpecSelector(element value, const Path& path, Selector& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      return !Is(key, "selector") || Read(item, path.Field(key), out);
    });
  }
  bool Read(element value, const Path& path, StringMap& out) { return Strings(value, path, out); }
  bool Read(element value, const Path& path, std::optional<StringMap>& out) {
    out.reset();
    return value.is_null() || Strings(value, path, out.emplace());
  }
  bool Read(element value, const Path& path, std::optional<LabelSelector>& out) { return Selector(value, path, out); }

  bool BudgetStatus(element value, const Path& path, PodDisruptionBudget& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "disruptionsAllowed")) return Int32(item, at, out.disruptions_allowed);
      if (!Is(key, "disruptedPods")) return true;
      out.disrupted_pods.clear();
      const bool is_good = Object(item, at, [&](std::string_view name, element) {
        out.disrupted_pods.emplace_back(name);
        return true;
      });
      std::sort(out.disrupted_pods.begin(), out.disrupted_pods.end());
      return is_good;
    });
  }
};

}  // namespace
}  // namespace internal

using internal::WorkloadDecoder;

Expected<std::shared_ptr<const PodDisruptionBudget>> DecodePodDisruptionBudget(simdjson::dom::element object) {
  return WorkloadDecoder("PodDisruptionBudget").Budget(object);
}
Expected<std::shared_ptr<const Namespace>> DecodeNamespace(simdjson::dom::element object) {
  return WorkloadDecoder("Namespace").Plain<Namespace>(object);
}
Expected<std::shared_ptr<const Service>> DecodeService(simdjson::dom::element object) {
  return WorkloadDecoder("Service").WithSelector<Service>(object);
}
Expected<std::shared_ptr<const ReplicationController>> DecodeReplicationController(simdjson::dom::element object) {
  return WorkloadDecoder("ReplicationController").WithSelector<ReplicationController>(object);
}
Expected<std::shared_ptr<const ReplicaSet>> DecodeReplicaSet(simdjson::dom::element object) {
  return WorkloadDecoder("ReplicaSet").WithSelector<ReplicaSet>(object);
}
Expected<std::shared_ptr<const StatefulSet>> DecodeStatefulSet(simdjson::dom::element object) {
  return WorkloadDecoder("StatefulSet").WithSelector<StatefulSet>(object);
}

}  // namespace berth::api
