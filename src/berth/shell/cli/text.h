// SPDX-License-Identifier: Apache-2.0
// Text on a terminal: how wide it is, how it is cut, how it is coloured. Pure functions on UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::cli {

enum class Color : std::uint8_t { kNone, kBold, kDim, kRed, kGreen, kYellow, kBlue, kCyan };

// `text` in that colour; as it is when colours are off or `text` is empty.
std::string Paint(std::string_view text, Color color, bool has_color);

// Columns that `text` takes: 2 for wide East Asian characters and emoji, 0 for combining marks and our own colours.
std::size_t DisplayWidth(std::string_view text);

// At most `width` columns of `text`, with "…" in place of what is cut off. Colours are ended where it is cut.
std::string CutToWidth(std::string_view text, std::size_t width);

// Text from outside made safe to show: control characters, escape sequences and broken UTF-8 become "?".
std::string Printable(std::string_view text);

}  // namespace berth::cli
