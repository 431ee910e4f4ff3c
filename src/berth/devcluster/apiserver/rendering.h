// SPDX-License-Identifier: Apache-2.0
// Rendering: stored objects as a request wants them: plain bytes, Table rows, metadata only, in the request's API
// version. Plain bytes are the stored ones, unparsed. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/devcluster/apiserver/registry.h"
#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/rows/table.h"

namespace berth::apiserver {

struct Rendering {
  const objects::ServedType* served = nullptr;
  objects::Representation representation = objects::Representation::kPlain;
  objects::IncludeObject include = objects::IncludeObject::kMetadata;
  std::int64_t now_seconds = 0;

  // True when an object's stored bytes are the answer.
  bool IsVerbatim() const {
    return representation == objects::Representation::kPlain && served->from_stored == nullptr;
  }
};

// `object` with the given resourceVersion (mostly its own), appended to `out`.
void AppendObject(std::string& out, const Rendering& rendering, const objects::StoredObject& object,
                  std::int64_t resource_version, bool with_column_definitions = true);

std::string RenderObject(const Rendering& rendering, const objects::StoredObject& object);

struct ListMetadata {
  std::int64_t resource_version = 0;
  std::string continue_token;
  std::int64_t remaining = 0;  // 0: left out
};
std::string RenderList(const Rendering& rendering, const std::vector<objects::ObjectPtr>& objects,
                       const ListMetadata& metadata);

// The object of a BOOKMARK event.
std::string RenderBookmark(const Rendering& rendering, std::int64_t resource_version, bool ends_initial_events);

// Indented JSON, for ?pretty=true.
std::string PrettyJson(std::string_view text);

}  // namespace berth::apiserver
