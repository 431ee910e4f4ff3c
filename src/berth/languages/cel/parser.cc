#include "berth/languages/cel/parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "berth/languages/cel/lexer.h"
#include "berth/languages/cel/literal.h"
#include "berth/languages/cel/macros.h"

namespace berth::cel {
namespace {

constexpr std::string_view kExpressionStarts =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
constexpr std::string_view kArgumentStarts =
    "{'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}";
constexpr std::string_view kListStarts =
    "{'[', ']', '{', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
    "BYTES, "
    "IDENTIFIER}";
constexpr std::string_view kMapStarts =
    "{'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
    "BYTES, "
    "IDENTIFIER}";
constexpr std::string_view kIndexStarts =
    "{'[', '{', '(', '.', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}";

bool IsReserved(std::string_view name) {
  constexpr std::array<std::string_view, 18> kReserved = {
      "as",  "break", "const",   "continue",  "else",   "for", "function", "if",    "import",
      "let", "loop",  "package", "namespace", "return", "var", "void",     "while", "in"};
  return std::ranges::find(kReserved, name) != kReserved.end();
}

// A node and how high the tree of rules above it is, as upstream counts.
struct Parsed {
  ExprPtr expr;
  int height = 0;
};

class Parser {
 public:
  Parser(std::vector<Token> tokens, Issues& issues) : tokens_(std::move(tokens)), issues_(issues) {}

  std::optional<ParsedExpr> Run() {
    Parsed root = ParseExpr();
    if (!failed_ && Now().kind != TokenKind::kEnd) {
      const bool is_last = Ahead(1).kind == TokenKind::kEnd;
      Report(Now(), (is_last ? "extraneous input '" : "mismatched input '") + Now().text + "' expecting <EOF>");
    }
    if (!issues_.empty() || failed_) return std::nullopt;
    return ParsedExpr{std::move(root.expr), std::move(offsets_)};
  }

 private:
  // --- tokens

  const Token& Now() const { return tokens_[at_]; }
  const Token& Ahead(std::size_t count) const { return tokens_[std::min(at_ + count, tokens_.size() - 1)]; }
  bool IsNow(std::string_view punctuation) const { return !failed_ && Now().Is(punctuation); }

