// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/outside_source.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "berth/base/text.h"

namespace berth::plugins {
namespace {

// The length of the UTF-8 sequence of a printable character at the beginning of `text`; 0: there is none.
std::size_t PrintableLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 && first <= 0xf4 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
    code = code << 6U | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_control = code < 0xa0;
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  // Line and paragraph separators, and marks that turn the direction of what follows.
  const bool is_layout = (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
  return code < kLeast[length] || code > 0x10ffff || is_control || is_surrogate || is_layout ? 0 : length;
}

}  // namespace

void ReadEndpoint(config::ObjectReader& reader, framework::OutsideSource& source) {
  reader.Read("url", source.url);
  if (source.url.empty()) {
    reader.errors().Required(reader.PathOf("url"));
  } else if (!source.url.starts_with("http://") && !source.url.starts_with("https://") && source.url.front() != '/') {
    reader.errors().Invalid(reader.PathOf("url"), source.url,
                            "must begin with http:// or https://, or with / for a path at the API server");
  }
  reader.Read("caFile", source.ca_file);
  reader.Read("insecureSkipTLSVerify", source.insecure_skip_tls_verify);
  reader.Read("bearerTokenFile", source.bearer_token_file);
  reader.Read("basicAuthFile", source.basic_auth_file);
  if (!source.bearer_token_file.empty() && !source.basic_auth_file.empty())
    reader.errors().Forbidden(reader.PathOf("basicAuthFile"), "bearerTokenFile is set as well");
}

void ReadPolling(config::ObjectReader& reader, framework::OutsideSource& source) {
  ReadDuration(reader, "interval", std::chrono::seconds(1), source.interval);
  ReadDuration(reader, "timeout", std::chrono::milliseconds(1), source.timeout);
}

void ReadDuration(config::ObjectReader& reader, std::string_view key, Duration min, Duration& out) {
  reader.Read(key, out);
  if (out >= min) return;
  reader.errors().Invalid(reader.PathOf(key), FormatGoDuration(out), "must be at least " + FormatGoDuration(min));
}

std::string JoinUrl(std::string_view base, std::string_view path) {
  while (base.ends_with('/')) base.remove_suffix(1);
  return std::string(base) + std::string(path);
}

std::string PercentEncode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (IsAlphanumeric(c) || std::string_view("-._~").find(c) != std::string_view::npos) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kDigits[byte >> 4U];
    encoded += kDigits[byte & 15U];
  }
  return encoded;
}

std::string_view WithoutPort(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == name.size()) return name;
  const bool is_port = name.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  return is_port ? name.substr(0, colon) : name;
}

std::string Printable(std::string_view words, std::size_t bytes_max) {
  std::string line;
  std::size_t fits = 0;  // of the line, with "..." behind it
  while (!words.empty()) {
    std::size_t length = PrintableLength(words);
    const bool is_blank =
        words.front() == ' ' || words.front() == '\n' || words.front() == '\t' || words.front() == '\r';
    if (is_blank) {
      if (!line.empty() && line.back() != ' ') line += ' ';
    } else if (length > 0) {
      line += words.substr(0, length);
    } else {
      line += '?';
    }
    if (line.size() + 3 <= bytes_max) fits = line.size();
    if (line.size() > bytes_max) return line.substr(0, fits) + "...";
    words.remove_prefix(is_blank || length == 0 ? 1 : length);
  }
  if (line.ends_with(' ')) line.pop_back();
  return line;
}

std::optional<double> ParseNumber(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

}  // namespace berth::plugins
