// SPDX-License-Identifier: Apache-2.0
#include "berth/api/names.h"

#include <algorithm>
#include <cstddef>

#include "berth/base/text.h"

namespace berth::api {
namespace {

constexpr std::size_t kLabelBytesMax = 63;
constexpr std::size_t kSubdomainBytesMax = 253;
constexpr std::size_t kPortNameBytesMax = 15;

bool IsLowerOrDigit(char c) { return IsLower(c) || IsDigit(c); }

bool HasLabelShape(std::string_view text) {
  return !text.empty() && IsLowerOrDigit(text.front()) && IsLowerOrDigit(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

bool HasSubdomainShape(std::string_view text) {
  while (true) {
    const std::size_t dot = text.find('.');
    if (!HasLabelShape(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool HasNameShape(std::string_view text) {
  return !text.empty() && IsAlphanumeric(text.front()) && IsAlphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

constexpr std::string_view kSubdomainShape =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelShape =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kNameShape =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelValueShape =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

std::string AtMost(std::size_t count, std::string_view unit) {
  return "must be no more than " + std::to_string(count) + " " + std::string(unit);
}

// Upstream's limit is in characters for names of objects, and in bytes for prefixes of keys.
std::vector<std::string> NotSubdomain(std::string_view text, std::string_view unit) {
  std::vector<std::string> why;
  if (text.size() > kSubdomainBytesMax) why.push_back(AtMost(kSubdomainBytesMax, unit));
  if (!HasSubdomainShape(text)) why.emplace_back(kSubdomainShape);
  return why;
}

}  // namespace

std::vector<std::string> NotDnsLabel(std::string_view text) {
  std::vector<std::string> why;
  if (text.size() > kLabelBytesMax) why.push_back(AtMost(kLabelBytesMax, "bytes"));
  if (!HasLabelShape(text)) {
    // A valid subdomain is invalid here only because of its dots.
    why.push_back(HasSubdomainShape(text) ? "must not contain dots" : std::string(kLabelShape));
  }
  return why;
}

std::vector<std::string> NotDnsSubdomain(std::string_view text) { return NotSubdomain(text, "characters"); }

std::vector<std::string> NotQualifiedName(std::string_view text) {
  std::vector<std::string> why;
  std::string_view name = text;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) {
      return {"a valid label key " + std::string(kNameShape) +
              " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
    }
    if (prefix.empty()) {
      why.emplace_back("prefix part must be non-empty");
    } else {
      for (const std::string& each : NotSubdomain(prefix, "bytes")) why.push_back("prefix part " + each);
    }
  }
  if (name.empty()) {
    why.emplace_back("name part must be non-empty");
  } else if (name.size() > kLabelBytesMax) {
    why.push_back("name part " + AtMost(kLabelBytesMax, "bytes"));
  }
  if (!HasNameShape(name)) why.push_back("name part " + std::string(kNameShape));
  return why;
}

std::vector<std::string> NotLabelValue(std::string_view text) {
  std::vector<std::string> why;
  if (text.size() > kLabelBytesMax) why.push_back(AtMost(kLabelBytesMax, "bytes"));
  if (!text.empty() && !HasNameShape(text)) why.emplace_back(kLabelValueShape);
  return why;
}

std::vector<std::string> NotPortName(std::string_view text) {
  std::vector<std::string> why;
  if (text.size() > kPortNameBytesMax) why.push_back(AtMost(kPortNameBytesMax, "characters"));
  if (!std::all_of(text.begin(), text.end(), [](char c) { return IsLowerOrDigit(c) || c == '-'; })) {
    why.emplace_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (std::none_of(text.begin(), text.end(), IsLower)) why.emplace_back("must contain at least one letter (a-z)");
  if (text.find("--") != std::string_view::npos) why.emplace_back("must not contain consecutive hyphens");
  if (!text.empty() && (text.front() == '-' || text.back() == '-')) {
    why.emplace_back("must not begin or end with a hyphen");
  }
  return why;
}

std::vector<std::string> NotConfigKey(std::string_view text) {
  std::vector<std::string> why;
  if (text.size() > kSubdomainBytesMax) why.push_back(AtMost(kSubdomainBytesMax, "bytes"));
  if (text.empty() || !std::all_of(text.begin(), text.end(),
                                   [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; })) {
    why.emplace_back(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME', "
        " "
        "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')");
  }
  if (text == ".") why.emplace_back("must not be '.'");
  if (text == "..") why.emplace_back("must not be '..'");
  return why;
}

std::vector<std::string> NotEnvVarName(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '='; })) return {};
  return {"a valid environment variable name must consist only of printable ASCII characters other than '='"};
}

std::vector<std::string> NotPercent(std::string_view text) {
  if (text.size() > 1 && text.back() == '%' && std::all_of(text.begin(), text.end() - 1, IsDigit)) return {};
  return {
      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
      "validation is '[0-9]+%')"};
}

bool IsContainerResource(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-");
}

}  // namespace berth::api