  Token Take() {
    Token token = Now();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool TakeIf(std::string_view punctuation) {
    if (!IsNow(punctuation)) return false;
    Take();
    return true;
  }

  void Report(const Token& token, std::string message) {
    issues_.Report(token.offset, "Syntax error: " + std::move(message));
  }
  void Fail(const Token& token, std::string message) {
    if (!failed_) Report(token, std::move(message));
    failed_ = true;
  }

  // Takes `punctuation`, leaving out one token before it or adding it before the end, as ANTLR does.
  void Expect(std::string_view punctuation, std::string_view expected = {}) {
    if (failed_ || TakeIf(punctuation)) return;
    const std::string quoted = expected.empty() ? "'" + std::string(punctuation) + "'" : std::string(expected);
    if (Ahead(1).Is(punctuation)) {
      Report(Now(), "extraneous input '" + Now().text + "' expecting " + quoted);
      Take();
      Take();
    } else if (expected.empty() && Now().kind == TokenKind::kEnd && punctuation != ":") {
      Fail(Now(), "missing " + quoted + " at '<EOF>'");
    } else if (punctuation == ":" && StartsExpression(Now()) && Now().kind != TokenKind::kEnd) {
      Fail(Now(), "missing ':' at '" + Now().text + "'");
    } else {
      Fail(Now(), "mismatched input '" + Now().text + "' expecting " + quoted);
    }
  }

  static bool StartsExpression(const Token& token) {
    switch (token.kind) {
      case TokenKind::kEnd:
      case TokenKind::kEscapedIdentifier: return false;
      case TokenKind::kPunctuation:
        return token.text == "[" || token.text == "{" || token.text == "(" || token.text == "." || token.text == "-" ||
               token.text == "!";
      default: return true;
    }
  }

  static bool IsBinaryOperator(const Token& token) {
    return token.Is("&&") || token.Is("||") || !RelationOperator(token).empty() ||
           (ArithmeticOperator(token).precedence > 0 && !token.Is("-"));
  }

  // An expression must begin here, or `closing`.
  bool SyncExpression(std::string_view expected, std::string_view closing = {}) {
    if (failed_) return false;
    if (StartsExpression(Now())) return true;
    const bool closes_next = !closing.empty() && Ahead(1).Is(closing);
    if (StartsExpression(Ahead(1)) || closes_next) {
      Report(Now(), "extraneous input '" + Now().text + "' expecting " + std::string(expected));
      Take();
      return !closes_next;
    }
    // As ANTLR recovers: an operator without its left side is gone on with, anything else ends the parsing.
    Report(Now(), "mismatched input '" + Now().text + "' expecting " + std::string(expected));
    failed_ = !IsBinaryOperator(Now());
    return !failed_;
  }

  // --- nodes

  ExprId NewId(int offset) {
    offsets_.push_back(offset);
    return static_cast<ExprId>(offsets_.size()) - 1;
  }
  ExprPtr Node(ExprKind kind, ExprId id) {
    auto expr = std::make_unique<Expr>();
    expr->kind = kind;
    expr->id = id;
    return expr;
  }
  ExprPtr Literal(int offset, Value value) {
    ExprPtr expr = Node(ExprKind::kLiteral, NewId(offset));
    expr->literal = std::move(value);
    return expr;
  }
  // What stands for an expression that has an error.
  Parsed Broken(const Token& token, std::string message) {
    issues_.Report(token.offset, std::move(message));
    return {Literal(token.offset, Value()), 0};
  }
  Parsed Nothing() { return {Literal(0, Value()), 0}; }

  // The tree is walked recursively from here on.
  void CheckHeight(int height) {
    if (failed_ || height <= kRecursionMax) return;
    issues_.Report(kNoOffset, "max recursion depth exceeded");
    failed_ = true;
  }

  Parsed Call(ExprId id, std::string_view function, Parsed target, std::vector<Parsed> arguments, bool counts) {
    int height = target.height;
    std::vector<ExprPtr> items;
    for (Parsed& argument : arguments) {
      height = std::max(height, argument.height);
      items.push_back(std::move(argument.expr));
    }
    if (counts) ++height;
    CheckHeight(height);
    if (failed_) return Nothing();
    const int offset = offsets_[static_cast<std::size_t>(id)];
    MacroBuilder builder([this, offset] { return NewId(offset); },
                         [this](ExprId original) { return NewId(offsets_[static_cast<std::size_t>(original)]); });
    if (auto expanded = ExpandMacro(builder, function, target.expr, items)) {
      if (expanded->expr != nullptr) return {std::move(expanded->expr), height};
      const int error_offset = offsets_[static_cast<std::size_t>(expanded->error_at)];
      issues_.Report(error_offset, expanded->error);
      return {Literal(error_offset, Value()), height};
    }
    ExprPtr expr = Node(ExprKind::kCall, id);
    expr->name = function;
    expr->target = std::move(target.expr);
    expr->items = std::move(items);
    return {std::move(expr), height};
  }

  template <typename... Parts>
  Parsed Operator(ExprId id, std::string_view function, bool counts, Parts... parts) {
    std::vector<Parsed> arguments;
    (arguments.push_back(std::move(parts)), ...);
    return Call(id, function, {}, std::move(arguments), counts);
  }

  // --- rules

  // Counts how often a rule is open; past the limit the whole text is refused.
  class Depth {
   public:
    Depth(Parser& parser, int& depth) : depth_(depth) {
      if (++depth_ > kRecursionMax && !parser.failed_) {
        parser.issues_.Report(kNoOffset, "expression recursion limit exceeded: " + std::to_string(kRecursionMax));
        parser.failed_ = true;
      }
    }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    ~Depth() { --depth_; }

   private:
    int& depth_;
  };

  Parsed ParseExpr(std::string_view expected = kExpressionStarts) {
    const Depth depth(*this, expr_depth_);
    if (!SyncExpression(expected)) return Nothing();
    Parsed condition = ParseLogic(op::kOr);
    if (!IsNow("?")) return condition;
    const ExprId id = NewId(Take().offset);
    Parsed if_true = SyncExpression(kExpressionStarts) ? ParseLogic(op::kOr) : Nothing();
    Expect(":");
    Parsed if_false = ParseExpr();
    return Operator(id, op::kConditional, true, std::move(condition), std::move(if_true), std::move(if_false));
  }

  // a || b || c, whose terms are chains of &&, whose terms are relations. Long chains become balanced trees.
  Parsed ParseLogic(std::string_view function) {
    const bool is_or = function == op::kOr;
    const auto parse_term = [&] { return is_or ? ParseLogic(op::kAnd) : ParseRelation(); };
    std::vector<Parsed> terms;
    std::vector<ExprId> ids;
    terms.push_back(parse_term());
    while (IsNow(is_or ? "||" : "&&")) {
      const int offset = Take().offset;
      if (!SyncExpression(kExpressionStarts)) return Nothing();
      terms.push_back(parse_term());
      ids.push_back(NewId(offset));
    }
    if (failed_) return Nothing();
    return terms.size() == 1 ? std::move(terms[0]) : Balance(function, terms, ids, 0, ids.size() - 1);
  }

  Parsed Balance(std::string_view function, std::vector<Parsed>& terms, const std::vector<ExprId>& ids, std::size_t low,
                 std::size_t high) {
    const std::size_t middle = (low + high + 1) / 2;
    Parsed left = middle == low ? std::move(terms[middle]) : Balance(function, terms, ids, low, middle - 1);
    Parsed right = middle == high ? std::move(terms[middle + 1]) : Balance(function, terms, ids, middle + 1, high);
    return Operator(ids[middle], function, false, std::move(left), std::move(right));
  }

  static std::string_view RelationOperator(const Token& token) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kOperators = {{{"<", "_<_"},
                                                                                          {"<=", "_<=_"},
                                                                                          {">=", "_>=_"},
                                                                                          {">", "_>_"},
                                                                                          {"==", op::kEquals},
                                                                                          {"!=", op::kNotEquals},
                                                                                          {"in", op::kIn}}};
    if (token.kind != TokenKind::kPunctuation) return {};
    for (const auto& [text, name] : kOperators) {
      if (token.text == text) return name;
    }
    return {};
  }

