// SPDX-License-Identifier: Apache-2.0
#include "berth/app/capacity_command.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "berth/app/manifest_files.h"
#include "berth/app/question_output.h"
#include "berth/shell/cli/exit_codes.h"
#include "berth/shell/cli/signals.h"
#include "berth/shell/cli/text.h"
#include "berth/whatif/capacity_answer.h"
#include "berth/whatif/manifest_shapes.h"

namespace berth::app {
namespace {

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

}  // namespace

int RunCapacity(const CapacityCommandOptions& options, config::KnownPlugins plugins) {
  const auto namespace_name = NamespaceOf(options.question);
  if (!namespace_name.ok()) return cli::FailWith(namespace_name.error(), cli::kExitUsage);
  auto question = ReadQuestion(options, *namespace_name);
  if (!question.ok()) return FailWithQuestion(question.error());
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
      {[&](bool is_wide, const cli::Table::Style& style) { return whatif::CapacityLines(*capacity, is_wide, style); },
       [&] { return whatif::CapacityJson(*capacity); }});
  if (capacity->is_interrupted) return cli::kExitFailed;
  return options.required && !IsEnough(*capacity, *options.required) ? cli::kExitNo : cli::kExitOk;
}

}  // namespace berth::app
