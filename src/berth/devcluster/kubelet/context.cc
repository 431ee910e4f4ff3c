// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/kubelet/context.h"

#include "berth/base/log.h"

namespace berth::kubelet {
namespace {

// Failures are logged so often at most; the rest is counted.
constexpr Duration kLogInterval = std::chrono::seconds(5);

}  // namespace

void Context::Send(std::string method, std::string path, std::string body, std::string content_type, Answer answer) {
  net::Request request;
  request.method = std::move(method);
  request.target = std::move(path);
  request.body = std::move(body);
  if (!content_type.empty()) request.headers.push_back({"Content-Type", std::move(content_type)});
  rest.Do(std::move(request), {.tries = 1}, WhenAlive(std::move(answer)));
}

std::shared_ptr<client::WorkQueue> Context::MakeQueue(std::uint64_t number, client::WorkQueue::Handler handler) {
  return std::make_shared<client::WorkQueue>(
      loop, client::WorkQueueOptions{.in_flight_max = options.in_flight_max, .seed = options.seed + number},
      WhenAlive(std::move(handler)));
}

void Context::CountFailure(const std::string& doing, const Error& error) {
  ++failures;
  if (failure_logged_at_ && loop.Now() - *failure_logged_at_ < kLogInterval) return;
  failure_logged_at_ = loop.Now();
  log::Warning("kubelet", "Will try again", {{"while", doing}, {"err", error.message}, {"failures", failures.load()}});
}

}  // namespace berth::kubelet
