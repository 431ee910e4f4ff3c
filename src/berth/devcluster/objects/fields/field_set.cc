// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/fields/field_set.h"

#include <utility>

#include "berth/devcluster/objects/object.h"

namespace berth::objects {
namespace {

constexpr std::string_view kSelf = ".";

bool IsElement(std::string_view text) {
  return text.size() >= 2 && text[1] == ':' && std::string_view("fkvi").find(text[0]) != std::string_view::npos;
}

std::optional<FieldSet> Read(const json::object& fields, int depth) {
  if (depth > kFieldSetDepthMax) return std::nullopt;
  FieldSet set;
  for (const auto& entry : fields) {
    const std::string_view key = entry.key();
    const json::object* below = entry.value().if_object();
    if (below == nullptr) return std::nullopt;
    if (key == kSelf) {
      set.is_member = true;
      continue;
    }
    if (!IsElement(key)) return std::nullopt;
    auto child = Read(*below, depth + 1);
    if (!child) return std::nullopt;
    if (below->empty()) child->is_member = true;
    set.Add(std::string(key), *std::move(child));
  }
  return set;
}

void AppendPaths(const FieldSet& set, const std::string& prefix, std::vector<std::string>& paths) {
  for (const auto& [element, child] : set.children) {
    if (child.is_member) paths.push_back(prefix + ElementText(element));
  }
  for (const auto& [element, child] : set.children) AppendPaths(child, prefix + ElementText(element), paths);
}

}  // namespace

FieldSet& FieldSet::At(std::string_view element) {
  const auto found = children.find(element);
  return found != children.end() ? found->second : children[std::string(element)];
}

const FieldSet* FieldSet::Find(std::string_view element) const {
  const auto found = children.find(element);
  return found == children.end() ? nullptr : &found->second;
}

void FieldSet::Add(std::string element, FieldSet child) {
  if (!child.IsEmpty()) children[std::move(element)] = std::move(child);
}

FieldSet& FieldSet::WithPath(const std::vector<std::string_view>& names) {
  FieldSet* at = this;
  for (const std::string_view name : names) at = &at->At("f:" + std::string(name));
  at->is_member = true;
  return *this;
}

FieldSet Union(FieldSet a, const FieldSet& b) {
  a.is_member = a.is_member || b.is_member;
  for (const auto& [element, child] : b.children) {
    FieldSet& mine = a.At(element);
    mine = Union(std::move(mine), child);
  }
  return a;
}

FieldSet Intersection(const FieldSet& a, const FieldSet& b) {
  FieldSet both;
  both.is_member = a.is_member && b.is_member;
  for (const auto& [element, child] : a.children) {
    if (const FieldSet* other = b.Find(element)) both.Add(element, Intersection(child, *other));
  }
  return both;
}

FieldSet Difference(const FieldSet& a, const FieldSet& b) {
  FieldSet left;
  left.is_member = a.is_member && !b.is_member;
  for (const auto& [element, child] : a.children) {
    const FieldSet* other = b.Find(element);
    left.Add(element, other == nullptr ? child : Difference(child, *other));
  }
  return left;
}

json::object ToFieldsV1(const FieldSet& set) {
  json::object fields;
  if (set.is_member && !set.children.empty()) fields[kSelf] = json::object();
  for (const auto& [element, child] : set.children) fields[element] = ToFieldsV1(child);
  return fields;
}

std::optional<FieldSet> FromFieldsV1(const json::object& fields) { return Read(fields, 0); }

std::string ElementText(std::string_view element) {
  const std::string rest(element.substr(2));
  switch (element.front()) {
    case 'f': return '.' + rest;
    case 'v': return "[=" + rest + ']';
    case 'i': return '[' + rest + ']';
    default: break;
  }
  auto keys = codec::ParseJson(rest);
  if (!keys.ok() || !keys->is_object()) return '[' + rest + ']';
  std::string text;
  for (const auto& [key, value] : keys->get_object()) {
    text += (text.empty() ? "[" : ",") + std::string(key) + '=' + json::serialize(value);
  }
  return text + ']';
}

std::vector<std::string> PathsOf(const FieldSet& set) {
  std::vector<std::string> paths;
  AppendPaths(set, "", paths);
  return paths;
}

}  // namespace berth::objects
