// SPDX-License-Identifier: Apache-2.0
#include "berth/api/field_list.h"

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
namespace internal {
namespace {

class Lister {
 public:
  template <typename Message, typename T>
  void AddMessage(const std::string& prefix) {
    if constexpr (kIsSet<decltype(kMake<Message>)>) {
      using Parts = typename Taken<std::remove_cvref_t<decltype(kMake<Message>)>>::Type;
      AddPlace<Place<Parts>, Parts>(prefix, 0);
    } else {
      AddPlace<Place<Message>, T>(prefix, 0);
    }
  }

  std::vector<ListedField> Take() && { return std::move(fields_); }

 private:
  template <typename Where, typename T>
  void AddPlace(const std::string& prefix, std::uint32_t inline_number) {
    [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      (AddEntry<Where, kIndex, T>(prefix, inline_number), ...);
    }(std::make_index_sequence<Where::kSize>());
  }

  template <typename Where, std::size_t kIndex, typename T>
  void AddEntry(const std::string& prefix, std::uint32_t inline_number) {
    using Entry = typename Where::template Entry<kIndex>;
    const Entry& entry = Where::template At<kIndex>();
    if constexpr (kIsInlined<Entry>) {
      AddPlace<typename Where::template Nested<kIndex>, T>(prefix, entry.number);
    } else {
      const std::string path = prefix.empty() ? std::string(entry.name) : prefix + '.' + std::string(entry.name);
      fields_.push_back({path, entry.number, inline_number});
      if constexpr (kIsFields<std::remove_cvref_t<decltype(entry.where)>>) {
        AddPlace<typename Where::template Nested<kIndex>, T>(path, 0);
      } else {
        AddWhere<T>(path, entry.where);
      }
    }
  }

  template <typename T, typename Where>
  void AddWhere(const std::string& path, Where) {
    if constexpr (kIsFunction<Where>) {
      AddValue<ByType, typename Taken<Where>::Type>(path);
    } else if constexpr (kIsEach<Where>) {
      AddValue<ByType, typename Taken<decltype(Where::function)>::Type>(path);
    } else {
      using Kept = std::remove_cvref_t<decltype(Slot(std::declval<T&>(), std::declval<Where>()))>;
      AddValue<typename ShapeOf<Where>::Type, Kept>(path);
    }
  }

  template <typename Shape, typename T>
  void AddValue(const std::string& path) {
    if constexpr (kIsOptional<T>) {
      AddValue<Shape, typename T::value_type>(path);
    } else {
      using Way = Reading<Shape, T>;
      if constexpr (Way::kForm == Form::kList) {
        AddValue<typename Way::ItemShape, typename T::value_type>(path);
      } else if constexpr (Way::kForm == Form::kMap) {
        AddValue<typename Way::ItemShape, typename T::value_type::second_type>(path);
      } else if constexpr (Way::kForm == Form::kMessage) {
        AddMessage<typename Way::Message, T>(path);
      }
    }
  }

  std::vector<ListedField> fields_;
};

template <typename... Objects>
struct Kinds {
  static std::vector<ListedField> Fields(std::string_view kind) {
    Lister lister;
    ((kind == kKind<Objects> ? lister.AddMessage<Objects, Objects>("") : void()), ...);
    return std::move(lister).Take();
  }
  static std::vector<std::string_view> Names() { return {kKind<Objects>...}; }
};

using AllKinds =
    Kinds<Pod, Node, PersistentVolume, PersistentVolumeClaim, StorageClass, CsiNode, CsiDriver, CsiStorageCapacity,
          VolumeAttachment, PodDisruptionBudget, Namespace, Service, ReplicationController, ReplicaSet, StatefulSet,
          ResourceSlice, DeviceTaintRule, DeviceClass, ResourceClaim, PodGroup, CompositePodGroup, PriorityClass,
          RuntimeClass, ResourceClaimTemplate, ResourceQuota>;

}  // namespace
}  // namespace internal

std::vector<ListedField> ListFields(std::string_view kind) { return internal::AllKinds::Fields(kind); }

std::vector<std::string_view> ListKinds() { return internal::AllKinds::Names(); }

}  // namespace berth::api
