// SPDX-License-Identifier: Apache-2.0
// RecordingReader: reads the calls of the core from a recording, one after the other. One thread; bounded memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/core/scheduler/io.h"
#include "berth/shell/recording/block_file.h"
#include "berth/shell/recording/header.h"
#include "berth/shell/recording/records.h"

namespace berth::recording {

// The data that follow an Op.
struct Record {
  Op op = Op::kTurn;
  Time now{};              // of kTurn
  Duration wall_ahead{0};  // of kTurn
  Scheduled scheduled = Scheduled::kNothing;
  std::uint64_t outputs = 0;  // of kOutputs
  std::uint32_t digest = 0;   // of kDecision, and of kOutputs with outputs
};

class RecordingReader {
 public:
  // Fails with one line that names the file, when it is none, or one that this program cannot read.
  static Expected<std::unique_ptr<RecordingReader>> Open(const std::string& path);

  const RecordingHeader& header() const { return header_; }
  // Reads the next call. False at the end, or where the recording is cut off. After kInput, call TakeInput() before the
  // next call.
  Expected<bool> Next(Record& record);
  // False where the recording is cut off.
  bool TakeInput(const ParseOutside& parse, scheduler::Input& input);

  // After the end: half a sentence about the part that was dropped; empty: nothing was.
  const std::string& damage() const { return damage_.empty() ? file_->damage() : damage_; }

 private:
  RecordingReader(std::unique_ptr<BlockReader> file, RecordingHeader header);
  bool IsGood();

  const std::unique_ptr<BlockReader> file_;
  const RecordingHeader header_;
  ByteReader in_;
  InputReader inputs_;
  Time now_;
  Duration wall_ahead_{0};
  std::string damage_;
};

}  // namespace berth::recording
