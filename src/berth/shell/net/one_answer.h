// SPDX-License-Identifier: Apache-2.0
// OneAnswer: collects a whole answer, for calling a handler without a network. Not thread-safe.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "berth/shell/net/http_server.h"

namespace berth::net {

class OneAnswer final : public ResponseWriter {
 public:
  void Send(Response response) override { answer = std::move(response); }
  void StartStream(Response response) override { answer = std::move(response); }
  bool Write(std::string_view bytes) override {
    answer.body += bytes;
    return true;
  }
  void End() override {}
  void OnClosed(std::function<void()>) override {}

  Response answer;
};

}  // namespace berth::net
