// SPDX-License-Identifier: Apache-2.0
// RecordedQuestion: `berth replay --ask`, a question of berth serve about the cluster that a recording has come to. It
// is read before the recording is, watches it being replayed, and is answered then. One thread's.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "berth/app/questions/question_flags.h"
#include "berth/ask/reply.h"
#include "berth/base/expected.h"
#include "berth/codec/json.h"
#include "berth/core/config/known_plugins.h"
#include "berth/replay/recorded_objects.h"
#include "berth/replay/replayer.h"
#include "berth/shell/cli/command.h"

namespace berth::app {

struct RecordedQuestionOptions {
  std::string name;  // as in the API's path; empty: none
  std::string body;  // file with what is asked, in JSON; empty: {}
  QuestionOutput output = QuestionOutput::kTable;
};

// The flags --ask, --body and -o, after --explain and --decisions. Parsing fills `options`, which must outlive it.
void AddRecordedQuestion(cli::Command& command, RecordedQuestionOptions& options);

class RecordedQuestion {
 public:
  // `config`: file of a configuration to decide by, in place of the recorded one and of the body's; empty: none.
  static Expected<std::unique_ptr<RecordedQuestion>> Read(const RecordedQuestionOptions& options,
                                                          const std::string& config, config::KnownPlugins plugins);

  // Takes in what the replayed core is told. The question must outlive it.
  replay::Replayer::Watcher Watcher();
  // Where the replayer has come to; `source` names the recording.
  Expected<ask::Reply> Answer(const replay::Replayer& replayer, const std::string& source) const;

 private:
  RecordedQuestion(std::string name, config::KnownPlugins plugins) : name_(std::move(name)), plugins_(plugins) {}

  const std::string name_;
  const config::KnownPlugins plugins_;
  codec::json::object body_;
  std::string configuration_;  // empty: the recorded one
  replay::RecordedObjects objects_;
};

}  // namespace berth::app
