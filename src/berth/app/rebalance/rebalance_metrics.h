// SPDX-License-Identifier: Apache-2.0
// RebalanceMetrics: asks metrics-server through the API server, and the Prometheus that a policy names. Blocks, and so
// is not for the loop's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/app/rebalance/answer_wait.h"
#include "berth/base/expected.h"
#include "berth/rebalance/measurements.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/net/io_context.h"
#include "berth/shell/net/transport.h"

namespace berth::app {

class RebalanceMetrics final : public rebalance::MetricsClient {
 public:
  // Of each request, from the beginning to the last byte.
  static constexpr Duration kTimeout = std::chrono::seconds(10);

  // `rest` asks the API server; `io` is for connections to Prometheus; `answers` waits. All must outlive it. The
  // provider's URL has been checked by the policy's reader.
  RebalanceMetrics(client::RestClient& rest, net::IoContext& io, AnswerWait& answers,
                   std::optional<rebalance::PrometheusProvider> provider)
      : rest_(rest), io_(io), answers_(answers), provider_(std::move(provider)) {}

  Expected<std::string> ListMetrics(std::string_view resource) override;
  Expected<std::string> Query(const std::string& query) override;

 private:
  Expected<void> Connect();
  Expected<std::string> Token();

  client::RestClient& rest_;
  net::IoContext& io_;
  AnswerWait& answers_;
  const std::optional<rebalance::PrometheusProvider> provider_;
  std::unique_ptr<net::Transport> prometheus_;  // null: not connected yet
};

}  // namespace berth::app
