// SPDX-License-Identifier: Apache-2.0
#include "berth/app/snapshot_flags.h"

#include <CLI/CLI.hpp>

#include "berth/app/question_flags.h"
#include "berth/shell/cli/flag_set.h"

namespace berth::app {

CLI::App* AddSnapshotCommand(CLI::App& app, SnapshotOptions& options) {
  CLI::App* command = app.add_subcommand("snapshot", "a cluster's state into a file, for questions asked later");
  AddQuestionConnection(*command, options.connection);
  command->add_option("-o,--output", options.output, "the file, for example cluster.zst")->type_name(cli::kFileHint);
  command->add_option("--check", options.check, "read a file that is there, and say what is in it")
      ->excludes("-o")
      ->type_name(cli::kFileHint);
  command->add_flag("--anonymize", options.anonymize,
                    "other words for names, labels and images; decisions stay as they are");
  command->add_option("--annotation", options.annotations,
                      "key of an annotation to keep beside those that plugins read; KEY* for all that begin so");
  command->add_flag("--force", options.force, "write over a file that is there");
  command->footer("Reads what scheduling reads, and no Secrets and ConfigMaps (docs/snapshot.md).");
  return command;
}

}  // namespace berth::app
