// SPDX-License-Identifier: Apache-2.0
// A ShadowReport as one HTML page that needs nothing else. A pure function.
#pragma once

#include <string>

#include "berth/shadow/shadow_report.h"

namespace berth::shadow {

std::string ShadowPage(const ShadowReport& report);

}  // namespace berth::shadow
