// SPDX-License-Identifier: Apache-2.0
// Regular expressions: RE2's syntax, in the one source that includes it. Compiled patterns do not change: any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "berth/languages/cel/declarations.h"

namespace berth::cel {

class Pattern;
Expected<std::shared_ptr<const Pattern>> CompilePattern(const std::string& pattern);

// `function` matches, find or findAll applied to values, of which the pattern is the second.
Value ApplyPattern(const Pattern& pattern, std::string_view function, std::span<const Value> arguments,
                   WorkLimit& work);

// matches (a singleton), find and findAll.
std::span<const OverloadBinding> RegexBindings();
std::span<const SingletonBinding> RegexSingletons();

}  // namespace berth::cel
