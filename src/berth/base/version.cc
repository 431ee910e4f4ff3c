// SPDX-License-Identifier: Apache-2.0
#include "berth/base/version.h"

namespace berth {

std::string_view Version() { return BERTH_VERSION; }

}  // namespace berth
