// SPDX-License-Identifier: Apache-2.0
// Base class of the tests of extension points: a core whose profile has the test's own plugins, registered by name and
// ordered by a configuration. Tests only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/config/load.h"
#include "berth/core/config/validate.h"
#include "berth/core/scheduler/scheduler_testing.h"

namespace berth::scheduler {

class ExtensionPointTest : public ::testing::Test {
 protected:
  using Make = std::function<std::unique_ptr<framework::Plugin>(framework::Handle&)>;

  // Must be called before Start. Replaces an earlier plugin of the same name. The plugin that `make` returns must have
  // the name `name`.
  void Register(const char* name, Make make) {
    std::erase_if(registry_, [name](const auto& other) { return other.name == name; });
    registry_.push_back({name,
                         [make = std::move(make)](const auto&, framework::Handle& handle)
                             -> Expected<std::unique_ptr<framework::Plugin>> { return make(handle); }});
  }
  // The same for T(handle, arguments...). The returned pointer is set when the plugin is made.
  template <typename T, typename... Args>
  std::shared_ptr<T*> Register(const char* name, Args... args) {
    auto at = std::make_shared<T*>(nullptr);
    Register(name, Make([at, name, args...](framework::Handle& handle) -> std::unique_ptr<framework::Plugin> {
               auto made = std::make_unique<T>(name, handle, args...);
               *at = made.get();
               return made;
             }));
    return at;
  }

  // Starts a core with these plugins and no others, in this order, at all their points. PrioritySort and DefaultBinder
  // come first unless the list begins with "-". "X*3" has weight 3. `points`: more of `plugins`, in YAML.
  Harness& Start(const std::vector<std::string>& names, const std::string& points = "") {
    harness_.reset();
    auto made = MakeProfiles(names, points);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    if (!made.ok()) std::abort();
    harness_ = std::make_unique<Harness>(std::move(*made));
    return *harness_;
  }
  std::string StartError(const std::vector<std::string>& names, const std::string& points = "") {
    const auto made = MakeProfiles(names, points);
    return made.ok() ? "" : made.error().message;
  }

  Harness& h() { return *harness_; }
  void Nodes(const std::vector<std::string>& names) {
    for (const std::string& name : names) h().Set(testing::MakeNode(name));
  }
  // Schedules the pods that are ready, and returns the outputs.
  Lines RunAndTake(Duration after = Duration{0}) {
    h().Run(after);
    return h().Take();
  }
  // Passes the decisions that plugins made by Handle::Decide since the last call to the core.
  void DeliverDecisions() {
    for (framework::PermitDecision& decision : std::exchange(decisions_, {}))
      h().core.Handle(std::move(decision), h().now);
  }
  // The condition and the event of a failed attempt.
  static Lines Failed(const std::string& pod, const std::string& reason, const std::string& message) {
    return {"status " + pod + " " + reason + ": " + message, "Warning FailedScheduling " + pod + ": " + message};
  }
  queue::PodStanding Standing(const std::string& pod) { return *h().core.queue().Find("uid-default-" + pod); }

  Lines calls_;

 private:
  Expected<Profiles> MakeProfiles(std::vector<std::string> names, const std::string& points) {
    if (!names.empty() && names.front() == "-") {
      names.erase(names.begin());
    } else {
      names.insert(names.begin(), {"PrioritySort", "DefaultBinder"});
    }
    std::string text =
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- plugins:\n"
        "    multiPoint:\n      disabled: [{name: '*'}]\n      enabled:\n";
    for (const std::string& name : names) {
      const std::size_t star = std::min(name.find('*'), name.size());
      text += "      - {name: " + name.substr(0, star);
      if (star < name.size()) text += ", weight: " + name.substr(star + 1);
      text += "}\n";
    }
    if (!points.empty()) text += "    " + points + "\n";
    BERTH_ASSIGN_OR_RETURN(const config::KubeSchedulerConfiguration configuration, config::LoadConfiguration(text));
    BERTH_RETURN_IF_ERROR(config::ValidateConfiguration(configuration));
    Profiles profiles;
    profiles.handle = std::make_unique<CoreHandle>(
        [this](framework::PermitDecision decision) { decisions_.push_back(std::move(decision)); });
    BERTH_ASSIGN_OR_RETURN(auto made, runtime::MakeProfiles(configuration, registry_, *profiles.handle));
    static_cast<std::vector<std::unique_ptr<runtime::ProfilePlugins>>&>(profiles) = std::move(made);
    return profiles;
  }

  std::vector<config::KnownPlugin> registry_ = plugins::InTreePlugins();
  std::vector<framework::PermitDecision> decisions_;
  std::unique_ptr<Harness> harness_;
};

// A way in which a plugin can fail, for the tables of errors.
struct Broken {
  const char* name;
  std::function<framework::Status()> says;  // throws, or returns a status that the point does not allow
  std::string message;                      // the resulting message
};
inline std::vector<Broken> BrokenInEveryWay() {
  using framework::Status;
  return {
      {"an error", [] { return Status::Error("oops"); }, "oops"},
      {"an exception", []() -> Status { throw std::runtime_error("oops"); }, "panic: oops"},
      {"something odd", []() -> Status { throw 7; }, "panic: unknown exception"},
  };
}

}  // namespace berth::scheduler
