#include "berth/plugins/helper/label_selector.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace berth::plugins {
namespace {

using api::Requirement;
using api::SelectorOperator;

constexpr std::size_t kNameBytesMax = 63;
constexpr std::size_t kSubdomainBytesMax = 253;
constexpr std::string_view kNameFormat = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr std::string_view kHexDigits = "0123456789abcdef";

// Bytes of the UTF-8 sequence at the beginning of `text`; 0: it is none.
std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (length == 1) return 1;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool is_overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool is_surrogate = first == 0xed && byte(1) > 0x9f;
  const bool is_too_large = first == 0xf4 && byte(1) > 0x8f;
  return is_overlong || is_surrogate || is_too_large ? 0 : length;
}

// As encoding/json prints a string, which escapes what HTML would misread.
std::string JsonQuoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = Utf8Length(text.substr(i));
    const char c = text[i];
    if (length == 0) {
      out += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\b') {
      out += "\\b";
    } else if (c == '\f') {
      out += "\\f";
    } else if (length == 1 && (c < ' ' || c == '<' || c == '>' || c == '&')) {
      const auto byte = static_cast<unsigned char>(c);
      out += "\\u00";
      out += {kHexDigits[byte >> 4], kHexDigits[byte & 15]};
    } else {
      out += text.substr(i, length);
    }
    i += std::max<std::size_t>(1, length);
  }
  return out += '"';
}

// A []string, as upstream prints it: as JSON, where one without elements is nil.
std::string JsonList(const std::vector<std::string>& values) {
  if (values.empty()) return "null";
  std::string out = "[";
  for (const std::string& value : values) {
    if (out.size() > 1) out += ',';
    out += JsonQuoted(value);
  }
  return out += ']';
}

std::string NameFormatError() {
  return "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
         "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '" +
         std::string(kNameFormat) + "')";
}

// The format alone, whatever the length.
bool HasNameFormat(std::string_view name) {
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && is_alphanumeric(name.front()) && is_alphanumeric(name.back()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool HasSubdomainFormat(std::string_view text) {
  const auto is_alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    const std::string_view label = text.substr(begin, end - begin);
    if (label.empty() || !is_alphanumeric(label.front()) || !is_alphanumeric(label.back())) return false;
    if (!std::all_of(label.begin(), label.end(), [&](char c) { return is_alphanumeric(c) || c == '-'; })) return false;
    begin = end + 1;
  }
  return true;
}

std::string LabelKeyError(std::string_view key) {
  std::string errors;
  const auto add = [&errors](const std::string& error) { errors += (errors.empty() ? "" : "; ") + error; };
  if (std::count(key.begin(), key.end(), '/') > 1) {
    return "a valid label key " + NameFormatError() +
           " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
  }
  const std::size_t slash = key.find('/');
  std::string_view name = key;
  if (slash != std::string_view::npos) {
    const std::string_view prefix = key.substr(0, slash);
    name = key.substr(slash + 1);
    if (prefix.empty()) {
      add("prefix part must be non-empty");
    } else {
      if (prefix.size() > kSubdomainBytesMax) add("prefix part must be no more than 253 bytes");
      if (!HasSubdomainFormat(prefix)) {
        add("prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
            "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
            "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
      }
    }
  }
  if (name.empty()) {
    add("name part must be non-empty");
  } else if (name.size() > kNameBytesMax) {
    add("name part must be no more than 63 bytes");
  }
  if (!HasNameFormat(name)) add("name part " + NameFormatError());
  return errors;
}

std::string LabelValueError(std::string_view value) {
  std::string error;
  if (value.size() > kNameBytesMax) error = "must be no more than 63 bytes";
  if (value.empty() || HasNameFormat(value)) return error;
  if (!error.empty()) error += "; ";
  return error +
         "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
         "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
         "validation is '(" +
         std::string(kNameFormat) + ")?')";
}

std::string RequirementError(const Requirement& requirement) {
  switch (requirement.op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist: break;
    case SelectorOperator::kGt:
    case SelectorOperator::kLt: return GoQuoted(ToString(requirement.op)) + " is not a valid label selector operator";
    case SelectorOperator::kUnknown:
      return GoQuoted(requirement.unknown_op) + " is not a valid label selector operator";
  }
  std::vector<std::string> errors;
  const auto add = [&errors](const std::string& path, const std::string& value, const std::string& detail) {
    std::string error = path + ": Invalid value: " + value + ": " + detail;
    if (std::find(errors.begin(), errors.end(), error) == errors.end()) errors.push_back(std::move(error));
  };
  if (const std::string detail = LabelKeyError(requirement.key); !detail.empty()) {
    add("key", GoQuoted(requirement.key), detail);
  }
  const bool has_values = requirement.op == SelectorOperator::kIn || requirement.op == SelectorOperator::kNotIn;
  if (has_values && requirement.values.empty()) {
    add("values", JsonList(requirement.values), "for 'in', 'notin' operators, values set can't be empty");
  }
  if (!has_values && !requirement.values.empty()) {
    add("values", JsonList(requirement.values), "values set must be empty for exists and does not exist");
  }
  for (std::size_t i = 0; i < requirement.values.size(); ++i) {
    const std::string& value = requirement.values[i];
    if (const std::string detail = LabelValueError(value); !detail.empty()) {
      add("values[" + std::to_string(i) + "][" + requirement.key + "]", GoQuoted(value), detail);
    }
  }
  if (errors.size() == 1) return errors.front();
  std::string all;
  for (const std::string& error : errors) all += (all.empty() ? "[" : ", ") + error;
  return all.empty() ? all : all + "]";
}

}  // namespace

std::string GoQuoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = Utf8Length(text.substr(i));
    const char c = text[i];
    constexpr std::string_view kEscaped = "\a\b\f\n\r\t\v\"\\";
    constexpr std::string_view kLetters = "abfnrtv\"\\";
    const std::size_t escaped = kEscaped.find(c);
    if (escaped != std::string_view::npos) {
      out += {'\\', kLetters[escaped]};
    } else if (length == 0 || (length == 1 && (c < ' ' || c == '\x7f'))) {
      const auto byte = static_cast<unsigned char>(c);
      out += "\\x";
      out += {kHexDigits[byte >> 4], kHexDigits[byte & 15]};
    } else {
      out += text.substr(i, length);
    }
    i += std::max<std::size_t>(1, length);
  }
  return out += '"';
}

std::string LabelSelectorError(const api::LabelSelector& selector) {
  for (const Requirement& requirement : selector.requirements) {
    // The texts are made for the few selectors that need them.
    const bool is_label_operator = requirement.op != SelectorOperator::kGt && requirement.op != SelectorOperator::kLt;
    if (is_label_operator && requirement.Validate().ok()) continue;
    if (std::string error = RequirementError(requirement); !error.empty()) return error;
  }
  return {};
}

}  // namespace berth::plugins
