// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "berth/languages/cel/lexer.h"
#include "berth/languages/cel/literal.h"
#include "berth/languages/cel/macros.h"
#include "berth/languages/cel/token_stream.h"

namespace berth::cel {
namespace {

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

// A node and the height of its tree of rules, as upstream counts it.
struct Parsed {
  ExprPtr expr;
  int height = 0;
};

ExprPtr Node(ExprKind kind, ExprId id) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->id = id;
  return expr;
}

// Makes the nodes of the tree, with their ids and offsets, and expands macros. Nothing it makes is of use once the
// tokens have failed.
class ExprMaker {
 public:
  // Both must outlive it.
  ExprMaker(TokenStream& tokens, Issues& issues) : tokens_(tokens), issues_(issues) {}

  ExprId NewId(int offset) {
    offsets_.push_back(offset);
    return static_cast<ExprId>(offsets_.size()) - 1;
  }
  ExprPtr Literal(int offset, Value value) {
    ExprPtr expr = Node(ExprKind::kLiteral, NewId(offset));
    expr->literal = std::move(value);
    return expr;
  }
  // Stands for an expression with an error.
  Parsed Broken(const Token& token, std::string message) {
    issues_.Report(token.offset, std::move(message));
    return {Literal(token.offset, Value()), 0};
  }
  Parsed Nothing() { return {Literal(0, Value()), 0}; }

  // Limits the height, because the tree is processed recursively from here on.
  void CheckHeight(int height) {
    if (tokens_.failed() || height <= kRecursionMax) return;
    issues_.Report(kNoOffset, "max recursion depth exceeded");
    tokens_.SetFailed();
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
    if (tokens_.failed()) return Nothing();
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

  Parsed Balance(std::string_view function, std::vector<Parsed>& terms, const std::vector<ExprId>& ids, std::size_t low,
                 std::size_t high) {
    const std::size_t middle = (low + high + 1) / 2;
    Parsed left = middle == low ? std::move(terms[middle]) : Balance(function, terms, ids, low, middle - 1);
    Parsed right = middle == high ? std::move(terms[middle + 1]) : Balance(function, terms, ids, middle + 1, high);
    return Operator(ids[middle], function, false, std::move(left), std::move(right));
  }

  void SetOffset(ExprId id, int offset) { offsets_[static_cast<std::size_t>(id)] = offset; }
  std::vector<int> TakeOffsets() { return std::move(offsets_); }

 private:
  TokenStream& tokens_;
  Issues& issues_;
  std::vector<int> offsets_ = {0};  // ids begin at 1
};

// Counts the nested activations of a rule; above the limit the whole text is refused.
class Depth {
 public:
  Depth(TokenStream& tokens, Issues& issues, int& depth) : depth_(depth) {
    if (++depth_ > kRecursionMax && !tokens.failed()) {
      issues.Report(kNoOffset, "expression recursion limit exceeded: " + std::to_string(kRecursionMax));
      tokens.SetFailed();
    }
  }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  ~Depth() { --depth_; }

 private:
  int& depth_;
};

class Parser {
 public:
  Parser(std::vector<Token> tokens, Issues& issues) : tokens_(std::move(tokens), issues), issues_(issues) {}

  std::optional<ParsedExpr> Run() {
    Parsed root = ParseExpr();
    if (!tokens_.failed() && tokens_.Now().kind != TokenKind::kEnd) {
      const bool is_last = tokens_.Ahead(1).kind == TokenKind::kEnd;
      tokens_.Report(tokens_.Now(), (is_last ? "extraneous input '" : "mismatched input '") + tokens_.Now().text +
                                        "' expecting <EOF>");
    }
    if (!issues_.empty() || tokens_.failed()) return std::nullopt;
    return ParsedExpr{std::move(root.expr), make_.TakeOffsets()};
  }

 private:
  Parsed ParseExpr(std::string_view expected = kExpressionStarts) {
    const Depth depth(tokens_, issues_, expr_depth_);
    if (!tokens_.SyncExpression(expected)) return make_.Nothing();
    Parsed condition = ParseLogic(op::kOr);
    if (!tokens_.IsNow("?")) return condition;
    const ExprId id = make_.NewId(tokens_.Take().offset);
    Parsed if_true = tokens_.SyncExpression(kExpressionStarts) ? ParseLogic(op::kOr) : make_.Nothing();
    tokens_.Expect(":");
    Parsed if_false = ParseExpr();
    return make_.Operator(id, op::kConditional, true, std::move(condition), std::move(if_true), std::move(if_false));
  }

