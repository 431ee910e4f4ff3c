// SPDX-License-Identifier: Apache-2.0
#include "berth/api/meta.h"

#include <algorithm>

#include "berth/base/text.h"

namespace berth::api {
namespace {

constexpr std::size_t kNameMax = 63;
constexpr std::size_t kPrefixMax = 253;

bool IsLowerAlnum(char c) { return IsLower(c) || IsDigit(c); }

// Letters, digits, '-', '_' and '.'; the first and last character are a letter or digit.
bool IsName(std::string_view text) {
  if (text.empty() || text.size() > kNameMax || !IsAlphanumeric(text.front()) || !IsAlphanumeric(text.back()))
    return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

auto LowerBound(auto& entries, std::string_view key) {
  return std::lower_bound(entries.begin(), entries.end(), key,
                          [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
}

}  // namespace

bool IsDnsSubdomain(std::string_view text) {
  if (text.empty() || text.size() > kPrefixMax) return false;
  char previous = '.';
  for (const char c : text) {
    if (!IsLowerAlnum(c) && c != '-' && c != '.') return false;
    // Each label begins and ends with a letter or digit.
    if (!IsLowerAlnum(c) && !IsLowerAlnum(previous) && (c == '.' || previous == '.')) return false;
    previous = c;
  }
  return IsLowerAlnum(previous);
}

bool IsQualifiedName(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsName(text);
  return IsDnsSubdomain(text.substr(0, slash)) && IsName(text.substr(slash + 1));
}

bool IsLabelValue(std::string_view text) { return text.empty() || IsName(text); }

StringMap::StringMap(std::vector<Entry> entries) : entries_(std::move(entries)) {
  const auto by_key = [](const Entry& a, const Entry& b) { return a.first < b.first; };
  // The API server writes maps sorted and without duplicates, so this check usually suffices.
  const auto same_or_before = [](const Entry& a, const Entry& b) { return b.first <= a.first; };
  if (std::adjacent_find(entries_.begin(), entries_.end(), same_or_before) == entries_.end()) return;
  std::stable_sort(entries_.begin(), entries_.end(), by_key);
  std::vector<Entry> unique;
  unique.reserve(entries_.size());
  for (Entry& entry : entries_) {
    if (!unique.empty() && unique.back().first == entry.first) {
      unique.back() = std::move(entry);
    } else {
      unique.push_back(std::move(entry));
    }
  }
  entries_ = std::move(unique);
}

const std::string* StringMap::Find(std::string_view key) const {
  const auto found = LowerBound(entries_, key);
  return found != entries_.end() && found->first == key ? &found->second : nullptr;
}

void StringMap::Set(std::string_view key, std::string_view value) {
  const auto found = LowerBound(entries_, key);
  if (found != entries_.end() && found->first == key) {
    found->second = value;
  } else {
    entries_.emplace(found, key, value);
  }
}

void StringMap::Erase(std::string_view key) {
  const auto found = LowerBound(entries_, key);
  if (found != entries_.end() && found->first == key) entries_.erase(found);
}

const Quantity* FindResource(const ResourceList& list, std::string_view name) {
  const auto found = LowerBound(list, name);
  return found != list.end() && found->first == name ? &found->second : nullptr;
}

}  // namespace berth::api
