// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/serving/review_client.h"

#include <algorithm>
#include <utility>

#include "berth/base/log.h"

namespace berth::serving {

struct ReviewClient::Question {
  std::string body;
  Done done;
  int tries = 0;
  Duration wait = kFirstWait;
  Time deadline = Time::max();
};

ReviewClient::ReviewClient(client::RestClient& rest, std::string path, Limits limits)
    : rest_(rest), path_(std::move(path)), limits_(limits) {}

ReviewClient::~ReviewClient() { *is_alive_ = false; }

void ReviewClient::Ask(std::string body, Done done) {
  if (under_way_ >= kUnderWayMax) {
    done(Error{ErrorCode::kTooManyRequests, "too many questions to the API server are under way"});
    return;
  }
  ++under_way_;
  auto question = std::make_shared<Question>();
  question->body = std::move(body);
  question->done = std::move(done);
  if (limits_.all > Duration{0}) question->deadline = rest_.loop().Now() + limits_.all;
  Try(question);
}

void ReviewClient::Try(const std::shared_ptr<Question>& question) {
  ++question->tries;
  client::RestOptions options;
  options.timeout = limits_.each;
  if (question->deadline != Time::max())
    options.timeout = std::min(options.timeout, question->deadline - rest_.loop().Now());
  options.tries = 1;
  options.any_status = true;
  options.body_bytes_max = std::size_t{1} << 20;
  rest_.Do({"POST", path_, {}, question->body}, options,
           [this, is_alive = is_alive_, question](Expected<net::Response> answer) {
             if (*is_alive) OnAnswer(question, std::move(answer));
           });
}

void ReviewClient::OnAnswer(const std::shared_ptr<Question>& question, Expected<net::Response> answer) {
  bool may_try_again = false;
  Expected<codec::json::value> result = Error{};
  if (!answer.ok()) {
    result = answer.error();
    // A connection that broke is worth another try. That no server listens is reported at once.
    may_try_again = answer.error().code == ErrorCode::kUnavailable && answer.error().outcome_unknown;
  } else if (answer->status >= 200 && answer->status < 300) {
    result = codec::ParseJson(answer->body);
    if (result.ok()) {
      const codec::json::object* object = result->if_object();
      const codec::json::value* status = object != nullptr ? object->if_contains("status") : nullptr;
      if (status != nullptr && status->is_object()) {
        codec::json::value only = *status;
        result = std::move(only);
      } else {
        result = Error{ErrorCode::kInternal, "POST " + path_ + ": the answer has no status"};
      }
    }
  } else {
    result = client::ErrorFromResponse({"POST", path_, {}, {}}, *answer);
    const int status = answer->status;
    may_try_again = status == 500 || status == 504 || status == 429 || !answer->Get("Retry-After").empty();
  }
  const Time again_at = rest_.loop().Now() + question->wait;
  if (!may_try_again || question->tries >= kTriesMax || again_at >= question->deadline) {
    Finish(question, std::move(result));
    return;
  }
  const Duration wait = std::exchange(question->wait, question->wait + question->wait / 2);
  rest_.loop().PostAfter(wait, [this, is_alive = is_alive_, question] {
    if (*is_alive) Try(question);
  });
}

void ReviewClient::LogFailure(const Error& error) {
  const Time now = rest_.loop().Now();
  if (logged_at_ && now - *logged_at_ < kLogEvery) return;
  logged_at_ = now;
  log::Warning("serving", "Requests to the secure port are refused: the API server does not say who asks, or may",
               {{"path", path_}, {"err", error.message}});
}

void ReviewClient::Finish(const std::shared_ptr<Question>& question, Expected<codec::json::value> result) {
  --under_way_;
  if (!result.ok()) LogFailure(result.error());
  std::exchange(question->done, nullptr)(std::move(result));
}

}  // namespace berth::serving
