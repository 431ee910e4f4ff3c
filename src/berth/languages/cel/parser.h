// SPDX-License-Identifier: Apache-2.0
// Text -> tree. Expands macros on the way, as CEL's parsers do.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "berth/languages/cel/ast.h"
#include "berth/languages/cel/source.h"

namespace berth::cel {

// How deeply rules may nest, and how high the tree may be: cel-go's limit.
inline constexpr int kRecursionMax = 250;

struct ParsedExpr {
  ExprPtr root;
  std::vector<int> offsets;  // where each node begins, by ExprId

  int OffsetOf(ExprId id) const { return offsets[static_cast<std::size_t>(id)]; }
};

// Nothing when there are issues.
std::optional<ParsedExpr> Parse(const Source& source, Issues& issues);

}  // namespace berth::cel
