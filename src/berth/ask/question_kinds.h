// SPDX-License-Identifier: Apache-2.0
// All questions by name, as the API has them.
#pragma once

#include <span>
#include <string_view>

#include "berth/ask/ask_limits.h"
#include "berth/ask/asked_cluster.h"
#include "berth/ask/reply.h"
#include "berth/base/expected.h"
#include "berth/codec/json.h"

namespace berth::ask {

struct QuestionKind {
  std::string_view name;  // "can-drain", as in the path
  // From the body to the answer.
  Expected<Reply> (*answer)(const codec::json::object& body, const AskLimits& limits, AskedCluster& cluster,
                            const IsInterrupted& is_interrupted);
};
std::span<const QuestionKind> Questions();
// Null: there is none of that name.
const QuestionKind* FindQuestion(std::string_view name);

}  // namespace berth::ask
