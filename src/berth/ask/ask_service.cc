// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/ask_service.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "berth/base/text.h"
#include "berth/shell/serving/answers.h"
#include "berth/shell/serving/gzip.h"

namespace berth::ask {
namespace {

using codec::json::array, codec::json::object;

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kText = "text/plain";
constexpr std::size_t kColumnsMax = 10'000;

net::Response FailureOf(const net::Request& request, const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalid: return serving::Failure(request, 422, "Invalid", error.message);
    case ErrorCode::kNotFound: return serving::Failure(request, 404, "NotFound", error.message);
    case ErrorCode::kTooLarge: return serving::Failure(request, 413, "RequestEntityTooLarge", error.message);
    case ErrorCode::kTooManyRequests: return serving::Failure(request, 429, "TooManyRequests", error.message);
    case ErrorCode::kTimeout: return serving::Failure(request, 504, "Timeout", error.message);
    // What the cluster refuses to berth is not what berth refuses to who asks.
    default: return serving::Failure(request, 503, "ServiceUnavailable", error.message);
  }
}

// One line of printable ASCII, which a header may hold between quotes.
std::string WarningOf(std::string_view line) {
  std::string text = "299 - \"";
  for (const char c : line.substr(0, AskService::kWarningBytesMax)) {
    if (c == '"' || c == '\\') text += '\\';
    text += c >= ' ' && c <= '~' ? c : '?';
  }
  return text + '"';
}

bool IsTrue(std::string_view text) { return text == "true"; }

// How the table is to look: the query's wide, color and columns.
Expected<TextStyle> StyleOf(const net::Target& target) {
  TextStyle style;
  style.is_wide = IsTrue(target.Query("wide"));
  style.has_color = IsTrue(target.Query("color"));
  const std::string_view columns = target.Query("columns");
  if (columns.empty()) return style;
  const auto [end, failure] = std::from_chars(columns.data(), columns.data() + columns.size(), style.columns);
  const bool is_number = failure == std::errc() && end == columns.data() + columns.size();
  if (!is_number || style.columns > kColumnsMax || (style.columns > 0 && style.columns < 20))
    return InvalidError("columns should be 0 or a number from 20 to " + std::to_string(kColumnsMax));
  return style;
}

bool WantsText(const net::Request& request) { return request.Get("Accept").starts_with(kText); }

net::Response AnswerOf(const net::Request& request, const Reply& reply, const TextStyle& style) {
  net::Response response = WantsText(request) ? serving::Text(reply.text(style))
                                              : serving::Text(codec::WriteJson(reply.document) + "\n", kJson);
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  response.headers.push_back({std::string(AskService::kVerdictHeader), std::string(ToString(reply.verdict))});
  for (std::size_t i = 0; i < std::min(reply.warnings.size(), AskService::kWarningsMax); ++i)
    response.headers.push_back({"Warning", WarningOf(reply.warnings[i])});
  return serving::Compressed(request, std::move(response));
}

}  // namespace

void AskService::Handle(const serving::User& user, net::Request request, const net::Target& target,
                        const std::string& path, const std::shared_ptr<net::ResponseWriter>& writer) {
  const bool is_read = request.method == "GET" || request.method == "HEAD";
  if (is_read && (path == "/ask" || path == "/ask/v1" || path == kApi)) return writer->Send(Index());
  Desk::Question question;
  question.kind = path.starts_with(kApi) ? FindQuestion(std::string_view(path).substr(kApi.size())) : nullptr;
  if (question.kind == nullptr)
    return writer->Send(serving::Failure(request, 404, "NotFound", "no such question; GET /ask/v1 names them"));
  if (request.method != "POST") {
    net::Response refused = serving::Failure(request, 405, "MethodNotAllowed", path + " is for POST");
    refused.headers.push_back({"Allow", "POST"});
    return writer->Send(std::move(refused));
  }
  const auto style = StyleOf(target);
  if (!style.ok()) return writer->Send(FailureOf(request, style.error()));
  if (const auto problem = options_.problem ? options_.problem() : std::nullopt)
    return writer->Send(serving::Failure(request, 503, "ServiceUnavailable", *problem));
  question.client = user.name;
  question.traceparent = request.Get("traceparent");
  question.body = std::exchange(request.body, {});
  const auto asked = std::make_shared<const net::Request>(std::move(request));
  const auto ticket = desk_.Ask(std::move(question), [asked, writer, style = *style](const Expected<Reply>& reply) {
    writer->Send(reply.ok() ? AnswerOf(*asked, *reply, style) : FailureOf(*asked, reply.error()));
  });
  if (!ticket.ok()) return writer->Send(FailureOf(*asked, ticket.error()));
  writer->OnClosed([ticket = *ticket] { ticket->Cancel(); });
}

net::Response AskService::Index() const {
  array names;
  for (const QuestionKind& kind : Questions()) names.emplace_back(kind.name);
  const auto problem = options_.problem ? options_.problem() : std::nullopt;
  object json{{"berth", options_.version}, {"questions", std::move(names)}, {"ready", !problem}};
  if (problem) json["problem"] = *problem;
  return serving::Text(codec::WriteJson(json) + "\n", kJson);
}

}  // namespace berth::ask
