// SPDX-License-Identifier: Apache-2.0
#include "berth/codec/yaml.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <istream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "berth/base/utf8.h"
#include "berth/codec/view_buffer.h"

namespace berth::codec {
namespace {

// Limit on a document after the expansion of aliases: kValueBytes for each value, plus the bytes of strings and keys.
constexpr std::size_t kExpandedBytesMax = std::size_t{128} << 20;
constexpr std::size_t kValueBytes = 32;
constexpr std::size_t kDocumentsMax = 10'000;
constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

// Thrown from the library's callbacks; caught in ParseDocuments.
struct Refusal {
  Error error;
};

[[noreturn]] void Refuse(const YAML::Mark& mark, std::string_view message) {
  std::string text;
  if (!mark.is_null()) {
    text = "line " + std::to_string(mark.line + 1) + ", column " + std::to_string(mark.column + 1) + ": ";
  }
  throw Refusal{InvalidError(text + std::string(message))};
}

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// The booleans of YAML 1.1, as go-yaml v2 resolves them.
std::optional<bool> ParseBoolean(std::string_view text) {
  if (IsOneOf(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"})) return true;
  if (IsOneOf(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"})) return false;
  return std::nullopt;
}

bool IsNullWord(std::string_view text) { return text.empty() || IsOneOf(text, {"~", "null", "Null", "NULL"}); }

// As strconv.ParseInt(text, 0, 64) and, above its range, ParseUint: 0x, 0o, 0b and a leading 0 select the base.
std::optional<json::value> ParseInteger(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    switch (text[1]) {
      case 'x':
      case 'X': base = 16; break;
      case 'o':
      case 'O': base = 8; break;
      case 'b':
      case 'B': base = 2; break;
      default: base = 0;
    }
    text.remove_prefix(base == 0 ? 1 : 2);
    if (base == 0) base = 8;
  }
  std::uint64_t magnitude = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (text.empty() || failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  constexpr std::uint64_t kSignedLimit = std::uint64_t{1} << 63;
  if (is_negative) {
    if (magnitude > kSignedLimit) return std::nullopt;
    return json::value(static_cast<std::int64_t>(~magnitude + 1));
  }
  if (magnitude < kSignedLimit) return json::value(static_cast<std::int64_t>(magnitude));
  return json::value(magnitude);
}

std::optional<json::value> ParseFloat(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('-') || digits.starts_with('+')) digits.remove_prefix(1);
  // from_chars would also accept "inf" and "nan", which YAML spells differently.
  if (digits.empty() || digits.find_first_not_of("0123456789.eE+-") != std::string_view::npos || digits[0] == '+' ||
      digits[0] == '-') {
    return std::nullopt;
  }
  double number = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failure != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (text.starts_with('-')) number = -number;
  // JSON writes an integral float without a point, so that upstream accepts 1e3 as an integer.
  if (std::abs(number) < 0x1p63 && std::trunc(number) == number) return json::value(static_cast<std::int64_t>(number));
  return json::value(number);
}

// Resolves a plain scalar without a tag as go-yaml v2 does.
json::value ResolvePlain(const YAML::Mark& mark, std::string_view text) {
  if (IsNullWord(text)) return nullptr;
  if (const auto boolean = ParseBoolean(text)) return *boolean;
  std::string_view unsigned_text = text;
  if (text[0] == '+' || text[0] == '-') unsigned_text.remove_prefix(1);
  if (IsOneOf(unsigned_text, {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"})) {
    Refuse(mark, std::string(text) + " has no form in JSON");
  }
  const char first = text[0];
  if (first == '.' || first == '+' || first == '-' || (first >= '0' && first <= '9')) {
    std::string plain(text);
    if (first != '.') plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
    if (auto number = ParseInteger(plain)) return *std::move(number);
    if (auto number = ParseFloat(plain)) return *std::move(number);
  }
  return json::string(text);
}

json::value Resolve(const YAML::Mark& mark, std::string_view tag, const std::string& text) {
  if (tag == "?") return ResolvePlain(mark, text);
  if (!tag.starts_with(kTagPrefix)) return json::string(text);  // quoted, or an application's own tag
  const std::string_view type = tag.substr(kTagPrefix.size());
  if (type == "str") return json::string(text);
  json::value resolved = ResolvePlain(mark, text);
  const bool is_whole = resolved.is_int64() || resolved.is_uint64();
  const bool is_fitting = (type == "bool" && resolved.is_bool()) || (type == "null" && resolved.is_null()) ||
                          (type == "int" && is_whole) || (type == "float" && (is_whole || resolved.is_double()));
  if (!is_fitting) Refuse(mark, "\"" + text.substr(0, 64) + "\" cannot be read as !!" + std::string(type));
  return resolved;
}

std::size_t CountBytes(const json::value& value) {
  std::size_t bytes = kValueBytes;
  if (value.is_string()) bytes += value.get_string().size();
  if (value.is_array()) {
    for (const json::value& item : value.get_array()) bytes += CountBytes(item);
  }
  if (value.is_object()) {
    for (const auto& member : value.get_object()) bytes += member.key().size() + CountBytes(member.value());
  }
  return bytes;
}

// Builds the JSON value of one document from the library's events.
class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(int depth_max) : depth_max_(static_cast<std::size_t>(depth_max)) {}

  json::value Take() { return std::move(root_); }
  const YAML::Mark& start() const { return start_; }

  void OnDocumentStart(const YAML::Mark& mark) override { start_ = mark; }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { Add(mark, nullptr, anchor, false); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    // An anchor that is not closed yet would make the document contain itself.
    if (found == anchors_.end()) Refuse(mark, "an alias inside its own anchor");
    Spend(mark, found->second.bytes);
    Add(mark, found->second.value, 0, false);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    Spend(mark, kValueBytes + text.size());
    const bool is_merge =
        tag == "?" && text == "<<" && !frames_.empty() && frames_.back().is_object && !frames_.back().key;
    Add(mark, Resolve(mark, tag, text), anchor, is_merge);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, anchor, false);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, anchor, true);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Frame {
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    bool is_object = false;
    json::value value;
    std::optional<std::string> key;  // of the member whose value comes next
    bool is_merge_key = false;
    std::vector<json::object> merged;  // the mappings of "<<", in order
  };
  struct Anchored {
    json::value value;
    std::size_t bytes = 0;
  };

  void Spend(const YAML::Mark& mark, std::size_t bytes) {
    spent_ += bytes;
    if (spent_ > kExpandedBytesMax) Refuse(mark, "the document is too large once its aliases are expanded");
  }

  void Open(const YAML::Mark& mark, YAML::anchor_t anchor, bool is_object) {
    if (frames_.size() >= depth_max_) Refuse(mark, "nested deeper than " + std::to_string(depth_max_) + " levels");
    if (!frames_.empty() && frames_.back().is_object && !frames_.back().key) Refuse(mark, "a key must be a scalar");
    Spend(mark, kValueBytes);
    Frame frame;
    frame.mark = mark;
    frame.anchor = anchor;
    frame.is_object = is_object;
    if (is_object) {
      frame.value.emplace_object();
    } else {
      frame.value.emplace_array();
    }
    frames_.push_back(std::move(frame));
  }

  void Close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    // Explicit members take precedence over merged ones, and earlier merges over later ones.
    for (json::object& merged : frame.merged) {
      for (auto& member : merged) frame.value.get_object().emplace(member.key(), std::move(member.value()));
    }
    Add(frame.mark, std::move(frame.value), frame.anchor, false);
  }

  void Add(const YAML::Mark& mark, json::value value, YAML::anchor_t anchor, bool is_merge_key) {
    if (anchor != 0) {
      const std::size_t bytes = CountBytes(value);
      Spend(mark, bytes);
      anchors_[anchor] = {value, bytes};
    }
    if (frames_.empty()) {
      root_ = std::move(value);
      return;
    }
    Frame& frame = frames_.back();
    if (!frame.is_object) {
      frame.value.get_array().push_back(std::move(value));
    } else if (!frame.key) {
      frame.key = KeyText(mark, value);
      frame.is_merge_key = is_merge_key;
    } else if (frame.is_merge_key) {
      Merge(mark, frame, value);
      frame.key.reset();
    } else {
      const auto [member, is_new] = frame.value.get_object().emplace(*frame.key, std::move(value));
      if (!is_new) Refuse(mark, "key \"" + frame.key->substr(0, 64) + "\" is already set in this mapping");
      frame.key.reset();
    }
  }

  static std::string KeyText(const YAML::Mark& mark, const json::value& key) {
    if (key.is_string()) return std::string(key.get_string());
    if (key.is_null()) Refuse(mark, "a key must not be null");
    if (key.is_structured()) Refuse(mark, "a key must be a scalar");
    return json::serialize(key);
  }

  static void Merge(const YAML::Mark& mark, Frame& frame, json::value& value) {
    if (value.is_object()) {
      frame.merged.push_back(std::move(value.get_object()));
      return;
    }
    if (!value.is_array()) Refuse(mark, "\"<<\" merges a mapping or a list of mappings");
    for (json::value& item : value.get_array()) {
      if (!item.is_object()) Refuse(mark, "\"<<\" merges a mapping or a list of mappings");
      frame.merged.push_back(std::move(item.get_object()));
    }
  }

  std::size_t depth_max_;
  std::size_t spent_ = 0;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  json::value root_;
  YAML::Mark start_;
};

// The first duplicate key of an object in this (valid) JSON text, with its byte position.
std::optional<std::pair<std::string, std::size_t>> FindDuplicateKey(std::string_view text) {
  std::vector<std::set<std::string>> objects;  // arrays have an empty set, too, because they have no keys
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '{' || c == '[') objects.emplace_back();
    if ((c == '}' || c == ']') && !objects.empty()) objects.pop_back();
    if (c != '"') continue;
    const std::size_t begin = at;
    bool has_escape = false;
    for (++at; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] != '\\') continue;
      has_escape = true;
      ++at;
    }
    std::size_t next = at + 1;
    while (next < text.size() && IsOneOf(text.substr(next, 1), {" ", "\t", "\r", "\n"})) ++next;
    if (next >= text.size() || text[next] != ':' || objects.empty()) continue;
    std::string key(text.substr(begin + 1, at - begin - 1));
    if (has_escape) key = json::parse(text.substr(begin, at - begin + 1)).as_string().c_str();
    if (!objects.back().insert(key).second) return std::pair(std::move(key), begin);
  }
  return std::nullopt;
}

