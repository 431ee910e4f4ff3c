// SPDX-License-Identifier: Apache-2.0
// This is the only file with Beast in it.
#include "berth/shell/net/http_parser.h"

#include <algorithm>
#include <optional>

#include <boost/beast/http/basic_parser.hpp>

#include "berth/base/text.h"
#include "berth/shell/net/url.h"

namespace berth::net {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using BeastView = boost::beast::string_view;

// A Content-Length may be false: beyond this size memory is allocated only as bytes arrive.
constexpr std::size_t kReservedBodyBytesMax = std::size_t{1} << 20;
constexpr std::size_t kReservedRequestBytesMax = std::size_t{32} << 10;  // for requests, which anybody may send

std::string_view View(BeastView text) { return {text.data(), text.size()}; }

struct Parsed {
  Request request;
  Response response;
  std::string body;
  std::string problem;
  bool is_head_done = false;
  bool is_http_1_0 = false;
  bool has_host = false;
  bool expects_continue = false;
  bool has_unknown_expect = false;
};

template <bool kIsRequest>
class BeastParser final : public http::basic_parser<kIsRequest> {
 public:
  explicit BeastParser(Parsed& parsed) : parsed_(parsed) {}

 private:
  void on_request_impl(http::verb, BeastView method, BeastView target, int version, error_code&) override {
    parsed_.request.method.assign(method.data(), method.size());
    parsed_.request.target.assign(target.data(), target.size());
    parsed_.is_http_1_0 = version == 10;
  }

  void on_response_impl(int code, BeastView, int version, error_code&) override {
    parsed_.response.status = code;
    parsed_.is_http_1_0 = version == 10;
  }

  void on_field_impl(http::field field, BeastView name, BeastView value, error_code& ec) override {
    if (parsed_.is_head_done) return;  // nobody asks for trailers
    switch (field) {
      case http::field::transfer_encoding:
        // With another coding than "chunked" it would be unclear where the body ends.
        if (!EqualsIgnoreCase(View(value), "chunked")) ec = http::error::bad_transfer_encoding;
        break;
      case http::field::host:
        if (kIsRequest && parsed_.has_host) {
          parsed_.problem = "more than one Host header";
          ec = http::error::bad_field;
        }
        parsed_.has_host = true;
        break;
      case http::field::expect:
        (EqualsIgnoreCase(View(value), "100-continue") ? parsed_.expects_continue : parsed_.has_unknown_expect) = true;
        break;
      default: break;
    }
    auto& headers = kIsRequest ? parsed_.request.headers : parsed_.response.headers;
    headers.push_back({std::string(View(name)), std::string(View(value))});
  }

  void on_header_impl(error_code& ec) override {
    parsed_.is_head_done = true;
    if (kIsRequest && !parsed_.has_host && !parsed_.is_http_1_0) {
      parsed_.problem = "missing Host header";
      ec = http::error::bad_field;
    }
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& content_length, error_code&) override {
    if (content_length) {
      constexpr std::uint64_t kMax = kIsRequest ? kReservedRequestBytesMax : kReservedBodyBytesMax;
      parsed_.body.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(*content_length, kMax)));
    }
  }

  std::size_t on_body_impl(BeastView bytes, error_code&) override {
    parsed_.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  void on_chunk_header_impl(std::uint64_t, BeastView, error_code&) override {}

  std::size_t on_chunk_body_impl(std::uint64_t, BeastView bytes, error_code&) override {
    parsed_.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  void on_finish_impl(error_code&) override {}

  Parsed& parsed_;
};

}  // namespace

struct HttpParser::Impl {
  Kind kind;
  Parsed parsed;
  std::size_t header_bytes_max = 0;
  std::optional<BeastParser<true>> request_parser;
  std::optional<BeastParser<false>> response_parser;

