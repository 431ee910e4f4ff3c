// SPDX-License-Identifier: Apache-2.0
// What a recording consists of, as bytes: the calls of the core in their order, each with what it was given, and
// digests of what came of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/core/scheduler/decision_log.h"
#include "berth/core/scheduler/io.h"
#include "berth/shell/recording/answers.h"
#include "berth/shell/recording/bytes.h"
#include "berth/shell/recording/object_bases.h"
#include "berth/shell/recording/values.h"

namespace berth::recording {

// Each is a byte, followed by:
enum class Op : std::uint8_t {
  kTurn = 1,  // how far time has gone on since the last turn, and how far the time of day is ahead of it
  kCancel,    // nothing: CancelExtenderCycle(kCancelReason)
  kInput,     // the input
  kTick,      // nothing
  kSchedule,  // a Scheduled
  kDecision,  // of the cycle that ended: DigestOf(Decision)
  kOutputs,   // of the turn that ended: how many outputs, and of some their DigestOf()
};
// What ScheduleOne() came to. After kDecided comes Op::kDecision; after kWaits it comes behind an input. kFailed: it
// did not return, since a check failed.
enum class Scheduled : std::uint8_t { kNothing, kWaits, kDecided, kFailed };

inline constexpr std::string_view kCancelReason = "the scheduler ends";

// Writes inputs, each after those before it: pods and nodes as deltas to these (object_bases.h). One thread.
class InputWriter {
 public:
  explicit InputWriter(AnnotationFilters annotations);

  // Of OutsideDone the text that the data were parsed from is written (outside_bodies.h), and not kept afterwards.
  void Put(ByteWriter& out, const scheduler::Input& input);

 private:
  const AnnotationFilters annotations_;
  const AnswerFilter answers_;
  ObjectBases bases_;
};

// As the source's own `parse`, which must not throw.
using ParseOutside =
    std::function<Expected<std::shared_ptr<const framework::OutsideData>>(std::size_t source, const std::string& body)>;

// Reads all that an InputWriter has written, in the same order. One thread.
class InputReader {
 public:
  // Empties `in` of one input. Look at in.is_good() before the input is used.
  scheduler::Input Get(ByteReader& in, const ParseOutside& parse);

 private:
  template <std::size_t kIndex = 0>
  scheduler::Input GetAlternative(std::size_t index, ByteReader& in, const ParseOutside& parse);

  ObjectBases bases_;
};

// Tells decisions apart that differ in anything but in what has to do with the memory they are kept in.
std::uint32_t DigestOf(const scheduler::Decision& decision);
std::uint32_t DigestOf(const std::vector<scheduler::Output>& outputs);

// LayoutOf all of the above, as a short text.
std::string Layout();

}  // namespace berth::recording
