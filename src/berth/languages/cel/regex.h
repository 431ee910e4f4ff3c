// SPDX-License-Identifier: Apache-2.0
// Regular expressions in RE2's syntax; regex.cc is the only source that includes RE2. Compiled patterns are immutable:
// any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "berth/languages/cel/declarations.h"

namespace berth::cel {

class Pattern;
Expected<std::shared_ptr<const Pattern>> CompilePattern(const std::string& pattern);

// Applies `function` (matches, find or findAll) to values, the second of which is the pattern.
Value ApplyPattern(const Pattern& pattern, std::string_view function, std::span<const Value> arguments,
                   WorkLimit& work);

// RegexSingletons has matches; RegexBindings has find and findAll.
std::span<const OverloadBinding> RegexBindings();
std::span<const SingletonBinding> RegexSingletons();

}  // namespace berth::cel
