// SPDX-License-Identifier: Apache-2.0
// Any bytes are either an object of any kind or an error with a message; and a streamed list is read like a complete
// one.
#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/api/decode.h"
#include "berth/api/decode_protobuf_frame.h"
#include "berth/base/check.h"

namespace {

using namespace berth::api;  // NOLINT(google-build-using-namespace): names all kinds

template <typename T>
bool IsGood(const berth::Expected<T>& outcome) {
  if (!outcome.ok()) BERTH_CHECK(!outcome.error().message.empty());
  return outcome.ok();
}

template <typename... Object>
void TryAll(std::string_view raw, berth::Expected<std::shared_ptr<const Object>> (*... decode)(std::string_view)) {
  const auto attempt = [raw](auto each) {
    const auto object = each(raw);
    if (!IsGood(object)) return;
    const auto meta = ReadProtobufMeta(raw);
    BERTH_CHECK(meta.ok());
    // If the metadata occurs twice, the decoder merges the fields, while ReadProtobufMeta uses the first one.
    BERTH_CHECK(meta->name.empty() || !(*object)->metadata.name.empty());
  };
  (attempt(decode), ...);
}

void Stream(std::string_view bytes) {
  std::vector<std::string_view> items;
  std::size_t count = 0;
  ProtobufListReader reader(
      [&](std::string_view) {
        ++count;
        return berth::Expected<void>();
      },
      1 << 20);
  constexpr std::size_t kPiece = 13;
  bool is_good = true;
  for (std::size_t at = 0; is_good && at < bytes.size(); at += kPiece) {
    is_good = IsGood(reader.Feed(bytes.substr(at, kPiece)));
  }
  is_good = is_good && IsGood(reader.Finish());
  if (!is_good) return;
  const auto unknown = UnwrapUnknown(bytes);
  if (!IsGood(unknown)) return;
  const auto list = ReadProtobufList(unknown->raw);
  if (IsGood(list)) BERTH_CHECK(list->items.size() == count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Stream(bytes);
  (void)IsGood(ReadProtobufStatus(bytes));
  (void)IsGood(ReadProtobufWatchEvent(bytes));
  const auto unknown = UnwrapUnknown(bytes);
  const std::string_view raw = IsGood(unknown) ? unknown->raw : bytes;
  TryAll(raw, &DecodePodProtobuf, &DecodeNodeProtobuf, &DecodePersistentVolumeProtobuf,
         &DecodePersistentVolumeClaimProtobuf, &DecodeStorageClassProtobuf, &DecodeCsiNodeProtobuf,
         &DecodeCsiDriverProtobuf, &DecodeCsiStorageCapacityProtobuf, &DecodeVolumeAttachmentProtobuf,
         &DecodePodDisruptionBudgetProtobuf, &DecodeNamespaceProtobuf, &DecodeServiceProtobuf,
         &DecodeReplicationControllerProtobuf, &DecodeReplicaSetProtobuf, &DecodeStatefulSetProtobuf,
         &DecodeResourceSliceProtobuf, &DecodeDeviceTaintRuleProtobuf, &DecodeDeviceClassProtobuf,
         &DecodeResourceClaimProtobuf);
  return 0;
}
