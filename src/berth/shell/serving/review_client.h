// SPDX-License-Identifier: Apache-2.0
// ReviewClient: posts reviews (TokenReview, SubjectAccessReview) to an API server, with the retries of upstream's
// webhook clients (k8s.io/apiserver, pkg/util/webhook). On its loop's thread only.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "berth/codec/json.h"
#include "berth/shell/client/rest_client.h"

namespace berth::serving {

class ReviewClient {
 public:
  using Done = std::function<void(Expected<codec::json::value> status)>;

  // Reviews without an answer yet, including those that wait for another try. Beyond that Ask() fails at once with
  // kTooManyRequests.
  static constexpr int kUnderWayMax = 128;
  static constexpr int kTriesMax = 5;
  static constexpr Duration kFirstWait = std::chrono::milliseconds(500);  // each wait is 1.5 times the last one

  // At most one failed review is logged in this time, because anybody who reaches the port may cause failures.
  static constexpr Duration kLogEvery = std::chrono::minutes(1);

  struct Limits {
    Duration each = std::chrono::seconds(10);  // bound on one try
    Duration all{0};                           // bound on all tries together; 0: none
  };

  // `rest` must outlive it.
  ReviewClient(client::RestClient& rest, std::string path, Limits limits);
  ~ReviewClient();
  ReviewClient(const ReviewClient&) = delete;
  ReviewClient& operator=(const ReviewClient&) = delete;

  // Posts `body`, which is JSON, and gives the `status` of the response to `done`. `done` is not called after this
  // client has been destroyed.
  void Ask(std::string body, Done done);

 private:
  struct Question;
  void Try(const std::shared_ptr<Question>& question);
  void OnAnswer(const std::shared_ptr<Question>& question, Expected<net::Response> answer);
  void LogFailure(const Error& error);
  void Finish(const std::shared_ptr<Question>& question, Expected<codec::json::value> result);

  client::RestClient& rest_;
  const std::string path_;
  const Limits limits_;
  int under_way_ = 0;
  std::optional<Time> logged_at_;
  const std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::serving
