// SPDX-License-Identifier: Apache-2.0
// ReviewClient: asks an API server for its opinion (TokenReview, SubjectAccessReview), with the retries of upstream's
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

  // Questions without an answer yet, those that wait for another try included; beyond: kTooManyRequests at once.
  static constexpr int kUnderWayMax = 128;
  static constexpr int kTriesMax = 5;
  static constexpr Duration kFirstWait = std::chrono::milliseconds(500);  // each wait is 1.5 times the last one

  // Of questions that fail one is told in so long: anybody on the port may cause them.
  static constexpr Duration kTellEvery = std::chrono::minutes(1);

  struct Limits {
    Duration each = std::chrono::seconds(10);  // try
    Duration all{0};                           // tries together; 0: no bound of their own
  };

  // `rest` must outlive it.
  ReviewClient(client::RestClient& rest, std::string path, Limits limits);
  ~ReviewClient();
  ReviewClient(const ReviewClient&) = delete;
  ReviewClient& operator=(const ReviewClient&) = delete;

  // Posts `body`, JSON, and hands over the answer's `status`. `done` is not called after the client has gone.
  void Ask(std::string body, Done done);

 private:
  struct Question;
  void Try(const std::shared_ptr<Question>& question);
  void OnAnswer(const std::shared_ptr<Question>& question, Expected<net::Response> answer);
  void Tell(const Error& error);
  void Finish(const std::shared_ptr<Question>& question, Expected<codec::json::value> result);

  client::RestClient& rest_;
  const std::string path_;
  const Limits limits_;
  int under_way_ = 0;
  std::optional<Time> told_at_;
  const std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::serving
