// SPDX-License-Identifier: Apache-2.0
// The storage kinds: decoding from JSON and from protobuf, as decode.h describes it.
#pragma once

#include <memory>
#include <string_view>

#include <simdjson.h>

#include "berth/api/storage.h"
#include "berth/base/expected.h"

namespace berth::api {

Expected<std::shared_ptr<const PersistentVolume>> DecodePersistentVolume(simdjson::dom::element object);
Expected<std::shared_ptr<const PersistentVolume>> DecodePersistentVolumeProtobuf(std::string_view raw);
Expected<std::shared_ptr<const PersistentVolumeClaim>> DecodePersistentVolumeClaim(simdjson::dom::element object);
Expected<std::shared_ptr<const PersistentVolumeClaim>> DecodePersistentVolumeClaimProtobuf(std::string_view raw);
Expected<std::shared_ptr<const StorageClass>> DecodeStorageClass(simdjson::dom::element object);
Expected<std::shared_ptr<const StorageClass>> DecodeStorageClassProtobuf(std::string_view raw);
Expected<std::shared_ptr<const CsiNode>> DecodeCsiNode(simdjson::dom::element object);
Expected<std::shared_ptr<const CsiNode>> DecodeCsiNodeProtobuf(std::string_view raw);
Expected<std::shared_ptr<const CsiDriver>> DecodeCsiDriver(simdjson::dom::element object);
Expected<std::shared_ptr<const CsiDriver>> DecodeCsiDriverProtobuf(std::string_view raw);
Expected<std::shared_ptr<const CsiStorageCapacity>> DecodeCsiStorageCapacity(simdjson::dom::element object);
Expected<std::shared_ptr<const CsiStorageCapacity>> DecodeCsiStorageCapacityProtobuf(std::string_view raw);
Expected<std::shared_ptr<const VolumeAttachment>> DecodeVolumeAttachment(simdjson::dom::element object);
Expected<std::shared_ptr<const VolumeAttachment>> DecodeVolumeAttachmentProtobuf(std::string_view raw);

}  // namespace berth::api
