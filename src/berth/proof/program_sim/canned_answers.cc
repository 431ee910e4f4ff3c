// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/program_sim/canned_answers.h"

#include <iterator>
#include <string>
#include <utility>

#include "berth/codec/json.h"

namespace berth::program_sim {
namespace {

constexpr Duration kWebhookTimeout = std::chrono::seconds(10);  // the default of Kubernetes

// A webhook's refusal, with a status code of the webhook's choice.
net::Response Denial(Random& random) {
  constexpr std::pair<int, const char*> kAnswers[] = {{400, "BadRequest"},      {403, "Forbidden"},
                                                      {404, "NotFound"},        {409, "Conflict"},
                                                      {429, "TooManyRequests"}, {503, "ServiceUnavailable"}};
  const auto& [code, reason] = kAnswers[random.Below(std::size(kAnswers))];
  return StatusAnswer(code, reason, "admission webhook \"guard.example\" denied the request: no");
}

}  // namespace

net::Response StatusAnswer(int code, std::string_view reason, std::string_view message, int retry_after) {
  net::Response response;
  response.status = code;
  response.headers.push_back({"Content-Type", "application/json"});
  if (retry_after > 0) response.headers.push_back({"Retry-After", std::to_string(retry_after)});
  codec::json::object status{{"kind", "Status"},
                             {"apiVersion", "v1"},
                             {"status", "Failure"},
                             {"code", code},
                             {"reason", codec::json::string_view(reason.data(), reason.size())},
                             {"message", codec::json::string_view(message.data(), message.size())}};
  response.body = codec::WriteJson(status);
  return response;
}

net::Response ServerError(Random& random) {
  switch (random.Below(4)) {
    case 0: return StatusAnswer(500, "InternalError", "etcdserver: leader changed");
    case 1: return {502, {{"Content-Type", "text/html"}}, "<html>bad gateway</html>"};
    case 2: return StatusAnswer(503, "ServiceUnavailable", "the server is currently unable to handle the request");
    default: return StatusAnswer(504, "Timeout", "the request did not complete within the allotted time");
  }
}

net::Response Hang(Random& random, Duration* held) {
  if (held != nullptr) *held = random.Below(4) == 0 ? 3 * kWebhookTimeout : kWebhookTimeout;
  return StatusAnswer(500, "InternalError",
                      "Internal error occurred: failed calling webhook \"guard.example\": context deadline exceeded");
}

net::Response WebhookAnswer(int mode, Random& random, Duration* held) {
  switch (mode) {
    case 0: return Denial(random);
    case 1:
      return StatusAnswer(500, "InternalError",
                          "Internal error occurred: failed calling webhook \"guard.example\": connection refused");
    default: return Hang(random, held);
  }
}

}  // namespace berth::program_sim
