// SPDX-License-Identifier: Apache-2.0
// ObjectMeta and other small types of all objects. Plain values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/quantity.h"
#include "berth/base/time.h"

namespace berth::api {

// DNS-1123 subdomain: lower-case letters, digits, '-' and '.', at most 253.
bool IsDnsSubdomain(std::string_view text);
// A label key or resource name: an optional DNS subdomain and '/', then at most 63 letters, digits, '-', '_' and '.'.
bool IsQualifiedName(std::string_view text);
// Empty, or at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit.
bool IsLabelValue(std::string_view text);

// A map of strings, sorted by key: labels, annotations, node selectors.
class StringMap {
 public:
  using Entry = std::pair<std::string, std::string>;

  StringMap() = default;
  // Of entries with equal keys the last one wins.
  explicit StringMap(std::vector<Entry> entries);
  StringMap(std::initializer_list<Entry> entries) : StringMap(std::vector<Entry>(entries)) {}

  // The value of `key`; null if there is none.
  const std::string* Find(std::string_view key) const;
  void Set(std::string_view key, std::string_view value);
  void Erase(std::string_view key);

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool operator==(const StringMap&) const = default;

 private:
  std::vector<Entry> entries_;
};

// Resource name to amount, sorted by name.
using ResourceList = std::vector<std::pair<std::string, Quantity>>;
const Quantity* FindResource(const ResourceList& list, std::string_view name);

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool operator==(const OwnerReference&) const = default;
};

struct ObjectMeta {
  std::string name;
  std::string namespace_name;
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 0;
  StringMap labels;
  StringMap annotations;
  std::optional<OwnerReference> controller;  // the owner with controller=true
  std::optional<Time> creation_time;
  std::optional<Time> deletion_time;
  bool operator==(const ObjectMeta&) const = default;
};

}  // namespace berth::api
