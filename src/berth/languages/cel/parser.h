// SPDX-License-Identifier: Apache-2.0
// Parses text into a tree. Macros are expanded during parsing, as CEL's parsers do.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "berth/languages/cel/ast.h"
#include "berth/languages/cel/source.h"

namespace berth::cel {

// cel-go's limit on the nesting of rules and the height of the tree.
inline constexpr int kRecursionMax = 250;

struct ParsedExpr {
  ExprPtr root;
  std::vector<int> offsets;  // start of each node, by ExprId

  int OffsetOf(ExprId id) const { return offsets[static_cast<std::size_t>(id)]; }
};

// Returns nullopt when there are issues.
std::optional<ParsedExpr> Parse(const Source& source, Issues& issues);

}  // namespace berth::cel
