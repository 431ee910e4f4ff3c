// SPDX-License-Identifier: Apache-2.0
// Cells and columns that the rows of many kinds share. Functions of their arguments: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/resource.h"

namespace berth::objects::internal {

inline constexpr std::string_view kNone = "<none>";
inline constexpr std::string_view kUnset = "<unset>";
inline constexpr std::string_view kUnknown = "<unknown>";
const json::object& Spec(const json::object& object);
const json::object& StatusOf(const json::object& object);
const json::object& Metadata(const json::object& object);
bool IsBeingDeleted(const json::object& object);
json::string Text(std::string_view text);
std::string_view Or(std::string_view text, std::string_view otherwise);
json::string Name(const json::object& object);

// How long ago; `seconds` are since 1970.
json::string Since(std::optional<std::int64_t> seconds, std::int64_t now_seconds);
json::string Age(const json::object& object, std::int64_t now_seconds);

// A quantity, a number or a percentage as text.
std::string Plain(const json::value* value);

// Adds a piece to a list that commas separate.
void Append(std::string& list, std::string_view piece);
std::string JoinStrings(const json::object& object, std::string_view member);

// "a=b,c=d" in the order of the keys.
std::string Pairs(const json::object& labels);

// The label selector `selector` of an object as selectors are written: "a=b,c in (d,e),!f".
std::string SelectorText(const json::object& owner);
// Names and images of the containers of the pod template `template`.
std::pair<std::string, std::string> ContainersOf(const json::object& owner);
TableColumn Column(std::string name, std::string type, std::string description, int priority = 0);
TableColumn NameColumn(int priority = 0);
TableColumn AgeColumn();

// The cell of a label selector of pods.
TableColumn SelectorColumn();

// The cells of a pod template.
TableColumn ContainersColumn();
TableColumn ImagesColumn();

}  // namespace berth::objects::internal
