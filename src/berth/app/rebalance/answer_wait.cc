// SPDX-License-Identifier: Apache-2.0
#include "berth/app/rebalance/answer_wait.h"

#include <memory>

namespace berth::app {

Expected<net::Response> AnswerWait::Do(client::RestClient& rest, net::Request request,
                                       const client::RestOptions& options) {
  const auto promise = std::make_shared<std::promise<Expected<net::Response>>>();
  auto answer = promise->get_future();
  rest.Do(std::move(request), options,
          [promise](Expected<net::Response> response) { promise->set_value(std::move(response)); });
  if (!Await(answer)) return BrokenOff();
  return answer.get();
}

}  // namespace berth::app
