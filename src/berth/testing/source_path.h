// SPDX-License-Identifier: Apache-2.0
// SourcePath: where a file of the repository is, for tests that read golden cases, examples and ready profiles.
#pragma once

#include <string>
#include <string_view>

namespace berth::testing {

// `relative` counts from the repository's root. Compiled into one source alone, so that all other objects are the same
// in every clone, and the compiler cache serves them all.
std::string SourcePath(std::string_view relative);

}  // namespace berth::testing
