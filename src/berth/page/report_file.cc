// SPDX-License-Identifier: Apache-2.0
#include "berth/page/report_file.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace berth::page {
namespace {

// The script and the styles are in the file, and nothing may be fetched.
constexpr std::string_view kPolicy =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; style-src "
    "'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'\" />";

std::string_view BytesOf(std::span<const PageFile> files, std::string_view name) {
  const auto at = std::ranges::find(files, name, &PageFile::name);
  return at == files.end() ? std::string_view() : at->bytes;
}

// The tag from `begin` to the end of `end` becomes `by`. False: there is none.
bool Replace(std::string& html, std::string_view begin, std::string_view end, const std::string& by) {
  const std::size_t from = html.find(begin);
  if (from == std::string::npos) return false;
  const std::size_t to = html.find(end, from);
  if (to == std::string::npos) return false;
  html.replace(from, to + end.size() - from, by);
  return true;
}

// Text of the cluster must not end the element that it is in.
std::string JsonWithoutTags(const codec::json::value& value) {
  std::string text;
  for (const char c : codec::WriteJson(value)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

Expected<std::string> ReportFile(std::span<const PageFile> files, const codec::json::value& report) {
  std::string html(BytesOf(files, "index.html"));
  const std::string_view script = BytesOf(files, "app.js");
  const std::string_view style = BytesOf(files, "app.css");
  if (html.empty() || script.empty() || style.empty())
    return Error{ErrorCode::kUnavailable, "this berth was built without its page"};
  if (script.find("</script") != std::string_view::npos || style.find("</style") != std::string_view::npos)
    return Error{ErrorCode::kInternal, "the page's files cannot be put into one"};
  const bool is_whole = Replace(html, "<link rel=\"icon\"", "/>", std::string(kPolicy)) &&
                        Replace(html, "<link rel=\"stylesheet\"", "/>", "<style>" + std::string(style) + "</style>") &&
                        Replace(html, "<script type=\"module\"", "</script>",
                                "<script type=\"application/json\" id=\"report\">" + JsonWithoutTags(report) +
                                    "</script>\n    <script type=\"module\">" + std::string(script) + "</script>");
  if (!is_whole) return Error{ErrorCode::kInternal, "the page's files cannot be put into one"};
  return html;
}

}  // namespace berth::page
