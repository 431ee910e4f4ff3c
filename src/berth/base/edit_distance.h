// SPDX-License-Identifier: Apache-2.0
// Edit distance of names, for messages that suggest the intended name. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace berth {

// Number of letters to change, insert or delete to turn `a` into `b`. O(|a| * |b|).
std::size_t EditDistance(std::string_view a, std::string_view b);

// The first of the names with the least distance to `name`, of which only the first hundred letters count; empty when
// there are no names.
std::string_view NearestName(std::string_view name, std::span<const std::string_view> names);

// The same if it is close enough to be the intended name: one letter differs, or at most a third of them. Otherwise
// empty.
std::string_view SimilarName(std::string_view name, std::span<const std::string_view> names);

}  // namespace berth
