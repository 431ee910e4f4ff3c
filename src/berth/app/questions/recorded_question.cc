// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/recorded_question.h"

#include <cstddef>
#include <vector>

#include "berth/app/questions/question_cluster.h"
#include "berth/ask/asked_cluster.h"
#include "berth/ask/question_fields.h"
#include "berth/ask/question_kinds.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/shell/client/file.h"
#include "berth/shell/recording/header.h"

namespace berth::app {
namespace {

constexpr std::size_t kBodyBytesMax = std::size_t{32} << 20;

Expected<codec::json::object> ReadBody(const std::string& file) {
  BERTH_ASSIGN_OR_RETURN(const std::string text, client::ReadSmallFile(file, kBodyBytesMax));
  auto parsed = codec::ParseJson(text, {.bytes_max = kBodyBytesMax});
  if (!parsed.ok()) return InvalidError(parsed.error().message);
  BERTH_RETURN_IF_ERROR(ask::ObjectOf(*parsed));
  return std::move(parsed->as_object());
}

}  // namespace

void AddRecordedQuestion(cli::Command& command, RecordedQuestionOptions& options) {
  // A plan goes by details of pods that are in no recording.
  std::vector<std::string> names;
  for (const ask::QuestionKind& kind : ask::Questions()) {
    if (kind.name != "rebalance-plan") names.emplace_back(kind.name);
  }
  cli::Flag& name = command
                        .Option("ask", options.name,
                                "a question about the cluster as it was at --until, by the recorded configuration or "
                                "that of --config")
                        .OneOf(names)
                        .Excludes(command.At("explain"))
                        .Excludes(command.At("decisions"));
  command
      .Option("body", options.body,
              "file with what is asked, in JSON as berth serve takes it (docs/serve.md); default: {}")
      .Type(cli::kFileHint)
      .Needs(name);
  AddQuestionOutput(command, options.output);
  command.At("output").Needs(name);
}

Expected<std::unique_ptr<RecordedQuestion>> RecordedQuestion::Read(const RecordedQuestionOptions& options,
                                                                   const std::string& config,
                                                                   config::KnownPlugins plugins) {
  std::unique_ptr<RecordedQuestion> question(new RecordedQuestion(options.name, plugins));
  if (!options.body.empty()) {
    auto body = ReadBody(options.body);
    if (!body.ok()) return body.error().Wrap("--body " + options.body);
    question->body_ = *std::move(body);
  }
  BERTH_ASSIGN_OR_RETURN(question->configuration_, ask::TakeConfiguration(question->body_));
  if (!config.empty()) {
    BERTH_ASSIGN_OR_RETURN(question->configuration_, client::ReadSmallFile(config, ask::kConfigurationBytesMax));
  }
  return question;
}

replay::Replayer::Watcher RecordedQuestion::Watcher() {
  return {.on_input = [this](const scheduler::Input& input) { objects_.Take(input); }};
}

Expected<ask::Reply> RecordedQuestion::Answer(const replay::Replayer& replayer, const std::string& source) const {
  BERTH_ASSIGN_OR_RETURN(const auto configuration, replayer.Configuration());
  whatif::ClusterState state = objects_.State();
  state.source = source;
  state.kubernetes_version = replayer.header().kubernetes;
  state.read_at = replayer.reached();
  ask::OnceCluster cluster(state, CoreForQuestions(configuration, plugins_, recording::FilesOf(replayer.header())), {},
                           configuration_);
  return ask::FindQuestion(name_)->answer(body_, {}, cluster, {});
}

}  // namespace berth::app
