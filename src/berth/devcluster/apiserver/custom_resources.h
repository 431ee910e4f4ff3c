// SPDX-License-Identifier: Apache-2.0
// CustomResources: the types that CustomResourceDefinitions add to the server, as they are now. Thread-safe: readers
// get a catalog that does not change any more.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/devcluster/apiserver/store.h"
#include "berth/devcluster/objects/custom/custom_definition.h"

namespace berth::apiserver {

namespace json = codec::json;

// Names that definitions may have had since the server began: each has a table of the store for good.
inline constexpr std::size_t kCustomTablesMax = 2'000;

// The definitions at one time.
struct CustomCatalog {
  std::vector<std::shared_ptr<const objects::CustomDefinition>> definitions;
  // The served types by "group/version/plural"; each keeps its definition.
  absl::flat_hash_map<std::string, std::shared_ptr<const objects::ServedType>> by_path;
  // The served types in the order of discovery: groups by name, the most stable version first.
  std::vector<const objects::ResourceType*> types;
  // Another one for another catalog, the same for the same definitions; empty when there are none.
  std::string version;
};

class CustomResources {
 public:
  // `store` outlives it. New tables are like `usual`.
  CustomResources(Store& store, TableOptions usual);

  std::shared_ptr<const CustomCatalog> catalog() const;

  // Whether a definition of this name can be served.
  bool HasRoomFor(std::string_view name) const;

  // Takes the established ones of `definitions` (all that there are) for the new catalog. The tables of those that are
  // gone are empty.
  void Update(const std::vector<json::object>& definitions);

 private:
  std::shared_ptr<const objects::CustomDefinition> Make(const json::object& definition);

  Store& store_;
  const TableOptions usual_;
  mutable std::mutex mutex_;  // guards all below
  std::map<std::string, TableId, std::less<>> tables_;
  std::shared_ptr<const CustomCatalog> catalog_ = std::make_shared<CustomCatalog>();
};

}  // namespace berth::apiserver
