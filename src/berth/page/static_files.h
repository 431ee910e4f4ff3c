// SPDX-License-Identifier: Apache-2.0
// StaticFiles: answers for the page's own files, which hold no data. Immutable once made; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/page/page_files.h"
#include "berth/shell/net/transport.h"

namespace berth::page {

class StaticFiles {
 public:
  explicit StaticFiles(std::span<const PageFile> files);

  // GET or HEAD of `path`, which is decoded: "/ui/", "/ui/app.js". 404 for all that is no file of the page.
  net::Response Answer(const net::Request& request, std::string_view path) const;

 private:
  struct Stored {
    std::string name;
    net::Response plain;
    net::Response compressed;
  };
  std::vector<Stored> files_;
};

}  // namespace berth::page