  Parsed ParseRelation() {
    const Depth depth(*this, relation_depth_);
    Parsed left = ParseCalc(0);
    while (!failed_) {
      const std::string_view function = RelationOperator(Now());
      if (function.empty()) break;
      const ExprId id = NewId(Take().offset);
      if (!SyncExpression(kExpressionStarts)) break;
      const Depth inner(*this, relation_depth_);
      Parsed right = ParseCalc(0);
      left = Operator(id, function, true, std::move(left), std::move(right));
    }
    return left;
  }

  struct Arithmetic {
    std::string_view function;
    int precedence = 0;
  };
  static Arithmetic ArithmeticOperator(const Token& token) {
    if (token.Is("*")) return {"_*_", 2};
    if (token.Is("/")) return {"_/_", 2};
    if (token.Is("%")) return {"_%_", 2};
    if (token.Is("+")) return {op::kAdd, 1};
    if (token.Is("-")) return {"_-_", 1};
    return {};
  }

  // Operators that bind more tightly than `precedence`.
  Parsed ParseCalc(int precedence) {
    const Depth depth(*this, calc_depth_);
    Parsed left = ParseUnary();
    while (!failed_) {
      const Arithmetic arithmetic = ArithmeticOperator(Now());
      if (arithmetic.precedence <= precedence) break;
      const ExprId id = NewId(Take().offset);
      if (!SyncExpression(kExpressionStarts)) break;
      Parsed right = ParseCalc(arithmetic.precedence);
      left = Operator(id, arithmetic.function, true, std::move(left), std::move(right));
    }
    return left;
  }

  Parsed ParseUnary() {
    if (failed_) return Nothing();
    if (IsNow("!")) return ParsePrefix("!", op::kNot);
    const bool is_number = Ahead(1).kind == TokenKind::kInt || Ahead(1).kind == TokenKind::kDouble;
    if (IsNow("-") && !is_number) return ParsePrefix("-", op::kNegate);
    return ParseMember();
  }

  // Several in a row cancel each other out.
  Parsed ParsePrefix(std::string_view sign, std::string_view function) {
    const Token first = Now();
    int count = 0;
    while (TakeIf(sign)) ++count;
    if (sign == "!" && Now().kind == TokenKind::kEnd) {
      Fail(Now(), "extraneous input '<EOF>' expecting " + std::string(kExpressionStarts));
    }
    if (sign == "-" && (IsNow("!") || !StartsExpression(Now()))) FailAfterMinus();
    if (IsNow("-") && Ahead(1).kind != TokenKind::kInt && Ahead(1).kind != TokenKind::kDouble) {
      Take();
      FailAfterMinus();
    }
    if (!SyncExpression(kExpressionStarts)) return Nothing();
    if (count % 2 == 0) return ParseMember();
    const ExprId id = NewId(first.offset);
    return Operator(id, function, false, ParseMember());
  }

  Parsed ParseMember() {
    Parsed member = ParsePrimary();
    while (!failed_) {
      if (IsNow(".")) {
        member = ParseSelect(std::move(member));
      } else if (IsNow("[")) {
        const ExprId id = NewId(Take().offset);
        const bool is_optional = TakeIf("?");
        Parsed index = ParseExpr(is_optional ? kExpressionStarts : kIndexStarts);
        Expect("]");
        member = Operator(id, is_optional ? op::kOptionalIndex : op::kIndex, true, std::move(member), std::move(index));
      } else {
        break;
      }
    }
    return member;
  }

