// SPDX-License-Identifier: Apache-2.0
#include "berth/page/static_files.h"

#include <utility>

#include "berth/shell/serving/gzip.h"

namespace berth::page {
namespace {

constexpr std::string_view kRoot = "/ui/";
constexpr std::string_view kIndex = "index.html";

// The page's own script and style and nothing else, whatever a pod's name or message contains.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

net::Response Plain(int status, std::string_view type, std::string_view body) {
  net::Response response{status, {{"Content-Type", std::string(type)}}, std::string(body)};
  response.headers.push_back({"Content-Security-Policy", std::string(kPolicy)});
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  response.headers.push_back({"Referrer-Policy", "no-referrer"});
  // The next berth has another page at the same address.
  response.headers.push_back({"Cache-Control", "no-cache"});
  return response;
}

}  // namespace

StaticFiles::StaticFiles(std::span<const PageFile> files) {
  for (const PageFile& file : files) {
    Stored& stored = files_.emplace_back();
    stored.name = file.name;
    stored.plain = Plain(200, file.content_type, file.bytes);
    stored.compressed = stored.plain;
    stored.compressed.headers.push_back({"Content-Encoding", "gzip"});
    stored.compressed.body = serving::Gzip(file.bytes);
  }
}

net::Response StaticFiles::Answer(const net::Request& request, std::string_view path) const {
  if (request.method != "GET" && request.method != "HEAD") {
    net::Response refused = Plain(405, "text/plain; charset=utf-8", "The page's files are for GET.\n");
    refused.headers.push_back({"Allow", "GET, HEAD"});
    return refused;
  }
  const std::string_view name = path.substr(kRoot.size()).empty() ? kIndex : path.substr(kRoot.size());
  for (const Stored& stored : files_) {
    if (stored.name == name) return serving::AcceptsGzip(request) ? stored.compressed : stored.plain;
  }
  if (files_.empty() && name == kIndex) return Plain(200, "text/plain; charset=utf-8", NoPageText());
  return Plain(404, "text/plain; charset=utf-8", "The page has no such file.\n");
}

}  // namespace berth::page
