// SPDX-License-Identifier: Apache-2.0
// Validation of volumes, claims, storage classes and CSI objects. Functions of their arguments: any thread.
#pragma once

#include <string>

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

// Of claims and of the templates in pods and stateful sets.
void ValidateClaimSpecOfVolume(const json::object& spec, const std::string& field, Errors& errors);
void ValidatePersistentVolume(const json::object& object, const json::object* old, Errors& errors);
void ValidatePersistentVolumeClaim(const json::object& object, const json::object* old, Errors& errors);
void ValidateStorageClass(const json::object& object, const json::object* old, Errors& errors);
void ValidateCsiDriver(const json::object& object, const json::object* old, Errors& errors);
void ValidateCsiNode(const json::object& object, const json::object* old, Errors& errors);
void ValidateCsiStorageCapacity(const json::object& object, const json::object* old, Errors& errors);
void ValidateVolumeAttachment(const json::object& object, const json::object* old, Errors& errors);

}  // namespace berth::objects::internal
