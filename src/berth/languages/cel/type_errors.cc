// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/type_errors.h"

#include <utility>

namespace berth::cel {

void TypeErrors::Report(const Expr& at, std::string message) {
  issues_.Report(parsed_.OffsetOf(at.id), std::move(message));
}

void TypeErrors::ReportMismatch(const Expr& at, const Type& expected, const Type& found) {
  Report(at, "expected type '" + FormatType(expected) + "' but found '" + FormatType(found) + "'");
}

void TypeErrors::ReportUndeclared(const Expr& at, const std::string& name) {
  Report(at, "undeclared reference to '" + name + "'" + (names_container_ ? " (in container '')" : ""));
}

}  // namespace berth::cel
