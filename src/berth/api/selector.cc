// SPDX-License-Identifier: Apache-2.0
#include "berth/api/selector.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "berth/base/utf8.h"

namespace berth::api {
namespace {

constexpr std::size_t kShownTextMax = 64;

std::string Apostrophed(std::string_view text) {
  std::string quoted = "'";
  quoted += CutUtf8(text, kShownTextMax);
  return quoted + (text.size() > kShownTextMax ? "...'" : "'");
}

// Parses like strconv.ParseInt(text, 10, 64).
std::optional<std::int64_t> ParseInt64(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool Contains(const std::vector<std::string>& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// As upstream's field selector, a requirement treats an absent field as empty.
bool MatchesField(const Requirement& requirement, std::string_view node_name) {
  if (requirement.values.size() != 1) return false;
  const std::string_view field = requirement.key == "metadata.name" ? node_name : std::string_view();
  if (requirement.op == SelectorOperator::kIn) return field == requirement.values[0];
  return requirement.op == SelectorOperator::kNotIn && field != requirement.values[0];
}

enum class TokenKind : std::uint8_t { kEnd, kWord, kOpen, kClose, kComma, kNot, kEquals, kNotEquals, kGreater, kLess };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  std::size_t at = 0;  // byte position
};

// A lexer with one token of look-ahead; whether "in" and "notin" are operators depends on their position.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { Advance(); }

  const Token& Peek() const { return token_; }
  Token Take() {
    const Token taken = token_;
    Advance();
    return taken;
  }

 private:
  static bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  static bool IsSymbol(char c) { return std::string_view("=!(),><").find(c) != std::string_view::npos; }

  void Advance() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
    const std::size_t begin = at_;
    if (at_ == text_.size()) {
      token_ = {TokenKind::kEnd, {}, begin};
      return;
    }
    TokenKind kind = TokenKind::kWord;
    const char c = text_[at_++];
    const bool equals_follows = at_ < text_.size() && text_[at_] == '=';
    switch (c) {
      case '(': kind = TokenKind::kOpen; break;
      case ')': kind = TokenKind::kClose; break;
      case ',': kind = TokenKind::kComma; break;
      case '>': kind = TokenKind::kGreater; break;
      case '<': kind = TokenKind::kLess; break;
      case '=':
        kind = TokenKind::kEquals;
        if (equals_follows) ++at_;
        break;
      case '!':
        kind = equals_follows ? TokenKind::kNotEquals : TokenKind::kNot;
        if (equals_follows) ++at_;
        break;
      default:
        while (at_ < text_.size() && !IsSpace(text_[at_]) && !IsSymbol(text_[at_])) ++at_;
    }
    token_ = {kind, text_.substr(begin, at_ - begin), begin};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Token token_;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  Expected<LabelSelector> Parse() {
    LabelSelector selector;
    if (lexer_.Peek().kind == TokenKind::kEnd) return selector;
    while (true) {
      BERTH_ASSIGN_OR_RETURN(Requirement requirement, ParseRequirement());
      BERTH_RETURN_IF_ERROR(requirement.Validate());
      selector.requirements.push_back(std::move(requirement));
      const Token token = lexer_.Take();
      if (token.kind == TokenKind::kEnd) break;
      if (token.kind != TokenKind::kComma) return Unexpected(token, "',' or the end");
    }
    // As upstream, sorts by key, which gives a normal form.
    std::stable_sort(selector.requirements.begin(), selector.requirements.end(),
                     [](const Requirement& a, const Requirement& b) { return a.key < b.key; });
    return selector;
  }

 private:
  static Error Unexpected(const Token& found, std::string_view expected) {
    const std::string what = found.kind == TokenKind::kEnd ? "it ends" : "found " + Apostrophed(found.text);
    return InvalidError("at byte " + std::to_string(found.at) + ": " + what + ", expected " + std::string(expected));
  }

  Expected<Requirement> ParseRequirement() {
    Requirement requirement;
    Token token = lexer_.Take();
    const bool is_negated = token.kind == TokenKind::kNot;
    if (is_negated) token = lexer_.Take();
    if (token.kind != TokenKind::kWord) return Unexpected(token, is_negated ? "a label key" : "'!' or a label key");
    requirement.key = token.text;
    if (is_negated) {
      requirement.op = SelectorOperator::kDoesNotExist;
      return requirement;
    }
    const TokenKind next = lexer_.Peek().kind;
    if (next == TokenKind::kEnd || next == TokenKind::kComma) {
      requirement.op = SelectorOperator::kExists;
      return requirement;
    }
    const Token op = lexer_.Take();
    bool is_set = false;
    switch (op.kind) {
      case TokenKind::kEquals: requirement.op = SelectorOperator::kIn; break;
      case TokenKind::kNotEquals: requirement.op = SelectorOperator::kNotIn; break;
      case TokenKind::kGreater: requirement.op = SelectorOperator::kGt; break;
      case TokenKind::kLess: requirement.op = SelectorOperator::kLt; break;
      default:
        is_set = op.text == "in" || op.text == "notin";
        if (!is_set) return Unexpected(op, "one of '=', '==', '!=', '>', '<', 'in', 'notin'");
        requirement.op = op.text == "in" ? SelectorOperator::kIn : SelectorOperator::kNotIn;
    }
    BERTH_ASSIGN_OR_RETURN(requirement.values, is_set ? ParseSet() : ParseExactValue());
    return requirement;
  }

  Expected<std::vector<std::string>> ParseExactValue() {
    const TokenKind next = lexer_.Peek().kind;
    if (next == TokenKind::kEnd || next == TokenKind::kComma) return std::vector<std::string>{""};
    const Token value = lexer_.Take();
    if (value.kind != TokenKind::kWord) return Unexpected(value, "a value");
    return std::vector<std::string>{std::string(value.text)};
  }

  // "(a,b)". Nothing between separators is an empty value, as in "(a,,b)", "(,a)" and "()".
  Expected<std::vector<std::string>> ParseSet() {
    if (const Token open = lexer_.Take(); open.kind != TokenKind::kOpen) return Unexpected(open, "'('");
    std::vector<std::string> values;
    while (true) {
      if (lexer_.Peek().kind == TokenKind::kWord) {
        values.emplace_back(lexer_.Take().text);
      } else {
        values.emplace_back();
      }
      const Token separator = lexer_.Take();
      if (separator.kind == TokenKind::kClose) break;
      if (separator.kind != TokenKind::kComma) return Unexpected(separator, "',' or ')'");
    }
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }

  Lexer lexer_;
};

}  // namespace

bool Requirement::Matches(const std::string* value) const {
  switch (op) {
    case SelectorOperator::kIn: return value != nullptr && Contains(values, *value);
    case SelectorOperator::kNotIn: return value == nullptr || !Contains(values, *value);
    case SelectorOperator::kExists: return value != nullptr;
    case SelectorOperator::kDoesNotExist: return value == nullptr;
    case SelectorOperator::kGt:
    case SelectorOperator::kLt: {
      if (value == nullptr || values.size() != 1) return false;
      const auto have = ParseInt64(*value);
      const auto limit = ParseInt64(values[0]);
      if (!have || !limit) return false;
      return op == SelectorOperator::kGt ? *have > *limit : *have < *limit;
    }
    case SelectorOperator::kUnknown: return false;
  }
  return false;
}

Expected<void> Requirement::Validate() const {
  if (!IsQualifiedName(key)) {
    return InvalidError(
        Apostrophed(key) +
        " is no label key: it must be at most 63 letters, digits, '-', '_' and '.', beginning and ending with a "
        "letter or digit, with an optional DNS prefix and '/'");
  }
  switch (op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      if (values.empty()) return InvalidError(key + ": for 'in', 'notin' operators, values set can't be empty");
      break;
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      if (!values.empty()) return InvalidError(key + ": values set must be empty for exists and does not exist");
      break;
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      if (values.size() != 1) return InvalidError(key + ": for 'Gt', 'Lt' operators, exactly one value is required");
      if (!ParseInt64(values[0])) {
        return InvalidError(key + ": for 'Gt', 'Lt' operators, the value must be an integer, not " +
                            Apostrophed(values[0]));
      }
      break;
    case SelectorOperator::kUnknown:
      return InvalidError(key + ": the operator must be one of In, NotIn, Exists, DoesNotExist, Gt, Lt");
  }
  for (const std::string& value : values) {
    if (IsLabelValue(value)) continue;
    return InvalidError(
        key + ": " + Apostrophed(value) +
        " is no label value: it must be empty, or at most 63 letters, digits, '-', '_' and '.', beginning and "
        "ending with a letter or digit");
  }
  return {};
}

bool LabelSelector::Matches(const StringMap& labels) const {
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const Requirement& requirement) { return requirement.Matches(labels.Find(requirement.key)); });
}

