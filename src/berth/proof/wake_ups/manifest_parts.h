// SPDX-License-Identifier: Apache-2.0
// What manifests are put together from: dice, and small JSON objects. Internal to the manifests. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "berth/codec/json.h"
#include "berth/proof/wake_ups/manifests.h"

namespace berth::wake_ups {

inline constexpr const char* kZone = "topology.kubernetes.io/zone";
inline constexpr const char* kHostname = "kubernetes.io/hostname";

// Reads the dice of an item.
class Dice {
 public:
  // `item` must outlive it.
  explicit Dice(const Item& item) : item_(item) {}
  // A number below `sides`.
  int At(std::size_t die, int sides) const { return item_.dice.at(die) % sides; }
  // True on one of `sides`.
  bool Is(std::size_t die, int sides) const { return At(die, sides) == 0; }
  // The text that the die shows; null: the field is absent.
  template <std::size_t kSides>
  const char* Of(std::size_t die, const char* const (&texts)[kSides]) const {
    return texts[static_cast<std::size_t>(At(die, kSides))];
  }
  std::string Name(const char* prefix, std::size_t die, int sides) const {
    return prefix + std::to_string(At(die, sides));
  }

 private:
  const Item& item_;
};

// Sets the member, unless `text` is null.
void Put(codec::json::object& into, std::string_view key, const char* text);
// Object metadata with the uid "u-" + name.
codec::json::object Metadata(const std::string& name, const char* namespace_name = nullptr);
codec::json::object Requirement(const char* key, const char* op, codec::json::array values = {});
// A label selector, or a node selector term, with this one requirement.
codec::json::object Matching(codec::json::object requirement);
// Affinity with these required terms.
codec::json::object Required(codec::json::array terms);
codec::json::object Container(const char* cpu, const char* gpu);
// Adds the host port that all pods with one want.
void AddPort(codec::json::object& container);
void AddResourceClaim(codec::json::object& spec, const std::string& claim);
codec::json::object Labels(const char* app, const char* role);
// Makes a pod one that is being deleted.
void AddDeletion(codec::json::object& metadata);

}  // namespace berth::wake_ups
