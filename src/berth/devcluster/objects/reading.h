// SPDX-License-Identifier: Apache-2.0
// Reading documents of the API: members by path, with a default where they are absent. Functions of their arguments:
// any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "berth/devcluster/objects/object.h"

namespace berth::objects::internal {

// The member below a path of objects ({"spec", "template", "spec"}); null when one of them is absent.
const json::value* FindPath(const json::object& object, std::initializer_list<std::string_view> path);

const json::object* ObjectAt(const json::object& object, std::initializer_list<std::string_view> path);
std::string_view StringAt(const json::object& object, std::initializer_list<std::string_view> path);

// The member as an object; an empty one when it is absent.
const json::object& Part(const json::object& object, std::string_view member);
std::int64_t IntMember(const json::object& object, std::string_view name, std::int64_t otherwise = 0);
bool BoolMember(const json::object& object, std::string_view name, bool otherwise = false);

// The objects of a list member; elements of other types are passed over.
std::vector<const json::object*> ObjectsOf(const json::object& object, std::string_view list);
std::vector<json::object*> MutableObjectsOf(json::object& object, std::string_view list);

// The strings of a list member; elements of other types are passed over.
std::vector<std::string_view> StringsOf(const json::object& object, std::string_view list);

// Seconds since 1970 of a time member; nullopt when absent, null or empty.
std::optional<std::int64_t> SecondsOf(const json::object& object, std::string_view name);

}  // namespace berth::objects::internal
