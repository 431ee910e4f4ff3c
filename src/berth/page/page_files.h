// SPDX-License-Identifier: Apache-2.0
// The page's own files, built from web/ and made part of the program. Constants; any thread.
#pragma once

#include <span>
#include <string_view>

namespace berth::page {

struct PageFile {
  std::string_view name;  // "index.html", "app.js", "assets/..."
  std::string_view content_type;
  std::string_view bytes;
};

// Empty: this berth was built without Node, and so without the page.
std::span<const PageFile> PageFiles();
// What /ui/ says then.
std::string_view NoPageText();

}  // namespace berth::page
