// SPDX-License-Identifier: Apache-2.0
// SourcePath: the path of a file in the repository, for tests that read golden cases, examples and ready profiles.
#pragma once

#include <string>
#include <string_view>

namespace berth::testing {

// `relative` is relative to the repository's root. Only one source is compiled with the root's path, so that all other
// objects are identical in every clone and the compiler cache can share them.
std::string SourcePath(std::string_view relative);

}  // namespace berth::testing
