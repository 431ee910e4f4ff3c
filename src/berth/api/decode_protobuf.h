// Decoding API objects from Kubernetes' protobuf into the structs that decode.h fills from JSON: the same fields,
// defaults and checks. `raw` is the message of one object without its envelope (UnwrapUnknown takes that off, and items
// of a list have none). Unknown fields, managedFields and what scheduling does not read are passed over by their
// length. An error names object and field. Thread-safe.
#pragma once

#include <memory>
#include <string_view>

#include "berth/api/decode_protobuf_frame.h"
#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/api/resource_claim.h"
#include "berth/api/storage.h"
#include "berth/api/workloads.h"
#include "berth/base/expected.h"

namespace berth::api {

Expected<std::shared_ptr<const Pod>> DecodePodProtobuf(std::string_view raw);
Expected<std::shared_ptr<const Node>> DecodeNodeProtobuf(std::string_view raw);
Expected<std::shared_ptr<const PersistentVolume>> DecodePersistentVolumeProtobuf(std::string_view raw);
Expected<std::shared_ptr<const PersistentVolumeClaim>> DecodePersistentVolumeClaimProtobuf(std::string_view raw);
Expected<std::shared_ptr<const StorageClass>> DecodeStorageClassProtobuf(std::string_view raw);
Expected<std::shared_ptr<const CsiNode>> DecodeCsiNodeProtobuf(std::string_view raw);
Expected<std::shared_ptr<const CsiDriver>> DecodeCsiDriverProtobuf(std::string_view raw);
Expected<std::shared_ptr<const CsiStorageCapacity>> DecodeCsiStorageCapacityProtobuf(std::string_view raw);
Expected<std::shared_ptr<const VolumeAttachment>> DecodeVolumeAttachmentProtobuf(std::string_view raw);
Expected<std::shared_ptr<const PodDisruptionBudget>> DecodePodDisruptionBudgetProtobuf(std::string_view raw);
Expected<std::shared_ptr<const Namespace>> DecodeNamespaceProtobuf(std::string_view raw);
Expected<std::shared_ptr<const Service>> DecodeServiceProtobuf(std::string_view raw);
Expected<std::shared_ptr<const ReplicationController>> DecodeReplicationControllerProtobuf(std::string_view raw);
Expected<std::shared_ptr<const ReplicaSet>> DecodeReplicaSetProtobuf(std::string_view raw);
Expected<std::shared_ptr<const StatefulSet>> DecodeStatefulSetProtobuf(std::string_view raw);
Expected<std::shared_ptr<const ResourceSlice>> DecodeResourceSliceProtobuf(std::string_view raw);
Expected<std::shared_ptr<const DeviceClass>> DecodeDeviceClassProtobuf(std::string_view raw);
Expected<std::shared_ptr<const ResourceClaim>> DecodeResourceClaimProtobuf(std::string_view raw);

}  // namespace berth::api
