// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/cli/text.h"

#include <algorithm>
#include <array>

namespace berth::cli {
namespace {

constexpr std::string_view kReset = "\x1b[0m";

std::string_view CodeOf(Color color) {
  switch (color) {
    case Color::kNone: return "";
    case Color::kBold: return "\x1b[1m";
    case Color::kDim: return "\x1b[2m";
    case Color::kRed: return "\x1b[31m";
    case Color::kGreen: return "\x1b[32m";
    case Color::kYellow: return "\x1b[33m";
    case Color::kBlue: return "\x1b[34m";
    case Color::kCyan: return "\x1b[36m";
  }
  return "";
}

struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool is_valid = false;
};

// The character at the front of `text`, which is not empty. A broken one is one byte long.
Character Decode(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t bytes = first >= 0xf0 && first < 0xf5   ? 4
                            : first >= 0xe0 && first < 0xf0 ? 3
                            : first >= 0xc2 && first < 0xe0 ? 2
                                                            : 0;
  if (bytes == 0 || text.size() < bytes) return {};
  char32_t code = first & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3fU);
  }
  const bool is_overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  if (is_overlong || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return {};
  return {code, bytes, true};
}

struct Range {
  char32_t first, last;
};

std::size_t WidthOf(char32_t code) {
  // The large blocks only: names and messages of the API are mostly ASCII.
  static constexpr std::array<Range, 11> kWide = {{{0x1100, 0x115f},
                                                   {0x2e80, 0x303e},
                                                   {0x3041, 0xa4cf},
                                                   {0xac00, 0xd7a3},
                                                   {0xf900, 0xfaff},
                                                   {0xfe30, 0xfe6f},
                                                   {0xff00, 0xff60},
                                                   {0xffe0, 0xffe6},
                                                   {0x1f300, 0x1f6ff},
                                                   {0x1f900, 0x1f9ff},
                                                   {0x20000, 0x3fffd}}};
  static constexpr std::array<Range, 4> kZero = {
      {{0x300, 0x36f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}}};
  const auto is_in = [code](const Range& range) { return code >= range.first && code <= range.last; };
  if (code < 0x300) return 1;
  if (std::ranges::any_of(kZero, is_in)) return 0;
  return std::ranges::any_of(kWide, is_in) ? 2 : 1;
}

// Length of the colour code at the front of `text`; 0 when there is none.
std::size_t ColorCodeLength(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

}  // namespace

std::string Paint(std::string_view text, Color color, bool has_color) {
  if (!has_color || color == Color::kNone || text.empty()) return std::string(text);
  std::string painted(CodeOf(color));
  return painted.append(text).append(kReset);
}

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    if (const std::size_t code = ColorCodeLength(text); code != 0) {
      text.remove_prefix(code);
      continue;
    }
    const Character character = Decode(text);
    width += character.is_valid ? WidthOf(character.code) : 1;
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string CutToWidth(std::string_view text, std::size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::string cut;
  std::size_t used = 0;
  bool has_color = false;
  while (!text.empty()) {
    if (const std::size_t code = ColorCodeLength(text); code != 0) {
      has_color = true;
      cut.append(text.substr(0, code));
      text.remove_prefix(code);
      continue;
    }
    const Character character = Decode(text);
    const std::size_t more = character.is_valid ? WidthOf(character.code) : 1;
    if (used + more > width - 1) break;
    used += more;
    cut.append(text.substr(0, character.bytes));
    text.remove_prefix(character.bytes);
  }
  cut += "…";
  if (has_color) cut += kReset;
  return cut;
}

std::string Printable(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const Character character = Decode(text);
    const bool is_control = character.code < 0x20 || (character.code >= 0x7f && character.code < 0xa0);
    // Marks that turn the direction of writing can make a line say something else than it does.
    const bool is_bidi = (character.code >= 0x202a && character.code <= 0x202e) ||
                         (character.code >= 0x2066 && character.code <= 0x2069);
    if (character.is_valid && !is_control && !is_bidi) {
      safe.append(text.substr(0, character.bytes));
    } else {
      safe += '?';
    }
    text.remove_prefix(character.bytes);
  }
  return safe;
}

}  // namespace berth::cli
