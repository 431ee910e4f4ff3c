// SPDX-License-Identifier: Apache-2.0
// The columns that a CustomResourceDefinition adds to tables: JSON paths, read as upstream reads them. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "berth/devcluster/objects/resource.h"

namespace berth::objects {

// The first value at a path as ".spec.replicas", ".status.conditions[?(@.type==\"Ready\")].status",
// ".spec.items[0].name" or ".metadata.labels.app\.kubernetes\.io/name"; null when there is none, and for a path of
// another form.
const json::value* FindByJsonPath(const json::object& object, std::string_view path);

// The name, then additionalPrinterColumns of the version, or the age when it has none.
struct CustomColumns {
  std::vector<TableColumn> columns;
  std::vector<std::string> paths;  // of the columns behind the name

  json::array Row(const json::object& object, std::int64_t now_seconds) const;
};
CustomColumns ColumnsOf(const json::object& version);

}  // namespace berth::objects
