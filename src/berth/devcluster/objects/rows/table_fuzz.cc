// SPDX-License-Identifier: Apache-2.0
// Any document as a row of any type's table: the cells are as many as the columns, and the table can be written.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "berth/base/check.h"
#include "berth/codec/json.h"
#include "berth/devcluster/objects/rows/table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  using namespace berth::objects;
  if (size < 1) return 0;
  static const std::vector<ResourceType>& types = ResourceTypes();
  const auto document = codec::ParseJson({reinterpret_cast<const char*>(data) + 1, size - 1});
  if (!document.ok() || !document->is_object()) return 0;
  const ResourceType& type = types[data[0] % types.size()];
  const std::array<const json::object*, 1> items = {&document->get_object()};
  for (const IncludeObject include : {IncludeObject::kNone, IncludeObject::kMetadata, IncludeObject::kObject}) {
    const json::object table = MakeTable(type, items, json::object(), include, 1'700'000'000);
    const json::array& rows = table.at("rows").as_array();
    BERTH_CHECK(rows.size() == 1);
    BERTH_CHECK(rows[0].at("cells").as_array().size() == table.at("columnDefinitions").as_array().size(), type.kind);
    BERTH_CHECK(codec::ParseJson(codec::WriteJson(table), {.bytes_max = SIZE_MAX, .depth_max = 1024}).ok());
  }
  return 0;
}
