// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/recording/recording_reader.h"

#include <utility>

namespace berth::recording {

RecordingReader::RecordingReader(std::unique_ptr<BlockReader> file, RecordingHeader header)
    : file_(std::move(file)), header_(std::move(header)), now_(header_.origin) {}

Expected<std::unique_ptr<RecordingReader>> RecordingReader::Open(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(auto file, BlockReader::Open(path));
  BERTH_ASSIGN_OR_RETURN(const std::string_view first, file->Next());
  auto header = ReadHeader(first);
  if (!header.ok()) return InvalidError(path + ": " + header.error().message);
  if (header->layout != Layout()) {
    return InvalidError(path + ": was written by another berth (" + header->version + ", build " +
                        header->build.substr(0, 12) +
                        "), which keeps other things of its inputs: replay it with that program");
  }
  return std::unique_ptr<RecordingReader>(new RecordingReader(std::move(file), std::move(*header)));
}

Expected<bool> RecordingReader::Next(Record& record) {
  if (!damage_.empty()) return false;
  while (in_.is_at_end()) {
    BERTH_ASSIGN_OR_RETURN(const std::string_view block, file_->Next());
    if (block.empty()) return false;
    in_.Begin(block);
  }
  record = {};
  record.op = static_cast<Op>(in_.Byte());
  switch (record.op) {
    case Op::kTurn:
      now_ += Duration(in_.Signed());
      wall_ahead_ += Duration(in_.Signed());
      break;
    case Op::kSchedule: record.scheduled = static_cast<Scheduled>(in_.Byte()); break;
    case Op::kDecision: record.digest = in_.Fixed32(); break;
    case Op::kOutputs:
      record.outputs = in_.Number();
      if (record.outputs > 0) record.digest = in_.Fixed32();
      break;
    case Op::kCancel:
    case Op::kInput:
    case Op::kTick: break;
    default: in_.Fail();
  }
  record.now = now_;
  record.wall_ahead = wall_ahead_;
  return IsGood();
}

bool RecordingReader::TakeInput(const ParseOutside& parse, scheduler::Input& input) {
  input = inputs_.Get(in_, parse);
  return IsGood();
}

bool RecordingReader::IsGood() {
  if (!in_.is_good() && damage_.empty()) damage_ = "its last turn is cut off";
  return in_.is_good();
}

}  // namespace berth::recording
