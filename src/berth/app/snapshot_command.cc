// SPDX-License-Identifier: Apache-2.0
#include "berth/app/snapshot_command.h"

#include <cstdio>
#include <optional>

#include "berth/app/process.h"
#include "berth/app/question_flags.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/text.h"
#include "berth/whatif/anonymizer.h"
#include "berth/whatif/snapshot_file.h"

namespace berth::app {
namespace {

std::string Size(std::uint64_t bytes) {
  constexpr std::uint64_t kKibi = 1024;
  if (bytes < kKibi * kKibi) return std::to_string((bytes + kKibi - 1) / kKibi) + " KiB";
  const std::uint64_t tenths = bytes * 10 / (kKibi * kKibi);
  return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " MiB";
}

// Reads a file to its end and says what is in it.
int Check(const std::string& path) {
  QuestionOptions from;
  from.snapshot = path;
  const auto state = ReadClusterFor(from);
  if (!state.ok()) return cli::FailWith(state.error());
  std::printf("%s: %zu nodes, %zu pods, %zu other objects, Kubernetes %s, read %s\n", cli::Printable(path).c_str(),
              state->nodes.size(), state->pods.size(), state->objects.size(),
              state->kubernetes_version.empty() ? "unknown" : cli::Printable(state->kubernetes_version).c_str(),
              FormatRfc3339(state->read_at).c_str());
  return cli::kExitOk;
}

}  // namespace

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
  const auto state = ReadServer(options.connection,
                                {.sink = writer->get(), .reads_pod_groups = true, .reads_composite_pod_groups = true});
  if (!state.ok()) return cli::FailWith(state.error());
  if (const auto written = (*writer)->Finish(*state); !written.ok()) return cli::FailWith(written.error());
  std::size_t others = 0;
  for (std::size_t kind = 2; kind < whatif::kKindCount; ++kind) others += (*writer)->count(kind);
  std::printf("%s: %zu nodes, %zu pods, %zu other objects, %s%s\n", cli::Printable(options.output).c_str(),
              (*writer)->count(whatif::kNodes), (*writer)->count(whatif::kPods), others,
              Size((*writer)->bytes_written()).c_str(), options.anonymize ? ", anonymous" : "");
  return cli::kExitOk;
}

}  // namespace berth::app