  void FailAfterMinus() {
    const bool is_end = Now().kind == TokenKind::kEnd;
    const std::string text = is_end ? "" : Now().text;
    Report(Now(), "no viable alternative at input '-" + text + "'");
    if (is_end) Report(Now(), "mismatched input '<EOF>' expecting " + std::string(kExpressionStarts));
    failed_ = true;
  }

  void FailAfterDot() {
    const Token& token = Now();
    if (token.Is("in")) return Report(token, "no viable alternative at input '.in'");
    if (token.kind == TokenKind::kTrue || token.kind == TokenKind::kFalse || token.kind == TokenKind::kNull) {
      return Fail(token, "mismatched input '" + token.text + "' expecting IDENTIFIER");
    }
    Fail(token, "no viable alternative at input '." + (token.kind == TokenKind::kEnd ? "" : token.text) + "'");
  }

  Parsed ParseSelect(Parsed operand) {
    const Token dot = Take();
    const bool is_optional = TakeIf("?");
    const Token name = Now();
    if (name.kind != TokenKind::kIdentifier && name.kind != TokenKind::kEscapedIdentifier) {
      if (is_optional) {
        Fail(name, "mismatched input '" + name.text + "' expecting {IDENTIFIER, ESC_IDENTIFIER}");
        issues_.Report(name.offset, "unsupported ident kind");
      } else {
        FailAfterDot();
      }
      return Nothing();
    }
    Take();
    if (name.kind == TokenKind::kIdentifier && !is_optional && IsNow("(")) {
      const ExprId id = NewId(Take().offset);
      std::vector<Parsed> arguments = ParseArguments();
      return Call(id, name.text, std::move(operand), std::move(arguments), true);
    }
    if (name.kind == TokenKind::kEscapedIdentifier) issues_.Report(name.offset, "unsupported syntax: '`'");
    if (is_optional) {
      Parsed field{Literal(name.offset, Value::String(name.text)), 0};
      const ExprId id = NewId(dot.offset);
      return Operator(id, op::kOptionalSelect, true, std::move(operand), std::move(field));
    }
    ExprPtr select = Node(ExprKind::kSelect, NewId(dot.offset));
    select->target = std::move(operand.expr);
    select->name = name.text;
    CheckHeight(operand.height + 1);
    return {std::move(select), operand.height + 1};
  }

  // The arguments of a call, whose parenthesis is open, and the closing one.
  std::vector<Parsed> ParseArguments() {
    std::vector<Parsed> arguments;
    if (TakeIf(")")) return arguments;
    if (SyncExpression(kArgumentStarts, ")")) {
      arguments.push_back(ParseExpr());
      while (TakeIf(",")) arguments.push_back(ParseExpr());
    }
    Expect(")");
    return arguments;
  }

  Parsed ParsePrimary() {
    if (failed_) return Nothing();
    const Token token = Now();
    if (IsLiteral(token) || token.Is("-")) return ParseLiteral();
    if (token.kind == TokenKind::kIdentifier) return ParseName(token.offset, "");
    if (TakeIf("(")) {
      Parsed nested = ParseExpr();
      Expect(")");
      return nested;
    }
    if (token.Is("[")) return ParseList();
    if (token.Is("{")) return ParseMap();
    if (TakeIf(".")) {
      if (Now().kind == TokenKind::kIdentifier) return ParseName(token.offset, ".");
      FailAfterDot();
      return Nothing();
    }
    // An operator without its left side gets here, and that has been reported.
    if (issues_.empty())
      Fail(token, "mismatched input '" + token.text + "' expecting " + std::string(kExpressionStarts));
    return Nothing();
  }

  // a, .a, a(...), a.b.c{...}
  Parsed ParseName(int start, std::string_view leading_dot) {
    if (const std::size_t length = StructNameLength(); length > 0) return ParseStruct(leading_dot, length);
    const Token name = Take();
    if (IsReserved(name.text)) {
      Parsed broken = Broken({TokenKind::kIdentifier, name.text, start}, "reserved identifier: " + name.text);
      if (TakeIf("(")) ParseArguments();
      return broken;
    }
    if (IsNow("(")) {
      const ExprId id = NewId(Take().offset);
      return Call(id, std::string(leading_dot) + name.text, {}, ParseArguments(), false);
    }
    ExprPtr ident = Node(ExprKind::kIdent, NewId(name.offset));
    ident->name = std::string(leading_dot) + name.text;
    return {std::move(ident), 0};
  }