// Parses the text as JSON if it looks like JSON: that is faster, and JSON has escapes that YAML lacks (surrogate
// pairs).
std::optional<Expected<json::value>> ParseAsJson(std::string_view text, ParseLimits limits) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || (text[begin] != '{' && text[begin] != '[')) return std::nullopt;
  auto value = ParseJson(text, limits);
  if (!value.ok()) return std::nullopt;
  if (const auto duplicate = FindDuplicateKey(text)) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(duplicate->second), '\n');
    const std::size_t line_begin = text.rfind('\n', duplicate->second) + 1;  // npos + 1 is 0
    return Expected<json::value>(InvalidError("line " + std::to_string(line) + ", column " +
                                              std::to_string(duplicate->second - line_begin + 1) + ": key \"" +
                                              duplicate->first.substr(0, 64) + "\" is already set in this mapping"));
  }
  return value;
}

Expected<std::vector<json::value>> ParseDocuments(std::string_view text, ParseLimits limits) {
  if (text.size() > limits.bytes_max) {
    return Error{ErrorCode::kTooLarge, "YAML of " + std::to_string(text.size()) + " bytes: at most " +
                                           std::to_string(limits.bytes_max) + " are read"};
  }
  std::vector<json::value> documents;
  if (auto value = ParseAsJson(text, limits)) {
    BERTH_ASSIGN_OR_RETURN(json::value document, *std::move(value));
    documents.push_back(std::move(document));
    return documents;
  }
  if (!IsValidUtf8(text)) return InvalidError("the text is not valid UTF-8");
  try {
    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    int last_start = -1;
    while (true) {
      Builder builder(limits.depth_max);
      if (!parser.HandleNextDocument(builder)) break;
      // At a token that cannot begin a value, such as "]" or ",", the library reports empty documents forever.
      if (builder.start().pos == last_start) Refuse(builder.start(), "unexpected text: no value begins here");
      last_start = builder.start().pos;
      json::value document = builder.Take();
      if (document.is_null()) continue;
      if (documents.size() >= kDocumentsMax) {
        return Error{ErrorCode::kTooLarge, "more than " + std::to_string(kDocumentsMax) + " YAML documents"};
      }
      documents.push_back(std::move(document));
    }
    return documents;
  } catch (const Refusal& refusal) {
    return refusal.error;
  } catch (const YAML::Exception& thrown) {
    std::string where;
    if (!thrown.mark.is_null()) {
      where =
          "line " + std::to_string(thrown.mark.line + 1) + ", column " + std::to_string(thrown.mark.column + 1) + ": ";
    }
    // The message may contain the invalid character itself.
    std::string message = where + thrown.msg;
    for (char& c : message) c = c >= ' ' && c < 0x7f ? c : '?';
    return InvalidError(message);
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::kTooLarge, std::string("YAML cannot be held: ") + thrown.what()};
  }
}

}  // namespace

Expected<json::value> ParseYaml(std::string_view text, ParseLimits limits) {
  BERTH_ASSIGN_OR_RETURN(std::vector<json::value> documents, ParseDocuments(text, limits));
  if (documents.empty()) return InvalidError("the text is empty: expected one YAML or JSON document");
  if (documents.size() > 1) {
    return InvalidError("expected one YAML document, found " + std::to_string(documents.size()));
  }
  return std::move(documents.front());
}

Expected<std::vector<json::value>> ParseYamlStream(std::string_view text, ParseLimits limits) {
  return ParseDocuments(text, limits);
}

}  // namespace berth::codec
