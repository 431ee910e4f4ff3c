// SPDX-License-Identifier: Apache-2.0
// One file that shows a report as the page shows it: the page's own files with the report in them. It needs nothing
// else, fetches nothing, and opens in any browser. A pure function.
#pragma once

#include <span>
#include <string>

#include "berth/base/expected.h"
#include "berth/codec/json.h"
#include "berth/page/page_files.h"

namespace berth::page {

// `report`: as `berth shadow -o json` writes it. kUnavailable: `files` has no page.
Expected<std::string> ReportFile(std::span<const PageFile> files, const codec::json::value& report);

}  // namespace berth::page
