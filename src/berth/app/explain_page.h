// SPDX-License-Identifier: Apache-2.0
// The web page of /explain, in the program: explain_page.html. Any thread.
#pragma once

#include <string_view>

namespace berth::app {

// HTML with one style and one script, and nothing that is loaded from elsewhere.
std::string_view ExplainPage();

}  // namespace berth::app