  // a || b || c, whose terms are chains of &&, whose terms are relations. Long chains become balanced trees.
  Parsed ParseLogic(std::string_view function) {
    const bool is_or = function == op::kOr;
    const auto parse_term = [&] { return is_or ? ParseLogic(op::kAnd) : ParseRelation(); };
    std::vector<Parsed> terms;
    std::vector<ExprId> ids;
    terms.push_back(parse_term());
    while (tokens_.IsNow(is_or ? "||" : "&&")) {
      const int offset = tokens_.Take().offset;
      if (!tokens_.SyncExpression(kExpressionStarts)) return make_.Nothing();
      terms.push_back(parse_term());
      ids.push_back(make_.NewId(offset));
    }
    if (tokens_.failed()) return make_.Nothing();
    return terms.size() == 1 ? std::move(terms[0]) : make_.Balance(function, terms, ids, 0, ids.size() - 1);
  }

  Parsed ParseRelation() {
    const Depth depth(tokens_, issues_, relation_depth_);
    Parsed left = ParseCalc(0);
    while (!tokens_.failed()) {
      const std::string_view function = RelationOperator(tokens_.Now());
      if (function.empty()) break;
      const ExprId id = make_.NewId(tokens_.Take().offset);
      if (!tokens_.SyncExpression(kExpressionStarts)) break;
      const Depth inner(tokens_, issues_, relation_depth_);
      Parsed right = ParseCalc(0);
      left = make_.Operator(id, function, true, std::move(left), std::move(right));
    }
    return left;
  }

  // Parses operators that bind more tightly than `precedence`.
  Parsed ParseCalc(int precedence) {
    const Depth depth(tokens_, issues_, calc_depth_);
    Parsed left = ParseUnary();
    while (!tokens_.failed()) {
      const Arithmetic arithmetic = ArithmeticOperator(tokens_.Now());
      if (arithmetic.precedence <= precedence) break;
      const ExprId id = make_.NewId(tokens_.Take().offset);
      if (!tokens_.SyncExpression(kExpressionStarts)) break;
      Parsed right = ParseCalc(arithmetic.precedence);
      left = make_.Operator(id, arithmetic.function, true, std::move(left), std::move(right));
    }
    return left;
  }

  Parsed ParseUnary() {
    if (tokens_.failed()) return make_.Nothing();
    if (tokens_.IsNow("!")) return ParsePrefix("!", op::kNot);
    const bool is_number = tokens_.Ahead(1).kind == TokenKind::kInt || tokens_.Ahead(1).kind == TokenKind::kDouble;
    if (tokens_.IsNow("-") && !is_number) return ParsePrefix("-", op::kNegate);
    return ParseMember();
  }

  // An even number of prefix operators in a row cancels out.
  Parsed ParsePrefix(std::string_view sign, std::string_view function) {
    const Token first = tokens_.Now();
    int count = 0;
    while (tokens_.TakeIf(sign)) ++count;
    if (sign == "!" && tokens_.Now().kind == TokenKind::kEnd) {
      tokens_.Fail(tokens_.Now(), "extraneous input '<EOF>' expecting " + std::string(kExpressionStarts));
    }
    if (sign == "-" && (tokens_.IsNow("!") || !StartsExpression(tokens_.Now()))) tokens_.FailAfterMinus();
    if (tokens_.IsNow("-") && tokens_.Ahead(1).kind != TokenKind::kInt && tokens_.Ahead(1).kind != TokenKind::kDouble) {
      tokens_.Take();
      tokens_.FailAfterMinus();
    }
    if (!tokens_.SyncExpression(kExpressionStarts)) return make_.Nothing();
    if (count % 2 == 0) return ParseMember();
    const ExprId id = make_.NewId(first.offset);
    return make_.Operator(id, function, false, ParseMember());
  }

