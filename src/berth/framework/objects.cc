// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/objects.h"

namespace berth::framework {
namespace {

// Calls `visit` with the store of this kind.
template <typename Stores, typename Visit>
void ForKind(Stores& stores, ObjectKind kind, const Visit& visit) {
  std::size_t index = 0;
  std::apply([&](auto&... store) { ((index++ == static_cast<std::size_t>(kind) ? visit(store) : void()), ...); },
             stores);
}

}  // namespace

Objects::Objects() = default;
Objects::~Objects() = default;
Objects::Objects(const Objects& other) = default;
Objects& Objects::operator=(const Objects& other) = default;
Objects::Objects(Objects&& other) noexcept = default;
Objects& Objects::operator=(Objects&& other) noexcept = default;

AnyObject Objects::Set(const AnyObject& object) {
  return std::visit(
      [this]<typename T>(const std::shared_ptr<const T>& value) -> AnyObject { return Of<T>().Set(value); }, object);
}

AnyObject Objects::Remove(ObjectKind kind, std::string_view key) {
  AnyObject removed;
  ForKind(stores_, kind, [&](auto& store) { removed = store.Remove(key); });
  return removed;
}

AnyObject Objects::Get(ObjectKind kind, std::string_view key) {
  AnyObject found;
  ForKind(stores_, kind, [&](auto& store) { found = store.Get(key); });
  return found;
}

}  // namespace berth::framework
