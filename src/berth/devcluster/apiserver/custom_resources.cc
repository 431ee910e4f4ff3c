// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/custom_resources.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/reading.h"

namespace berth::apiserver {
namespace {

std::string PathKey(const objects::ResourceType& type) { return type.group + '/' + type.version + '/' + type.plural; }

// Groups come in the order of their names, and versions of a group by their stability.
void FillIn(CustomCatalog& catalog) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const auto& definition : catalog.definitions) {
    for (const objects::ServedType* served : definition->served()) {
      catalog.by_path.emplace(PathKey(*served->type), std::shared_ptr<const objects::ServedType>(definition, served));
      catalog.types.push_back(served->type);
    }
    for (const char c : definition->uid() + std::to_string(definition->generation())) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    }
  }
  std::stable_sort(catalog.types.begin(), catalog.types.end(),
                   [](const objects::ResourceType* a, const objects::ResourceType* b) {
                     return a->group != b->group ? a->group < b->group : objects::IsMoreStable(a->version, b->version);
                   });
  if (catalog.definitions.empty()) return;
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llX", static_cast<unsigned long long>(hash));
  catalog.version = digits;
}

}  // namespace

CustomResources::CustomResources(Store& store, TableOptions usual) : store_(store), usual_(usual) {}

std::shared_ptr<const CustomCatalog> CustomResources::catalog() const {
  const std::lock_guard lock(mutex_);
  return catalog_;
}

bool CustomResources::HasRoomFor(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return tables_.size() < kCustomTablesMax || tables_.contains(name);
}

std::shared_ptr<const objects::CustomDefinition> CustomResources::Make(const json::object& definition) {
  const std::string name(objects::internal::StringAt(definition, {"metadata", "name"}));
  auto table = tables_.find(name);
  if (table == tables_.end()) {
    if (tables_.size() >= kCustomTablesMax) return nullptr;
    TableOptions options = usual_;
    options.name = std::string(objects::internal::StringAt(definition, {"spec", "group"})) + '/' +
                   std::string(objects::internal::StringAt(definition, {"spec", "names", "plural"}));
    table = tables_.emplace(name, store_.AddTable(options)).first;
  }
  return std::make_shared<const objects::CustomDefinition>(definition, table->second);
}

void CustomResources::Update(const std::vector<json::object>& definitions) {
  const std::lock_guard lock(mutex_);
  std::map<std::string_view, std::shared_ptr<const objects::CustomDefinition>> before;
  for (const auto& each : catalog_->definitions) before[each->name()] = each;
  auto next = std::make_shared<CustomCatalog>();
  for (const json::object& each : definitions) {
    if (!objects::IsEstablished(each)) continue;
    const json::object& metadata = objects::internal::Part(each, "metadata");
    const json::value* generation = objects::FindMember(metadata, "generation");
    const auto old = before.find(objects::StringMember(metadata, "name"));
    const bool is_same = old != before.end() && old->second->uid() == objects::StringMember(metadata, "uid");
    if (is_same && generation != nullptr && generation->is_int64() &&
        generation->get_int64() == old->second->generation()) {
      next->definitions.push_back(old->second);
    } else if (auto made = Make(each)) {
      next->definitions.push_back(std::move(made));
    }
  }
  FillIn(*next);
  catalog_ = std::move(next);
}

}  // namespace berth::apiserver