  Parsed ParseMember() {
    Parsed member = ParsePrimary();
    while (!tokens_.failed()) {
      if (tokens_.IsNow(".")) {
        member = ParseSelect(std::move(member));
      } else if (tokens_.IsNow("[")) {
        const ExprId id = make_.NewId(tokens_.Take().offset);
        const bool is_optional = tokens_.TakeIf("?");
        Parsed index = ParseExpr(is_optional ? kExpressionStarts : kIndexStarts);
        tokens_.Expect("]");
        member = make_.Operator(id, is_optional ? op::kOptionalIndex : op::kIndex, true, std::move(member),
                                std::move(index));
      } else {
        break;
      }
    }
    return member;
  }

  Parsed ParseSelect(Parsed operand) {
    const Token dot = tokens_.Take();
    const bool is_optional = tokens_.TakeIf("?");
    const Token name = tokens_.Now();
    if (name.kind != TokenKind::kIdentifier && name.kind != TokenKind::kEscapedIdentifier) {
      if (is_optional) {
        tokens_.Fail(name, "mismatched input '" + name.text + "' expecting {IDENTIFIER, ESC_IDENTIFIER}");
        issues_.Report(name.offset, "unsupported ident kind");
      } else {
        tokens_.FailAfterDot();
      }
      return make_.Nothing();
    }
    tokens_.Take();
    if (name.kind == TokenKind::kIdentifier && !is_optional && tokens_.IsNow("(")) {
      const ExprId id = make_.NewId(tokens_.Take().offset);
      std::vector<Parsed> arguments = ParseArguments();
      return make_.Call(id, name.text, std::move(operand), std::move(arguments), true);
    }
    if (name.kind == TokenKind::kEscapedIdentifier) issues_.Report(name.offset, "unsupported syntax: '`'");
    if (is_optional) {
      Parsed field{make_.Literal(name.offset, Value::String(name.text)), 0};
      const ExprId id = make_.NewId(dot.offset);
      return make_.Operator(id, op::kOptionalSelect, true, std::move(operand), std::move(field));
    }
    ExprPtr select = Node(ExprKind::kSelect, make_.NewId(dot.offset));
    select->target = std::move(operand.expr);
    select->name = name.text;
    make_.CheckHeight(operand.height + 1);
    return {std::move(select), operand.height + 1};
  }

  // The arguments of a call after its opening parenthesis, including the closing one.
  std::vector<Parsed> ParseArguments() {
    std::vector<Parsed> arguments;
    if (tokens_.TakeIf(")")) return arguments;
    if (tokens_.SyncExpression(kArgumentStarts, ")")) {
      arguments.push_back(ParseExpr());
      while (tokens_.TakeIf(",")) arguments.push_back(ParseExpr());
    }
    tokens_.Expect(")");
    return arguments;
  }

  Parsed ParsePrimary() {
    if (tokens_.failed()) return make_.Nothing();
    const Token token = tokens_.Now();
    if (IsLiteral(token) || token.Is("-")) return ParseLiteral();
    if (token.kind == TokenKind::kIdentifier) return ParseName(token.offset, "");
    if (tokens_.TakeIf("(")) {
      Parsed nested = ParseExpr();
      tokens_.Expect(")");
      return nested;
    }
    if (token.Is("[")) return ParseList();
    if (token.Is("{")) return ParseMap();
    if (tokens_.TakeIf(".")) {
      if (tokens_.Now().kind == TokenKind::kIdentifier) return ParseName(token.offset, ".");
      tokens_.FailAfterDot();
      return make_.Nothing();
    }
    // For an operator without its left side the error has been reported already.
    if (issues_.empty())
      tokens_.Fail(token, "mismatched input '" + token.text + "' expecting " + std::string(kExpressionStarts));
    return make_.Nothing();
  }

  // a, .a, a(...), a.b.c{...}
  Parsed ParseName(int start, std::string_view leading_dot) {
    if (const std::size_t length = tokens_.StructNameLength(); length > 0) return ParseStruct(leading_dot, length);
    const Token name = tokens_.Take();
    if (IsReserved(name.text)) {
      Parsed broken = make_.Broken({TokenKind::kIdentifier, name.text, start}, "reserved identifier: " + name.text);
      if (tokens_.TakeIf("(")) ParseArguments();
      return broken;
    }
    if (tokens_.IsNow("(")) {
      const ExprId id = make_.NewId(tokens_.Take().offset);
      return make_.Call(id, std::string(leading_dot) + name.text, {}, ParseArguments(), false);
    }
    ExprPtr ident = Node(ExprKind::kIdent, make_.NewId(name.offset));
    ident->name = std::string(leading_dot) + name.text;
    return {std::move(ident), 0};
  }

