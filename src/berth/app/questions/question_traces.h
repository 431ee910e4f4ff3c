// SPDX-License-Identifier: Apache-2.0
// QuestionTraces: a trace for each sampled question of `berth serve`, or a part of its client's (docs/traces.md).
// Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>

#include "berth/ask/desk.h"
#include "berth/base/random.h"
#include "berth/shell/tracing/tracer.h"

namespace berth::app {

class QuestionTraces {
 public:
  // Of a million questions whose client says nothing of a trace, `per_million` are traced; a client's own trace is gone
  // on with where it is sampled. `seed` starts the ids. `tracer` must outlive it.
  QuestionTraces(tracing::Tracer& tracer, std::uint32_t per_million, std::uint64_t seed);

  void Note(const ask::AnsweredQuestion& question);

 private:
  tracing::Tracer& tracer_;
  const std::uint32_t per_million_;
  std::mutex mutex_;
  Random ids_;  // guarded by mutex_
};

}  // namespace berth::app
