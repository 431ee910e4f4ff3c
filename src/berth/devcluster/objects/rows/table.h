// SPDX-License-Identifier: Apache-2.0
// Server-side printing: objects as meta.k8s.io/v1 Table, which is what kubectl get shows, and as PartialObjectMetadata.
// Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "berth/codec/json.h"
#include "berth/devcluster/objects/resource.h"

namespace berth::objects {

// The query parameter includeObject: what a row carries beside its cells.
enum class IncludeObject : std::uint8_t { kNone, kMetadata, kObject };
// "None", "Metadata", "Object" and "" (Metadata); anything else is Metadata too.
IncludeObject ParseIncludeObject(std::string_view text);

// What an Accept header asks for. kTable and kPartial* are chosen when the first acceptable media type has
// as=Table / PartialObjectMetadata(List) with g=meta.k8s.io and v=v1; kPlain otherwise. kNone: no JSON is acceptable
// (406).
enum class Representation : std::uint8_t { kPlain, kTable, kPartialObjectMetadata, kNone };
Representation NegotiateRepresentation(std::string_view accept);

// A Table of `items` (a list, a single object, or one watch event's object). `list_metadata` is the list's metadata
// (resourceVersion, continue, remainingItemCount), or the object's {resourceVersion} when there is one item.
// In a watch only the first event's table needs its column definitions: pass false later to save the bytes.
json::object MakeTable(const ResourceType& type, std::span<const json::object* const> items, json::object list_metadata,
                       IncludeObject include, std::int64_t now_seconds, bool with_column_definitions = true);

// {"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":...}.
json::object PartialObjectMetadata(const json::object& object);

// Kubernetes' short form of an age: 45s, 3m12s, 15m, 4h30m, 23h, 2d5h, 8d, 2y3d; "<invalid>" before the start.
std::string HumanDuration(std::int64_t seconds);

}  // namespace berth::objects