  Parsed ParseStruct(std::string_view leading_dot, std::size_t length) {
    std::string name(leading_dot);
    for (std::size_t i = 0; i < length; ++i) name += tokens_.Take().text;
    ExprPtr expr = Node(ExprKind::kStruct, 0);
    const ExprId id = make_.NewId(tokens_.Take().offset);
    expr->id = id;
    expr->name = name;
    int height = 0;
    while (!tokens_.failed() && !tokens_.IsNow("}")) {
      const bool is_optional = tokens_.TakeIf("?");
      const ExprId entry = make_.NewId(tokens_.Now().offset);
      const Token field = tokens_.Now();
      if (field.kind != TokenKind::kIdentifier) {
        tokens_.Fail(field,
                     "mismatched input '" + field.text + "' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}");
        break;
      }
      tokens_.Take();
      make_.SetOffset(entry, tokens_.Now().offset);
      tokens_.Expect(":");
      Parsed value = ParseExpr();
      height = std::max(height, value.height);
      expr->field_names.push_back(field.text);
      expr->values.push_back(std::move(value.expr));
      expr->is_optional.push_back(is_optional);
      if (!tokens_.TakeComma("}")) return {std::move(expr), height};
      if (!tokens_.IsNow("?") && tokens_.Now().kind != TokenKind::kIdentifier) break;
    }
    tokens_.Expect("}");
    return {std::move(expr), height};
  }

  Parsed ParseList() {
    ExprPtr expr = Node(ExprKind::kList, make_.NewId(tokens_.Take().offset));
    int height = 0;
    bool is_first = true;
    while (tokens_.HasElement("]", kListStarts, is_first)) {
      is_first = false;
      const bool is_optional = tokens_.TakeIf("?");
      Parsed item = ParseExpr();
      height = std::max(height, item.height);
      expr->items.push_back(std::move(item.expr));
      expr->is_optional.push_back(is_optional);
      if (!tokens_.TakeComma("]")) return {std::move(expr), height};
    }
    tokens_.Expect("]");
    return {std::move(expr), height};
  }

  Parsed ParseMap() {
    ExprPtr expr = Node(ExprKind::kMap, make_.NewId(tokens_.Take().offset));
    int height = 0;
    bool is_first = true;
    while (tokens_.HasElement("}", kMapStarts, is_first)) {
      is_first = false;
      const ExprId entry = make_.NewId(0);
      const bool is_optional = tokens_.TakeIf("?");
      Parsed key = ParseExpr();
      make_.SetOffset(entry, tokens_.Now().offset);
      tokens_.Expect(":");
      Parsed value = ParseExpr();
      height = std::max({height, key.height, value.height});
      expr->items.push_back(std::move(key.expr));
      expr->values.push_back(std::move(value.expr));
      expr->is_optional.push_back(is_optional);
      if (!tokens_.TakeComma("}")) return {std::move(expr), height};
    }
    tokens_.Expect("}");
    return {std::move(expr), height};
  }

  Parsed ParseLiteral() {
    const int start = tokens_.Now().offset;
    const bool is_negative = tokens_.TakeIf("-");
    const Token token = tokens_.Take();
    if (!IsLiteral(token)) {
      tokens_.Fail(token, "no viable alternative at input '-" + token.text + "'");
      return make_.Nothing();
    }
    auto value = ReadLiteral(token, is_negative);
    if (!value.ok()) return make_.Broken({token.kind, token.text, start}, value.error().message);
    return {make_.Literal(start, std::move(*value)), 0};
  }

  TokenStream tokens_;
  Issues& issues_;
  ExprMaker make_{tokens_, issues_};
  int expr_depth_ = 0;
  int relation_depth_ = 0;
  int calc_depth_ = 0;
};

}  // namespace

std::optional<ParsedExpr> Parse(const Source& source, Issues& issues) {
  return Parser(Tokenize(source, issues), issues).Run();
}

}  // namespace berth::cel
