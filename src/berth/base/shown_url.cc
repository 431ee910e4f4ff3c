// SPDX-License-Identifier: Apache-2.0
#include "berth/base/shown_url.h"

#include <algorithm>
#include <iterator>

namespace berth {
namespace {

// Parameters of the Kubernetes API, which hold no secrets.
constexpr std::string_view kPlainParameters[] = {
    "allowWatchBookmarks", "continue",       "dryRun", "fieldManager",      "fieldSelector",   "fieldValidation",
    "labelSelector",       "limit",          "pretty", "propagationPolicy", "resourceVersion", "resourceVersionMatch",
    "sendInitialEvents",   "timeoutSeconds", "watch"};

}  // namespace

std::string ShownUrl(std::string_view text) {
  const std::size_t query = std::min(text.find('?'), text.size());
  std::string_view place = text.substr(0, query);
  std::string shown;
  if (const auto separator = place.find("://"); separator != std::string_view::npos) {
    shown = place.substr(0, separator + 3);
    place.remove_prefix(separator + 3);
  }
  // The last '@', because a password may contain '@' and '/'.
  if (const auto at = place.rfind('@'); at != std::string_view::npos) place.remove_prefix(at + 1);
  shown += place;
  std::string_view rest = text.substr(query);
  while (!rest.empty()) {
    shown += rest[0];  // '?' or '&'
    rest.remove_prefix(1);
    const std::string_view parameter = rest.substr(0, rest.find('&'));
    const auto equals = parameter.find('=');
    const std::string_view key = parameter.substr(0, equals);
    if (std::find(std::begin(kPlainParameters), std::end(kPlainParameters), key) != std::end(kPlainParameters)) {
      shown += parameter;
    } else {
      shown += equals == std::string_view::npos ? "xxxxx" : std::string(key) + "=xxxxx";
    }
    rest.remove_prefix(parameter.size());
  }
  return shown;
}

}  // namespace berth
