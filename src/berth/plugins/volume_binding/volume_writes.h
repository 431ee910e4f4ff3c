// SPDX-License-Identifier: Apache-2.0
// The patches that bind volumes, as JSON, and what their answers say. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "berth/base/expected.h"
#include "berth/framework/operation.h"
#include "berth/plugins/volume_binding/reservation.h"

namespace berth::plugins::volumes {

// Both hold uid and resourceVersion as preconditions.
framework::ObjectPatch PatchOf(const Reservation::Binding& binding);
framework::ObjectPatch PatchOf(const Reservation::Provision& provision);

// What is read of a PersistentVolume or claim that the API server sent.
struct WrittenObject {
  std::string uid;
  std::string resource_version;
  std::string claim_uid;      // spec.claimRef.uid
  std::string selected_node;  // the annotation
};
// kInvalid for text that is no object.
Expected<WrittenObject> ReadObject(std::string_view json);

// Whether the object shows what the patch wanted.
bool ShowsWrite(const WrittenObject& object, const Reservation::Binding& binding);
bool ShowsWrite(const WrittenObject& object, const Reservation::Provision& provision);

}  // namespace berth::plugins::volumes
