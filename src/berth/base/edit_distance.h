// SPDX-License-Identifier: Apache-2.0
// The edit distance of two names, for messages that suggest the name that was meant. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace berth {

// Letters to change, add or leave out until `a` is `b`. Takes time in proportion to the product of their lengths.
std::size_t EditDistance(std::string_view a, std::string_view b);

// The first of those that are nearest to `name`, of which the first hundred letters count; empty when there are none.
std::string_view NearestName(std::string_view name, std::span<const std::string_view> names);

// The same if it is near enough to be what was meant: a letter is wrong, or up to a third of them; else empty.
std::string_view SimilarName(std::string_view name, std::span<const std::string_view> names);

}  // namespace berth