  template <typename Parser>
  static void Configure(Parser& parser, const Limits& limits, bool has_no_body) {
    parser.eager(true);
    parser.header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(limits.header_bytes_max, 1U << 30)));
    if (limits.body_bytes_max == kUnlimited) {
      parser.body_limit(boost::none);
    } else {
      parser.body_limit(limits.body_bytes_max);
    }
    parser.skip(has_no_body);
  }

  template <typename Function>
  auto With(Function function) const {
    return kind == Kind::kRequest ? function(*request_parser) : function(*response_parser);
  }

  Outcome Judge(const error_code& ec) {
    if (ec == http::error::header_limit) return Outcome::kHeaderTooLarge;
    if (ec == http::error::body_limit) return Outcome::kBodyTooLarge;
    if (ec == http::error::partial_message) return Outcome::kCutShort;
    if (parsed.problem.empty()) parsed.problem = ec.message();
    return Outcome::kNotHttp;
  }
};

HttpParser::HttpParser(Kind kind) : impl_(std::make_unique<Impl>()) {
  impl_->kind = kind;
  Start({});
}

HttpParser::~HttpParser() = default;

void HttpParser::Start(const Limits& limits, bool has_no_body) {
  impl_->parsed = {};
  impl_->header_bytes_max = limits.header_bytes_max;
  if (impl_->kind == Kind::kRequest) {
    impl_->request_parser.emplace(impl_->parsed);
    Impl::Configure(*impl_->request_parser, limits, has_no_body);
  } else {
    impl_->response_parser.emplace(impl_->parsed);
    Impl::Configure(*impl_->response_parser, limits, has_no_body);
  }
}

HttpParser::Outcome HttpParser::Feed(std::string_view bytes, std::size_t& consumed) {
  consumed = 0;
  const auto put = [&](auto& parser, error_code& ec) {
    while (consumed < bytes.size() && !parser.is_done()) {
      const std::string_view rest = bytes.substr(consumed);
      consumed += parser.put(boost::asio::const_buffer(rest.data(), rest.size()), ec);
      if (ec) return;
    }
  };
  error_code ec;
  if (impl_->kind == Kind::kRequest) {
    put(*impl_->request_parser, ec);
  } else {
    put(*impl_->response_parser, ec);
  }
  if (ec && ec != http::error::need_more) return impl_->Judge(ec);
  if (is_complete()) return Outcome::kComplete;
  // Only an incomplete line stays unconsumed. No honest peer sends one beyond the limit.
  if (bytes.size() - consumed > impl_->header_bytes_max) return Outcome::kHeaderTooLarge;
  return Outcome::kNeedMore;
}

HttpParser::Outcome HttpParser::FeedEof() {
  if (!has_started()) return Outcome::kCutShort;
  if (is_complete()) return Outcome::kComplete;
  error_code ec;
  if (impl_->kind == Kind::kRequest) {
    impl_->request_parser->put_eof(ec);
  } else {
    impl_->response_parser->put_eof(ec);
  }
  return ec ? impl_->Judge(ec) : Outcome::kComplete;
}

bool HttpParser::has_started() const {
  return impl_->With([](const auto& parser) { return parser.got_some(); });
}

bool HttpParser::is_head_done() const { return impl_->parsed.is_head_done; }

bool HttpParser::is_complete() const {
  return impl_->With([](const auto& parser) { return parser.is_done(); });
}

bool HttpParser::keep_alive() const {
  return impl_->With([](const auto& parser) { return parser.is_header_done() && parser.keep_alive(); });
}

bool HttpParser::is_http_1_0() const { return impl_->parsed.is_http_1_0; }
bool HttpParser::expects_continue() const { return impl_->parsed.expects_continue; }
bool HttpParser::has_unknown_expect() const { return impl_->parsed.has_unknown_expect; }
const std::string& HttpParser::problem() const { return impl_->parsed.problem; }
Request& HttpParser::request() { return impl_->parsed.request; }
Response& HttpParser::response() { return impl_->parsed.response; }
std::string& HttpParser::body() { return impl_->parsed.body; }

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 100: return "Continue";
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 407: return "Proxy Authentication Required";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Request Entity Too Large";
    case 414: return "Request URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Entity";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Unknown";
  }
}

bool IsToken(std::string_view text) {
  const auto is_token_char = [](char c) {
    return IsAlphanumeric(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool IsTargetText(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

bool IsHeaderValue(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f; });
}

}  // namespace berth::net