  // How many tokens a.b.c are when a brace follows them; 0 when none does.
  std::size_t StructNameLength() const {
    std::size_t length = 1;
    while (Ahead(length).Is(".") && Ahead(length + 1).kind == TokenKind::kIdentifier) length += 2;
    return Ahead(length).Is("{") ? length : 0;
  }

  Parsed ParseStruct(std::string_view leading_dot, std::size_t length) {
    std::string name(leading_dot);
    for (std::size_t i = 0; i < length; ++i) name += Take().text;
    ExprPtr expr = Node(ExprKind::kStruct, 0);
    const ExprId id = NewId(Take().offset);
    expr->id = id;
    expr->name = name;
    int height = 0;
    while (!failed_ && !IsNow("}")) {
      const bool is_optional = TakeIf("?");
      const ExprId entry = NewId(Now().offset);
      const Token field = Now();
      if (field.kind != TokenKind::kIdentifier) {
        Fail(field, "mismatched input '" + field.text + "' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}");
        break;
      }
      Take();
      offsets_[static_cast<std::size_t>(entry)] = Now().offset;
      Expect(":");
      Parsed value = ParseExpr();
      height = std::max(height, value.height);
      expr->field_names.push_back(field.text);
      expr->values.push_back(std::move(value.expr));
      expr->is_optional.push_back(is_optional);
      if (!TakeComma("}")) return {std::move(expr), height};
      if (!IsNow("?") && Now().kind != TokenKind::kIdentifier) break;
    }
    Expect("}");
    return {std::move(expr), height};
  }

  // Whether another element follows in a list or map. Leaves out a token that is none, at the beginning.
  bool HasElement(std::string_view closing, std::string_view starts, bool is_first) {
    if (failed_ || IsNow(closing)) return false;
    if (StartsExpression(Now()) || IsNow("?")) return true;
    if (!is_first) return false;
    // A lone comma may stand before the end, as in [,].
    if (TakeIf(",")) return false;
    return SyncExpression(starts, closing);
  }

  // Goes on behind an element: true when a comma came, false at the end.
  bool TakeComma(std::string_view closing) {
    if (failed_) return false;
    if (TakeIf(",")) return true;
    Expect(closing, closing == "]" ? "{']', ','}" : "{'}', ','}");
    return false;
  }

  Parsed ParseList() {
    ExprPtr expr = Node(ExprKind::kList, NewId(Take().offset));
    int height = 0;
    bool is_first = true;
    while (HasElement("]", kListStarts, is_first)) {
      is_first = false;
      const bool is_optional = TakeIf("?");
      Parsed item = ParseExpr();
      height = std::max(height, item.height);
      expr->items.push_back(std::move(item.expr));
      expr->is_optional.push_back(is_optional);
      if (!TakeComma("]")) return {std::move(expr), height};
    }
    Expect("]");
    return {std::move(expr), height};
  }

  Parsed ParseMap() {
    ExprPtr expr = Node(ExprKind::kMap, NewId(Take().offset));
    int height = 0;
    bool is_first = true;
    while (HasElement("}", kMapStarts, is_first)) {
      is_first = false;
      const ExprId entry = NewId(0);
      const bool is_optional = TakeIf("?");
      Parsed key = ParseExpr();
      offsets_[static_cast<std::size_t>(entry)] = Now().offset;
      Expect(":");
      Parsed value = ParseExpr();
      height = std::max({height, key.height, value.height});
      expr->items.push_back(std::move(key.expr));
      expr->values.push_back(std::move(value.expr));
      expr->is_optional.push_back(is_optional);
      if (!TakeComma("}")) return {std::move(expr), height};
    }
    Expect("}");
    return {std::move(expr), height};
  }

  Parsed ParseLiteral() {
    const int start = Now().offset;
    const bool is_negative = TakeIf("-");
    const Token token = Take();
    if (!IsLiteral(token)) {
      Fail(token, "no viable alternative at input '-" + token.text + "'");
      return Nothing();
    }
    auto value = ReadLiteral(token, is_negative);
    if (!value.ok()) return Broken({token.kind, token.text, start}, value.error().message);
    return {Literal(start, std::move(*value)), 0};
  }

  std::vector<Token> tokens_;
  Issues& issues_;
  std::vector<int> offsets_ = {0};  // ids begin at 1
  std::size_t at_ = 0;
  bool failed_ = false;
  int expr_depth_ = 0;
  int relation_depth_ = 0;
  int calc_depth_ = 0;
};

}  // namespace

std::optional<ParsedExpr> Parse(const Source& source, Issues& issues) {
  return Parser(Tokenize(source, issues), issues).Run();
}

}  // namespace berth::cel
