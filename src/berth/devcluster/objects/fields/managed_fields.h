// SPDX-License-Identifier: Apache-2.0
// Who owns which field of an object (metadata.managedFields), and server-side apply by it, as upstream's field manager
// decides. Pure functions, any thread.
//
// An object is tracked when its create names a field manager (kubectl's do) or when it is applied for the first time;
// its fields then belong to "before-first-apply", as upstream calls the owner of what it did not see. Writes to objects
// that are not tracked cost nothing.
#pragma once

#include "berth/base/time.h"
#include "berth/devcluster/objects/resource.h"
#include "berth/devcluster/objects/status_error.h"
#include "berth/devcluster/objects/write_options.h"

namespace berth::objects {

// Managers that have updated an object; the oldest are put together beyond, under the name "ancient-changes".
inline constexpr std::size_t kUpdateManagersMax = 10;

// Beside the documents, what decides about the fields of one write.
struct FieldWrite {
  const ResourceType& type;
  const FieldWriter& writer;
  Time now;
};

// Brings document's managedFields up to date after a write that is no apply. `old` is null for a create.
void TrackFields(const FieldWrite& write, const json::object* old, json::object& document);

// The document that an apply of `configuration` makes of `live` (null: there is none), with its managedFields. 409 with
// the fields in conflict unless `is_forced`; 400 for a configuration that is none.
Outcome<json::object> ApplyConfiguration(const FieldWrite& write, const json::object* live, json::object configuration,
                                         bool is_forced);

// Takes over the times of old's managedFields when both documents differ in nothing else: such a write is none.
void KeepTimesOfNothing(const json::object& old, json::object& document);

}  // namespace berth::objects
