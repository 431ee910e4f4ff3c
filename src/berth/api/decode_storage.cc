// SPDX-License-Identifier: Apache-2.0
#include "berth/api/decode_storage.h"

#include "berth/api/fields_storage.h"
#include "berth/api/json_decoder.h"
#include "berth/api/protobuf_decoder.h"

namespace berth::api {

using internal::JsonDecoder;
using internal::ProtobufDecoder;

Expected<std::shared_ptr<const PersistentVolume>> DecodePersistentVolume(simdjson::dom::element object) {
  return JsonDecoder::Decode<PersistentVolume>(object);
}
Expected<std::shared_ptr<const PersistentVolume>> DecodePersistentVolumeProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<PersistentVolume>(raw);
}
Expected<std::shared_ptr<const PersistentVolumeClaim>> DecodePersistentVolumeClaim(simdjson::dom::element object) {
  return JsonDecoder::Decode<PersistentVolumeClaim>(object);
}
Expected<std::shared_ptr<const PersistentVolumeClaim>> DecodePersistentVolumeClaimProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<PersistentVolumeClaim>(raw);
}
Expected<std::shared_ptr<const StorageClass>> DecodeStorageClass(simdjson::dom::element object) {
  return JsonDecoder::Decode<StorageClass>(object);
}
Expected<std::shared_ptr<const StorageClass>> DecodeStorageClassProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<StorageClass>(raw);
}
Expected<std::shared_ptr<const CsiNode>> DecodeCsiNode(simdjson::dom::element object) {
  return JsonDecoder::Decode<CsiNode>(object);
}
Expected<std::shared_ptr<const CsiNode>> DecodeCsiNodeProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<CsiNode>(raw);
}
Expected<std::shared_ptr<const CsiDriver>> DecodeCsiDriver(simdjson::dom::element object) {
  return JsonDecoder::Decode<CsiDriver>(object);
}
Expected<std::shared_ptr<const CsiDriver>> DecodeCsiDriverProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<CsiDriver>(raw);
}
Expected<std::shared_ptr<const CsiStorageCapacity>> DecodeCsiStorageCapacity(simdjson::dom::element object) {
  return JsonDecoder::Decode<CsiStorageCapacity>(object);
}
Expected<std::shared_ptr<const CsiStorageCapacity>> DecodeCsiStorageCapacityProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<CsiStorageCapacity>(raw);
}
Expected<std::shared_ptr<const VolumeAttachment>> DecodeVolumeAttachment(simdjson::dom::element object) {
  return JsonDecoder::Decode<VolumeAttachment>(object);
}
Expected<std::shared_ptr<const VolumeAttachment>> DecodeVolumeAttachmentProtobuf(std::string_view raw) {
  return ProtobufDecoder::Decode<VolumeAttachment>(raw);
}

}  // namespace berth::api
