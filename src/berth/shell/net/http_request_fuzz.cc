// SPDX-License-Identifier: Apache-2.0
// Request parsing as the server does it (same parser, small limits), cut into pieces as a network may cut it; then the
// target, and the whole input as a target, a URL and an address.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "berth/base/check.h"
#include "berth/shell/net/http_parser.h"
#include "berth/shell/net/url.h"

namespace berth::net {
namespace {

void FuzzParser(HttpParser::Kind kind, std::string_view input, std::size_t piece) {
  constexpr HttpParser::Limits kLimits{.header_bytes_max = 512, .body_bytes_max = 256};
  HttpParser parser(kind);
  parser.Start(kLimits);
  std::size_t begin = 0;  // of what is not consumed
  std::size_t end = 0;    // of what has arrived
  for (;;) {
    const bool is_last = end == input.size();
    end = std::min(input.size(), end + piece);
    std::size_t consumed = 0;
    const auto outcome = parser.Feed(input.substr(begin, end - begin), consumed);
    begin += consumed;
    BERTH_CHECK(begin <= end);
    BERTH_CHECK(parser.body().size() <= kLimits.body_bytes_max, parser.body().size());
    if (outcome == HttpParser::Outcome::kComplete) {
      BERTH_CHECK(parser.is_head_done() && parser.is_complete());
      if (kind == HttpParser::Kind::kRequest) {
        BERTH_CHECK(IsToken(parser.request().method));
        static_cast<void>(ParseTarget(parser.request().target).ok());
      }
      parser.Start(kLimits);
    } else if (outcome != HttpParser::Outcome::kNeedMore) {
      BERTH_CHECK(outcome != HttpParser::Outcome::kNotHttp || !parser.problem().empty());
      return;
    }
    if (is_last && outcome == HttpParser::Outcome::kNeedMore) break;
  }
  static_cast<void>(parser.FeedEof());
}

}  // namespace
}  // namespace berth::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::net;  // NOLINT(google-build-using-namespace)
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::max<std::size_t>(1, size)}) {
    FuzzParser(HttpParser::Kind::kRequest, input, piece);
    FuzzParser(HttpParser::Kind::kResponse, input, piece);
  }
  if (const auto target = ParseTarget(input); target.ok()) {
    BERTH_CHECK(target->path.front() == '/');
    BERTH_CHECK(target->query.size() <= kQueryParametersMax);
  }
  if (const auto url = ParseUrl(input); url.ok()) {
    BERTH_CHECK(!url->host.empty() && url->port != 0);
    BERTH_CHECK(url->path.empty() || url->path.front() == '/');
  }
  if (const auto address = SplitHostPort(input); address.ok()) {
    const auto again = SplitHostPort(JoinHostPort(address->first, address->second));
    BERTH_CHECK(again.ok() && *again == *address);
  }
  const auto decoded = PercentDecode(PercentEncode(input), false);
  BERTH_CHECK(decoded.ok() && *decoded == input);
  return 0;
}
