// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/snapshot_command.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/app/commands.h"
#include "berth/app/connection.h"
#include "berth/app/process.h"
#include "berth/app/questions/question_flags.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/shell/cli/text.h"
#include "berth/whatif/anonymizer.h"
#include "berth/whatif/snapshot_file.h"

namespace berth::app {
namespace {

struct SnapshotOptions {
  ConnectionOptions connection;
  std::string output;  // the file; empty: `check` says which file to read
  std::string check;
  std::vector<std::string> annotations;  // that are kept beside those that berth's plugins read
  bool anonymize = false;
  bool force = false;
};

// In the same words, whether the file was written or read.
void PrintContents(const std::string& path, const whatif::SnapshotContents& contents) {
  std::printf("%s: %s\n", cli::Printable(path).c_str(), cli::Printable(whatif::ToText(contents)).c_str());
}

// Reads a file to its end and says what is in it.
int Check(const std::string& path) {
  QuestionOptions from;
  from.snapshot = path;
  whatif::SnapshotContents contents;
  const auto state = ReadClusterFor(from, &contents);
  if (!state.ok()) return cli::FailWith(state.error());
  PrintContents(path, contents);
  return cli::kExitOk;
}

int RunSnapshot(const SnapshotOptions& options) {
  if (!options.check.empty()) return Check(options.check);
  if (options.output.empty()) {
    return cli::FailWith(InvalidError("snapshot: which file? -o FILE writes one, --check FILE reads one"),
                         cli::kExitUsage);
  }
  if (options.output == "-") {
    return cli::FailWith(
        InvalidError("snapshot: -o -: it should be the name of a file; standard output takes the summary"),
        cli::kExitUsage);
  }
  std::optional<whatif::Anonymizer> anonymizer;
  // The key is kept nowhere: another snapshot of the same cluster has other words.
  if (options.anonymize) anonymizer.emplace(whatif::AnonymizerKey{RandomSeed(), RandomSeed()});
  whatif::SnapshotWriteOptions to;
  to.path = options.output;
  to.overwrites = options.force;
  to.annotations = options.annotations;
  to.anonymizer = anonymizer ? &*anonymizer : nullptr;
  auto writer = whatif::SnapshotWriter::Create(to);
  if (!writer.ok()) {
    Error error = writer.error();
    if (error.code == ErrorCode::kAlreadyExists) error.message += "; --force writes over it";
    return cli::FailWith(error, cli::kExitUsage);
  }
  const auto state = ReadServer(
      options.connection,
      {.sink = writer->get(), .reads_pod_groups = true, .reads_composite_pod_groups = true, .reads_quotas = true});
  if (!state.ok()) return cli::FailWith(state.error());
  if (const auto written = (*writer)->Finish(*state); !written.ok()) return cli::FailWith(written.error());
  PrintContents(options.output, (*writer)->contents());
  return cli::kExitOk;
}

}  // namespace

void AddSnapshotCommand(Commands& commands) {
  const auto options = std::make_shared<SnapshotOptions>();
  cli::Command& command = commands.Add("snapshot", "a cluster's state into a file, for questions asked later",
                                       {[options](config::KnownPlugins) { return RunSnapshot(*options); }});
  AddQuestionConnection(command, options->connection);
  cli::Flag& output =
      command.Option("output", options->output, "the file, for example cluster.zst").Letter('o').Type(cli::kFileHint);
  command.Option("check", options->check, "read a file that is there, and say what is in it")
      .Excludes(output)
      .Type(cli::kFileHint);
  command.Switch("anonymize", options->anonymize,
                 "other words for names, labels and images; decisions stay as they are");
  command.Option("annotation", options->annotations,
                 "key of an annotation to keep beside those that plugins read; KEY* for all that begin so");
  command.Switch("force", options->force, "write over a file that is there");
  command.SetFooter("Reads what scheduling reads, and no Secrets and ConfigMaps (docs/snapshot.md).");
}

}  // namespace berth::app
