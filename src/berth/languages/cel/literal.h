// SPDX-License-Identifier: Apache-2.0
// The value of a literal as it is written in a CEL expression.
#pragma once

#include "berth/base/expected.h"
#include "berth/languages/cel/lexer.h"
#include "berth/languages/cel/value.h"

namespace berth::cel {

// A number, a string, bytes, true, false or null.
bool IsLiteral(const Token& token);

// Of a token that IsLiteral(); `is_negative`: a minus stood before the number. The error is cel-go's.
Expected<Value> ReadLiteral(const Token& token, bool is_negative);

}  // namespace berth::cel