Expected<LabelSelector> ParseLabelSelector(std::string_view text) {
  auto selector = Parser(text).Parse();
  if (!selector.ok()) return selector.error().Wrap("label selector " + Apostrophed(text));
  return selector;
}

Expected<void> NodeSelectorTerm::Validate() const {
  for (const Requirement& requirement : match_expressions) BERTH_RETURN_IF_ERROR(requirement.Validate());
  for (const Requirement& requirement : match_fields) {
    if (requirement.op != SelectorOperator::kIn && requirement.op != SelectorOperator::kNotIn) {
      return InvalidError(requirement.key + ": the operator on a field must be In or NotIn");
    }
    if (requirement.values.size() != 1) return InvalidError(requirement.key + ": a field takes exactly one value");
  }
  return {};
}

bool NodeSelectorTerm::Matches(std::string_view node_name, const StringMap& node_labels) const {
  if (match_expressions.empty() && match_fields.empty()) return false;
  for (const Requirement& requirement : match_expressions) {
    if (!requirement.Matches(node_labels.Find(requirement.key))) return false;
  }
  for (const Requirement& requirement : match_fields) {
    // As upstream, fields are only compared if the node has a name.
    if (!node_name.empty() && !MatchesField(requirement, node_name)) return false;
  }
  return true;
}

std::string_view ToString(SelectorOperator op) {
  switch (op) {
    case SelectorOperator::kIn: return "In";
    case SelectorOperator::kNotIn: return "NotIn";
    case SelectorOperator::kExists: return "Exists";
    case SelectorOperator::kDoesNotExist: return "DoesNotExist";
    case SelectorOperator::kGt: return "Gt";
    case SelectorOperator::kLt: return "Lt";
    case SelectorOperator::kUnknown: return "Unknown";
  }
  return "Unknown";
}

SelectorOperator ParseSelectorOperator(std::string_view text) {
  using enum SelectorOperator;
  for (const auto op : {kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt}) {
    if (text == ToString(op)) return op;
  }
  return kUnknown;
}

}  // namespace berth::api
