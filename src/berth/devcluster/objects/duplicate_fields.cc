// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/duplicate_fields.h"

#include <algorithm>
#include <set>
#include <utility>

#include "berth/codec/json.h"

namespace berth::objects {
namespace {

// A place in a JSON text.
class JsonCursor {
 protected:
  static constexpr int kDepthMax = 512;  // of the values that are looked into

  explicit JsonCursor(std::string_view text) : text_(text) {}

  void SkipSpace() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  // The character after the space, which is not taken; '\0' at the end of the text.
  char Peek() {
    SkipSpace();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  // A number, true, false or null; false when there is nothing.
  bool Scalar() {
    const std::size_t start = at_;
    while (at_ < text_.size() && std::string_view(",]} \n\t\r").find(text_[at_]) == std::string_view::npos) ++at_;
    return at_ > start;
  }

  // The string at the cursor with its quotes; empty at the end of the text.
  std::string_view Literal() {
    const std::size_t start = at_;
    if (at_ >= text_.size() || text_[at_] != '"') return {};
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    if (at_ >= text_.size()) return {};
    ++at_;
    return text_.substr(start, at_ - start);
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

// Whether a JSON text surely has no duplicate keys; the usual case, answered without a copy. A text with keys that hold
// escapes, or with objects of many members, is left to DuplicateScanner.
class DistinctScanner : private JsonCursor {
 public:
  explicit DistinctScanner(std::string_view text) : JsonCursor(text) {}

  bool IsDistinct() { return Value(); }

 private:
  static constexpr std::size_t kMembersMax = 64;

  bool Value() {
    const char c = Peek();
    if (c == '"') return !Literal().empty();
    if (c == '{' || c == '[') {
      if (++depth_ > kDepthMax) return false;
      ++at_;
      const std::size_t keys_before = keys_.size();
      const bool is_distinct = c == '{' ? Members(keys_before) : Elements();
      keys_.resize(keys_before);
      --depth_;
      return is_distinct;
    }
    return Scalar();
  }

  bool Members(std::size_t first_key) {
    if (Peek() == '}') return ++at_, true;
    while (true) {
      SkipSpace();
      const std::string_view key = Literal();
      if (key.empty() || key.find('\\') != std::string_view::npos || keys_.size() - first_key >= kMembersMax) {
        return false;
      }
      if (std::find(keys_.begin() + static_cast<std::ptrdiff_t>(first_key), keys_.end(), key) != keys_.end()) {
        return false;
      }
      keys_.push_back(key);
      if (Peek() != ':') return false;
      ++at_;
      if (!Value()) return false;
      const char next = Peek();
      ++at_;
      if (next == '}') return true;
      if (next != ',') return false;
    }
  }

  bool Elements() {
    if (Peek() == ']') return ++at_, true;
    while (true) {
      if (!Value()) return false;
      const char next = Peek();
      ++at_;
      if (next == ']') return true;
      if (next != ',') return false;
    }
  }

  int depth_ = 0;
  std::vector<std::string_view> keys_;  // of the objects that are open, from the outermost on
};

// Walks a JSON text once. It trusts the text to be valid and gives up, finding nothing more, where it is not.
class DuplicateScanner : private JsonCursor {
 public:
  explicit DuplicateScanner(std::string_view text) : JsonCursor(text) {}

  std::vector<std::string> Scan() {
    Value(std::string());
    return std::move(duplicates_);
  }

 private:
  bool Value(const std::string& path) {
    const char c = Peek();
    if (depth_ >= kDepthMax) return false;
    if (c == '"') return !Literal().empty();
    if (c == '{' || c == '[') {
      ++at_;
      ++depth_;
      const bool went_well = c == '{' ? Members(path) : Elements(path);
      --depth_;
      return went_well;
    }
    return Scalar();
  }

  bool Members(const std::string& path) {
    std::set<std::string, std::less<>> seen;
    if (Peek() == '}') return ++at_, true;
    while (true) {
      SkipSpace();
      const std::string_view literal = Literal();
      if (literal.empty()) return false;
      std::string key(literal.substr(1, literal.size() - 2));
      if (key.find('\\') != std::string::npos) {
        boost::system::error_code failure;
        const codec::json::value decoded = codec::json::parse(literal, failure);
        if (failure || !decoded.is_string()) return false;
        key = std::string(decoded.get_string());
      }
      const std::string key_path = path.empty() ? key : path + "." + key;
      if (!seen.insert(std::move(key)).second && duplicates_.size() < kDuplicateFieldsMax) {
        duplicates_.push_back("duplicate field \"" + key_path + "\"");
      }
      if (Peek() != ':') return false;
      ++at_;
      if (!Value(key_path) || !Next('}')) return false;
      if (closed_) return true;
    }
  }

  bool Elements(const std::string& path) {
    if (Peek() == ']') return ++at_, true;
    for (std::size_t index = 0;; ++index) {
      if (!Value(path + "[" + std::to_string(index) + "]") || !Next(']')) return false;
      if (closed_) return true;
    }
  }

  // After a member or element: true at a comma or at the closing bracket, which also sets closed_.
  bool Next(char closing) {
    SkipSpace();
    if (at_ >= text_.size()) return false;
    closed_ = text_[at_] == closing;
    return text_[at_++] == ',' || closed_;
  }

  int depth_ = 0;
  bool closed_ = false;
  std::vector<std::string> duplicates_;
};

}  // namespace

std::vector<std::string> DuplicateFields(std::string_view json_text) {
  if (DistinctScanner(json_text).IsDistinct()) return {};
  return DuplicateScanner(json_text).Scan();
}

}  // namespace berth::objects
