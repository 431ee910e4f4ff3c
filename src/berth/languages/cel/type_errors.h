// SPDX-License-Identifier: Apache-2.0
// TypeErrors: reports type errors with cel-go's messages and positions. One thread at a time.
#pragma once

#include <string>

#include "berth/languages/cel/ast.h"
#include "berth/languages/cel/parser.h"
#include "berth/languages/cel/source.h"
#include "berth/languages/cel/type.h"

namespace berth::cel {

class TypeErrors {
 public:
  // The first two arguments must outlive it. `names_container`: see Environment.
  TypeErrors(const ParsedExpr& parsed, Issues& issues, bool names_container)
      : parsed_(parsed), issues_(issues), names_container_(names_container) {}

  void Report(const Expr& at, std::string message);
  void ReportMismatch(const Expr& at, const Type& expected, const Type& found);
  void ReportUndeclared(const Expr& at, const std::string& name);

 private:
  const ParsedExpr& parsed_;
  Issues& issues_;
  const bool names_container_;
};

}  // namespace berth::cel
