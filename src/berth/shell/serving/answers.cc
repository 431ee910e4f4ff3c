// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/serving/answers.h"

#include <utility>
#include <vector>

#include "berth/base/go_text.h"
#include "berth/base/text.h"
#include "berth/shell/net/pretty.h"
#include "berth/shell/net/url.h"

namespace berth::serving {
namespace {

// Escapes what a browser would take for HTML.
std::string Sanitized(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

// Whether a media type accepts JSON. The other types that upstream has (YAML, protobuf) count as unknown.
bool AcceptsJson(std::string_view accept) {
  if (Trim(accept, " \t").empty()) return true;
  for (const std::string_view clause : Split(accept, ',')) {
    if (clause.find("as=") != std::string::npos) continue;  // asks for another kind than a Status
    const std::string_view type = Trim(clause.substr(0, clause.find(';')), " \t");
    if (type == "*/*" || type == "application/*" || type == "application/json") return true;
  }
  return false;
}

struct StatusParts {
  int code = 0;
  std::string reason;
  std::string message;
  bool has_details = false;
};

std::string StatusJson(const StatusParts& parts, bool is_pretty) {
  const std::pair<std::string_view, std::string> members[] = {
      {"kind", "\"Status\""},
      {"apiVersion", "\"v1\""},
      {"metadata", "{}"},
      {"status", "\"Failure\""},
      {"message", GoJson(parts.message)},
      {"reason", GoJson(parts.reason)},
      {"details", parts.has_details ? "{}" : ""},
      {"code", std::to_string(parts.code)},
  };
  std::string json = "{";
  for (const auto& [key, value] : members) {
    if (value.empty()) continue;
    if (json.size() > 1) json += ',';
    if (is_pretty) json += "\n  ";
    json.append("\"").append(key).append(is_pretty ? "\": " : "\":").append(value);
  }
  return json + (is_pretty ? "\n}" : "}\n");
}

net::Response StatusAnswer(const net::Request& request, const StatusParts& parts) {
  const auto target = net::ParseTarget(request.target);
  const bool is_pretty =
      net::WantsPretty(request, target.ok() ? *target : net::Target()) || !AcceptsJson(request.Get("Accept"));
  return {parts.code, {{"Content-Type", "application/json"}}, StatusJson(parts, is_pretty)};
}

}  // namespace

net::Response PlainError(int status, std::string_view text) {
  return {status,
          {{"Content-Type", "text/plain; charset=utf-8"}, {"X-Content-Type-Options", "nosniff"}},
          std::string(text) + "\n"};
}

net::Response Text(std::string body, std::string_view content_type) {
  return {200, {{"Content-Type", std::string(content_type)}}, std::move(body)};
}

net::Response NotFound() { return PlainError(404, "404 page not found"); }

net::Response Unauthorized(const net::Request& request) {
  return StatusAnswer(request, {401, "Unauthorized", "Unauthorized"});
}

net::Response Forbidden(const net::Request& request, const User& user, std::string_view verb, std::string_view path,
                        std::string_view reason) {
  StatusParts parts{403, "Forbidden", {}, true};
  parts.message = "forbidden: " +
                  Sanitized("User " + GoQuoted(user.name) + " cannot " + std::string(verb) + " path " + GoQuoted(path));
  if (!reason.empty()) parts.message.append(": ").append(reason);
  net::Response response = StatusAnswer(request, parts);
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  return response;
}

net::Response NotAcceptable(const net::Request& request) {
  return StatusAnswer(request, {406, "NotAcceptable",
                                "only the following media types are accepted: application/json, application/yaml, "
                                "text/plain"});
}

net::Response TooManyRequests(const net::Request& request) {
  return Failure(request, 429, "TooManyRequests", "too many requests are being authenticated, please try again later");
}

net::Response Failure(const net::Request& request, int status, std::string_view reason, std::string_view message) {
  net::Response response = StatusAnswer(request, {status, std::string(reason), std::string(message)});
  if (status == 429 || status == 503) response.headers.push_back({"Retry-After", "1"});
  return response;
}

net::Response InternalFailure(const net::Request& request, std::string_view message) {
  return PlainError(500, Sanitized("Internal Server Error: " + GoQuoted(request.target) + ": " + std::string(message)));
}

}  // namespace berth::serving
