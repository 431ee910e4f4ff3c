// SPDX-License-Identifier: Apache-2.0
// The values of literals in CEL expressions.
#pragma once

#include "berth/base/expected.h"
#include "berth/languages/cel/lexer.h"
#include "berth/languages/cel/value.h"

namespace berth::cel {

// A number, a string, bytes, true, false or null.
bool IsLiteral(const Token& token);

// `token` must satisfy IsLiteral(). `is_negative`: a minus precedes the number. Errors are cel-go's.
Expected<Value> ReadLiteral(const Token& token, bool is_negative);

}  // namespace berth::cel
