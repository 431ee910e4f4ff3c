// SPDX-License-Identifier: Apache-2.0
// The content of a recording as bytes: the calls of the core in their order, each with its arguments, and digests of
// their results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/prune_json.h"
#include "berth/base/expected.h"
#include "berth/core/scheduler/decision_log.h"
#include "berth/core/scheduler/io.h"
#include "berth/shell/recording/bytes.h"
#include "berth/shell/recording/object_bases.h"
#include "berth/shell/recording/values.h"

namespace berth::recording {

// The calls. Each is written as one byte, followed by what its comment says.
enum class Op : std::uint8_t {
  kTurn = 1,  // the time since the last turn, and how far the time of day is ahead
  kCancel,    // nothing: CancelExtenderCycle(kCancelReason)
  kInput,     // the input
  kTick,      // nothing
  kSchedule,  // a Scheduled
  kDecision,  // DigestOf(Decision) of the cycle that ended
  kOutputs,   // the number of outputs of the turn that ended and, unless it is 0, their DigestOf()
};
// The result of ScheduleOne(). After kDecided comes Op::kDecision; after kWaits that comes after a later input.
// kFailed: it did not return, since a check failed.
enum class Scheduled : std::uint8_t { kNothing, kWaits, kDecided, kFailed };

inline constexpr std::string_view kCancelReason = "the scheduler ends";

// What is recorded of the API server's answers to writes, which hold whole objects. Berth's own plugins read claims and
// volumes from them, as far as these are decoded; nobody reads answers about other objects. Immutable; one thread at a
// time.
class AnswerFilter {
 public:
  // With a filter that keeps all annotations, for plugins that nobody knows, answers are kept whole, too.
  explicit AnswerFilter(const AnnotationFilter& annotations);

  // `body` is JSON, or what the server sent in its place, which is kept.
  std::string Of(const std::string& body) const;

 private:
  const bool keeps_all_;
  std::map<std::string, api::JsonPruner, std::less<>> pruners_;  // by kind
};

// Writes inputs in their order, with pods and nodes as deltas to earlier ones (object_bases.h). One thread.
class InputWriter {
 public:
  explicit InputWriter(AnnotationFilters annotations);

  // For OutsideDone it takes the text that the data were parsed from (outside_bodies.h), which is then not kept any
  // longer.
  void Put(ByteWriter& out, const scheduler::Input& input);

 private:
  const AnnotationFilters annotations_;
  const AnswerFilter answers_;
  ObjectBases bases_;
};

// Does what the source's `parse` does. It must not throw.
using ParseOutside =
    std::function<Expected<std::shared_ptr<const framework::OutsideData>>(std::size_t source, const std::string& body)>;

// Reads what an InputWriter has written, in the same order. One thread.
class InputReader {
 public:
  // Reads one input. Check in.is_good() before using it.
  scheduler::Input Get(ByteReader& in, const ParseOutside& parse);

 private:
  template <std::size_t kIndex = 0>
  scheduler::Input GetAlternative(std::size_t index, ByteReader& in, const ParseOutside& parse);

  ObjectBases bases_;
};

// Two decisions with different content have different digests. How they are kept in memory does not count.
std::uint32_t DigestOf(const scheduler::Decision& decision);
std::uint32_t DigestOf(const std::vector<scheduler::Output>& outputs);

// A short text that is different if any of the types above is written differently.
std::string Layout();

}  // namespace berth::recording
