// SPDX-License-Identifier: Apache-2.0
#include "berth/testing/source_path.h"

namespace berth::testing {

std::string SourcePath(std::string_view relative) { return std::string(BERTH_SOURCE_DIR "/").append(relative); }

}  // namespace berth::testing
