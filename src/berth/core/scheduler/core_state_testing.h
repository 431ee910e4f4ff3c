// SPDX-License-Identifier: Apache-2.0
// Base class of the tests of one part of the core: a CoreState with a fake clock, whose pods and nodes the test sets.
// Tests only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/check.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/core/scheduler/output_lines_testing.h"
#include "berth/core/scheduler/scheduler_testing.h"

namespace berth::scheduler {

class CoreStateTest : public ::testing::Test {
 protected:
  // Must be called before the first use of state().
  Actor& AddPlugin(std::string name) {
    return Enable(*profiles_.front(), std::make_shared<Actor>(std::move(name), calls_));
  }
  CoreState& state() {
    if (!state_) {
      ProfileSet::Owned owned = std::move(static_cast<ProfileSet::Owned&>(profiles_));
      state_ = std::make_unique<CoreState>(options_, profiles_.handle->release(), profiles_.handle->mutable_objects(),
                                           std::move(owned));
      state_->now = Time{std::chrono::seconds(1'000'000)};
    }
    return *state_;
  }
  Profile& profile() { return *state().profiles.by_name().begin()->second; }

  void SetNode(const std::string& name) { state().cache.SetNode(testing::MakeNode(name).Build()); }
  static std::shared_ptr<api::Pod> Object(const testing::PodBuilder& pod, std::string resource_version = "1") {
    auto object = std::make_shared<api::Pod>(pod.Build());
    object->metadata.resource_version = std::move(resource_version);
    return object;
  }
  framework::PodInfoPtr Info(const testing::PodBuilder& pod, std::string resource_version = "1") {
    return state().MakePodInfo(*Object(pod, std::move(resource_version)));
  }
  // Adds the pod to the queue and pops it, so that it is in flight.
  queue::QueuedPodInfo Pop(const testing::PodBuilder& pod) {
    state().queue.Add(Info(pod), state().now);
    std::optional<queue::QueuedPodInfo> popped = state().queue.Pop(state().now);
    BERTH_CHECK(popped.has_value());
    return std::move(*popped);
  }
  std::optional<queue::Place> PlaceOf(const std::string& pod) {
    const auto standing = state().queue.Find("uid-default-" + pod);
    if (!standing) return std::nullopt;
    return standing->place;
  }

  // The outputs since the last call, one line each; `operation_` becomes the operation of the last output that has one.
  Lines Take() {
    Lines lines;
    std::vector<Output> outputs;
    state().outputs.TakeInto(outputs);
    for (const Output& output : outputs) {
      lines.push_back(LineOf(output));
      std::visit(
          [this]<typename T>(const T& value) {
            if constexpr (requires { value.operation; }) operation_ = value.operation;
          },
          output);
    }
    return lines;
  }

  SchedulerOptions options_{.seed = 1};
  Lines calls_;  // of the plugins
  std::uint64_t operation_ = 0;
  Profiles profiles_ = DefaultProfiles();

 private:
  std::unique_ptr<CoreState> state_;
};

}  // namespace berth::scheduler
