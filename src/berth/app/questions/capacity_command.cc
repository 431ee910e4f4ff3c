// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/capacity_command.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/answers/capacity_answer.h"
#include "berth/api/names.h"
#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/questions/manifest_files.h"
#include "berth/app/questions/question_flags.h"
#include "berth/app/questions/question_output.h"
#include "berth/app/questions/question_server.h"
#include "berth/ask/questions.h"
#include "berth/base/text.h"
#include "berth/core/config/known_plugins.h"
#include "berth/shell/cli/command.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/flag_set.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/cli/text.h"
#include "berth/whatif/capacity.h"
#include "berth/whatif/manifest_shapes.h"
#include "berth/whatif/shapes.h"

namespace berth::app {
namespace {

struct CapacityCommandOptions {
  QuestionOptions question;
  std::vector<std::string> files;  // of manifests
  std::vector<std::string> likes;  // "NAMESPACE/POD", or "POD"
  whatif::ShapeAmounts amounts;    // of the flags' own shape
  whatif::CapacityOptions capacity;
  std::optional<std::size_t> required;  // of each shape
};

// Nobody has so many pods, and counting them would take minutes.
constexpr std::size_t kCapacityMax = 10'000'000;

// What files and flags ask about.
struct CapacityQuestion {
  whatif::Manifests manifests;
  std::vector<whatif::Shape> of_flags;
};

// What is wrong with it is said before any cluster is read.
Expected<CapacityQuestion> ReadQuestion(const CapacityCommandOptions& options, const std::string& namespace_name) {
  if (options.files.empty() && options.amounts.empty() && options.likes.empty())
    return InvalidError("berth capacity: what is to fit? -f FILE, --like NAMESPACE/POD, or --cpu and --memory say it");
  CapacityQuestion question;
  BERTH_ASSIGN_OR_RETURN(const auto files, ReadManifestFiles(options.files));
  BERTH_ASSIGN_OR_RETURN(question.manifests, whatif::ReadManifests(files, namespace_name));
  for (const std::string& line : question.manifests.left_out) Warn(line);
  if (!options.amounts.empty()) {
    BERTH_ASSIGN_OR_RETURN(whatif::Shape shape, whatif::ShapeOfAmounts(options.amounts, namespace_name));
    question.of_flags.push_back(std::move(shape));
  }
  return question;
}

// What the manifests have beside pods is in the cluster afterwards.
Expected<std::vector<whatif::Shape>> ShapesOf(const CapacityCommandOptions& options, CapacityQuestion question,
                                              const std::string& namespace_name, QuestionCluster& asked) {
  std::vector<whatif::Shape> shapes;
  if (!options.files.empty()) {
    BERTH_ASSIGN_OR_RETURN(auto found,
                           whatif::ShapesOfManifests(question.manifests, asked.state, asked.cluster->now()));
    for (const std::string& note : found.notes) Warn(note);
    asked.cluster->Add(found.objects);
    shapes = std::move(found.shapes);
  }
  std::move(question.of_flags.begin(), question.of_flags.end(), std::back_inserter(shapes));
  for (const std::string& like : options.likes) {
    const std::string key = like.find('/') == std::string::npos ? namespace_name + "/" + like : like;
    BERTH_ASSIGN_OR_RETURN(whatif::Shape shape, whatif::ShapeLike(asked.state, asked.cluster->objects(), key));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

int FailWithQuestion(const Error& error) {
  return cli::FailWith({error.code, cli::Printable(error.message)}, cli::kExitUsage);
}

bool IsEnough(const whatif::Capacity& capacity, std::size_t required) {
  return std::ranges::all_of(capacity.shapes, [required](const auto& shape) { return shape.fits >= required; });
}

int RunCapacity(const CapacityCommandOptions& options, config::KnownPlugins plugins) {
  const auto namespace_name = NamespaceOf(options.question);
  if (!namespace_name.ok()) return cli::FailWith(namespace_name.error(), cli::kExitUsage);
  auto question = ReadQuestion(options, *namespace_name);
  if (!question.ok()) return FailWithQuestion(question.error());
  if (!options.question.server.url.empty()) {
    const auto files = ReadManifestFiles(options.files);
    if (!files.ok()) return FailWithQuestion(files.error());
    return AskServer(options.question, "capacity",
                     ask::CapacityQuestion{*files, *namespace_name, options.likes, options.amounts,
                                           options.capacity.is_together, options.capacity.pods_max, options.required}
                         .ToJson());
  }
  QuestionCluster asked;
  if (const auto failed = LoadOrFail(options.question, plugins, OtherSchedulers::kByDefaults, asked)) return *failed;
  const auto shapes = ShapesOf(options, std::move(*question), *namespace_name, asked);
  if (!shapes.ok()) return FailWithQuestion(shapes.error());
  whatif::CapacityOptions capacity_options = options.capacity;
  capacity_options.is_interrupted = [] { return cli::HasSignal(); };
  if (options.required) capacity_options.pods_max = std::max(capacity_options.pods_max, *options.required);
  const auto capacity = whatif::MeasureCapacity(*asked.cluster, *shapes, capacity_options);
  if (!capacity.ok()) return cli::FailWith(capacity.error(), cli::kExitUsage);
  PrintAnswer(
      options.question.output, asked.state,
      {[&](bool is_wide, const cli::Table::Style& style) { return answers::CapacityLines(*capacity, is_wide, style); },
       [&] { return answers::CapacityJson(*capacity); }});
  if (capacity->is_interrupted) return cli::kExitFailed;
  return options.required && !IsEnough(*capacity, *options.required) ? cli::kExitNo : cli::kExitOk;
}

}  // namespace

void AddCapacityCommand(Commands& commands) {
  const auto options = std::make_shared<CapacityCommandOptions>();
  cli::Command& command =
      commands.Add("capacity", "how many more pods of a shape fit into a cluster, and what stops the next",
                   {[options](config::KnownPlugins known) { return RunCapacity(*options, known); }});
  AddQuestionFlags(command, options->question);
  AddQuestionRelease(command, options->question.release);
  AddQuestionServer(command, options->question.server);
  command
      .Option("filename", options->files,
              "manifests of Pods, or of Deployments and the like, of which the pod template counts: a file, a "
              "directory, or - for standard input; may be repeated")
      .Letter('f')
      .Type(cli::kFileHint);
  command.Option("like", options->likes, "a pod of the cluster, [NAMESPACE/]POD; may be repeated").Type(kPodHint);
  whatif::ShapeAmounts& amounts = options->amounts;
  command.Option("cpu", amounts.cpu, "a shape of its own: what a pod requests, for example 500m")
      .Check(whatif::WrongAmount);
  command.Option("memory", amounts.memory, "the same, for example 1Gi").Check(whatif::WrongAmount);
  command.Option("request", amounts.requests, "the same, of any resource: nvidia.com/gpu=1; may be repeated")
      .Check(whatif::WrongRequest);
  command.Option("node-selector", amounts.node_selector, "a label that the nodes need, KEY=VALUE; may be repeated")
      .Check(whatif::WrongLabel);
  command.Switch("together", options->capacity.is_together,
                 "one pod of each shape in turn, until one does not fit; without it, each shape has the cluster for "
                 "itself");
  command.Option("max", options->capacity.pods_max, "stop counting at so many pods of a shape")
      .Range(1, kCapacityMax)
      .ShowDefault();
  command.Option("require", options->required, "end with 3 if fewer than so many fit, of any shape");
  AddPluginDirectory(command, commands.plugin_directory());
  command.SetFooter(
      "Ends with 0 when the question was answered, 1 when the cluster could not be read, 2 when the flags or files are "
      "wrong,\n"
      "3 when fewer fit than --require says.");
}

}  // namespace berth::app
