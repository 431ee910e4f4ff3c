// SPDX-License-Identifier: Apache-2.0
// What kubectl prints of a kind: its columns, and the row of an object. Functions of their arguments: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/resource.h"

namespace berth::objects::internal {

// The columns and the row function of a kind; Name and Age for a kind without its own.
struct Printing {
  std::vector<TableColumn> columns;
  std::function<json::array(const json::object& object, std::int64_t now_seconds)> row;
};

Printing PrintingOf(std::string_view kind);

struct KindPrinting {
  std::string_view kind;
  Printing printing;
};

}  // namespace berth::objects::internal
