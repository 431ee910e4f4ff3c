// SPDX-License-Identifier: Apache-2.0
// `berth rebalance plan` as a question; see questions.h.
#pragma once

#include <string>

#include "berth/ask/ask_limits.h"
#include "berth/ask/asked_cluster.h"
#include "berth/ask/reply.h"
#include "berth/base/expected.h"
#include "berth/codec/json.h"

namespace berth::ask {

// `berth rebalance plan`, by a policy that needs no measurements.
struct RebalanceQuestion {
  std::string policy;             // the text of a DeschedulerPolicy
  bool within_scheduler = false;  // as berth run --rebalance plans

  static Expected<RebalanceQuestion> Parse(const codec::json::object& body);
  codec::json::object ToJson() const;
};
Expected<Reply> Answer(const RebalanceQuestion& question, AskedCluster& cluster, const IsInterrupted& is_interrupted);

}  // namespace berth::ask
