// Decoding API objects from JSON (simdjson DOM), skipping what scheduling does not read, managedFields above all.
// Lenient where the API server already validated, strict where a wrong value would change a decision: a quantity or
// time that does not parse, or a field of the wrong type, is an error that names object and field path. Thread-safe.
#pragma once

#include <memory>
#include <string_view>

#include <simdjson.h>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/api/resource_claim.h"
#include "berth/api/storage.h"
#include "berth/api/workloads.h"
#include "berth/base/expected.h"

namespace berth::api {

// `object` is the JSON of one Pod (Node), whether from a list (no kind) or a watch.
// An unknown operator or effect is kept as kUnknown (it matches nothing), as upstream treats it.
Expected<std::shared_ptr<const Pod>> DecodePod(simdjson::dom::element object);
Expected<std::shared_ptr<const Node>> DecodeNode(simdjson::dom::element object);

// The same for the other kinds.
Expected<std::shared_ptr<const PersistentVolume>> DecodePersistentVolume(simdjson::dom::element object);
Expected<std::shared_ptr<const PersistentVolumeClaim>> DecodePersistentVolumeClaim(simdjson::dom::element object);
Expected<std::shared_ptr<const StorageClass>> DecodeStorageClass(simdjson::dom::element object);
Expected<std::shared_ptr<const CsiNode>> DecodeCsiNode(simdjson::dom::element object);
Expected<std::shared_ptr<const CsiDriver>> DecodeCsiDriver(simdjson::dom::element object);
Expected<std::shared_ptr<const CsiStorageCapacity>> DecodeCsiStorageCapacity(simdjson::dom::element object);
Expected<std::shared_ptr<const VolumeAttachment>> DecodeVolumeAttachment(simdjson::dom::element object);
Expected<std::shared_ptr<const PodDisruptionBudget>> DecodePodDisruptionBudget(simdjson::dom::element object);
Expected<std::shared_ptr<const Namespace>> DecodeNamespace(simdjson::dom::element object);
Expected<std::shared_ptr<const Service>> DecodeService(simdjson::dom::element object);
Expected<std::shared_ptr<const ReplicationController>> DecodeReplicationController(simdjson::dom::element object);
Expected<std::shared_ptr<const ReplicaSet>> DecodeReplicaSet(simdjson::dom::element object);
Expected<std::shared_ptr<const StatefulSet>> DecodeStatefulSet(simdjson::dom::element object);
Expected<std::shared_ptr<const ResourceSlice>> DecodeResourceSlice(simdjson::dom::element object);
Expected<std::shared_ptr<const DeviceClass>> DecodeDeviceClass(simdjson::dom::element object);
Expected<std::shared_ptr<const ResourceClaim>> DecodeResourceClaim(simdjson::dom::element object);

// The JSON of one object, for the functions above. It lives until the thread's next call. `kind` is for the error.
Expected<simdjson::dom::element> ParseObject(std::string_view kind, std::string_view text);

// Both at once, for tools and tests.
Expected<std::shared_ptr<const Pod>> DecodePod(std::string_view text);
Expected<std::shared_ptr<const Node>> DecodeNode(std::string_view text);

}  // namespace berth::api
