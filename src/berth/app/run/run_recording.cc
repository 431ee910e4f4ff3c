// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run/run_recording.h"

#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/log.h"
#include "berth/core/scheduler/bookings.h"
#include "berth/core/scheduler/pod_choice.h"
#include "berth/core/scheduler/profile_set.h"
#include "berth/plugins/registry.h"
#include "berth/whatif/snapshot_file.h"

namespace berth::app {
namespace {

using recording::AnnotationFilter;
using recording::AnnotationFilters;

// Those in use that do not come with berth, by name.
std::vector<std::string> OwnPlugins(scheduler::ProfilesInMaking profiles) {
  std::set<std::string, std::less<>> in_tree;
  for (const config::KnownPlugin& registered : plugins::InTreePlugins()) in_tree.insert(registered.name);
  std::set<std::string> own;
  for (const auto& profile : profiles) {
    for (const auto& plugin : profile->owned) {
      const std::string_view name = plugin->Name();
      if (!in_tree.contains(name.substr(0, name.find('/')))) own.emplace(name);  // "Script/anything"
    }
  }
  return {own.begin(), own.end()};
}

AnnotationFilter FilterOf(std::vector<std::string> keys) {
  std::vector<std::string> kept = whatif::AnnotationsThatPluginsRead();
  std::move(keys.begin(), keys.end(), std::back_inserter(kept));
  return AnnotationFilter(std::move(kept));
}

AnnotationFilters FiltersOf(scheduler::ProfilesInMaking profiles) {
  std::vector<std::string> of_pods = scheduler::AnnotationsRead(profiles);
  of_pods.emplace_back(scheduler::kSchedulerNameAnnotation);
  of_pods.emplace_back(scheduler::kConsumeAnnotation);
  of_pods.emplace_back(scheduler::kConsumeAnnotationOld);
  return {FilterOf(scheduler::NodeAnnotationsRead(profiles)), FilterOf(std::move(of_pods))};
}

}  // namespace

void AddRecording(const RecordOptions& record, recording::RecordingHeader header, runner::ShellOptions& shell) {
  const auto files = std::make_shared<std::map<std::string, framework::FileText>>();
  shell.read_file = [read = std::move(shell.read_file), files](const std::string& path) {
    auto text = read(path);
    if (text.ok()) files->emplace(path, *text);
    return text;
  };
  recording::Recorder::Options options{
      .directory = record.directory, .files_bytes_max = record.bytes_max, .metrics = shell.metrics};
  shell.make_recorder =
      [options = std::move(options), header = std::move(header),
       files](scheduler::ProfilesInMaking profiles) mutable -> Expected<std::unique_ptr<recording::Recorder>> {
    header.files = *files;
    header.own_plugins = OwnPlugins(profiles);
    auto recorder = recording::Recorder::Start(options, header,
                                               header.own_plugins.empty() ? FiltersOf(profiles) : AnnotationFilters());
    if (!recorder.ok()) return recorder.error().Wrap("--record");
    log::Info("app", "Recording", {{"file", (*recorder)->path()}});
    return recorder;
  };
}

}  // namespace berth::app
