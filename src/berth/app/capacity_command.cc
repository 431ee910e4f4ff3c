// SPDX-License-Identifier: Apache-2.0
#include "berth/app/capacity_command.h"

#include <algorithm>
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

// Those of files and flags, which need no cluster.
Expected<std::vector<whatif::Shape>> ShapesOf(const CapacityCommandOptions& options,
                                              const std::string& namespace_name) {
  std::vector<whatif::Shape> shapes;
  if (!options.files.empty()) {
    BERTH_ASSIGN_OR_RETURN(const auto files, ReadManifestFiles(options.files));
    BERTH_ASSIGN_OR_RETURN(const whatif::Manifests manifests, whatif::ReadManifests(files, namespace_name));
    BERTH_ASSIGN_OR_RETURN(shapes, whatif::ShapesOfManifests(manifests));
  }
  if (!options.amounts.empty()) {
    BERTH_ASSIGN_OR_RETURN(whatif::Shape shape, whatif::ShapeOfAmounts(options.amounts, namespace_name));
    shapes.push_back(std::move(shape));
  }
  if (shapes.empty() && options.likes.empty())
    return InvalidError("berth capacity: what is to fit? -f FILE, --like NAMESPACE/POD, or --cpu and --memory say it");
  return shapes;
}

Expected<void> AddLikes(const CapacityCommandOptions& options, const std::string& namespace_name,
                        const whatif::ClusterState& state, std::vector<whatif::Shape>& shapes) {
  for (const std::string& like : options.likes) {
    const std::string key = like.find('/') == std::string::npos ? namespace_name + "/" + like : like;
    auto shape = whatif::ShapeLike(state, key);
    if (!shape.ok()) return Error{shape.error().code, cli::Printable(shape.error().message)};
    shapes.push_back(std::move(*shape));
  }
  return {};
}

bool IsEnough(const whatif::Capacity& capacity, std::size_t required) {
  return std::ranges::all_of(capacity.shapes, [required](const auto& shape) { return shape.fits >= required; });
}

}  // namespace

int RunCapacity(const CapacityCommandOptions& options, plugins::KnownPlugins plugins) {
  const auto namespace_name = NamespaceOf(options.question);
  if (!namespace_name.ok()) return cli::FailWith(namespace_name.error(), cli::kExitUsage);
  auto shapes = ShapesOf(options, *namespace_name);
  if (!shapes.ok())
    return cli::FailWith({shapes.error().code, cli::Printable(shapes.error().message)}, cli::kExitUsage);
  QuestionCluster asked;
  if (const auto failed = LoadOrFail(options.question, plugins, asked)) return *failed;
  if (const auto added = AddLikes(options, *namespace_name, asked.state, *shapes); !added.ok())
    return cli::FailWith(added.error(), cli::kExitUsage);
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
