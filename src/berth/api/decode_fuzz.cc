// SPDX-License-Identifier: Apache-2.0
// Any text is either an object or an error with a message.
#include <cstdint>
#include <string_view>

#include "berth/api/decode.h"

namespace {

template <typename... Object>
void TryAll(simdjson::dom::element object,
            berth::Expected<std::shared_ptr<const Object>> (*... decode)(simdjson::dom::element)) {
  const auto attempt = [&](const auto& outcome) {
    if (!outcome.ok()) BERTH_CHECK(!outcome.error().message.empty());
  };
  (attempt(decode(object)), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::api;  // NOLINT(google-build-using-namespace): names all kinds
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto object = ParseObject("object", text);
  if (!object.ok()) {
    BERTH_CHECK(!object.error().message.empty());
    return 0;
  }
  TryAll(*object, &DecodePersistentVolume, &DecodePersistentVolumeClaim, &DecodeStorageClass, &DecodeCsiNode,
         &DecodeCsiDriver, &DecodeCsiStorageCapacity, &DecodeVolumeAttachment, &DecodePodDisruptionBudget,
         &DecodeNamespace, &DecodeService, &DecodeReplicationController, &DecodeReplicaSet, &DecodeStatefulSet,
         &DecodeResourceSlice, &DecodeDeviceTaintRule, &DecodeDeviceClass, &DecodeResourceClaim);
  const auto node = DecodeNode(*object);
  if (!node.ok()) BERTH_CHECK(!node.error().message.empty());
  const auto pod = DecodePod(*object);
  if (!pod.ok()) BERTH_CHECK(!pod.error().message.empty());
  if (pod.ok() && (*pod)->spec.node_affinity && (*pod)->spec.node_affinity->required) {
    for (const auto& term : *(*pod)->spec.node_affinity->required) {
      (void)term.Validate();
      (void)term.Matches("n", (*pod)->metadata.labels);
    }
  }
  return 0;
}
