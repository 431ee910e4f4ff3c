// SPDX-License-Identifier: Apache-2.0
// A ShadowReport as one HTML page that needs nothing else. A pure function.
#pragma once

#include <string>

#include "berth/shadow/shadow_report.h"

namespace berth::answers {

std::string ShadowPage(const shadow::ShadowReport& report);

}  // namespace berth::answers
