// SPDX-License-Identifier: Apache-2.0
// Operations of several steps, in a binding cycle and in the background; what plugins do through their handle; the
// objects that they read.
#include <gtest/gtest.h>

#include "berth/core/scheduler/scheduler_testing.h"

namespace berth::scheduler {
namespace {

using framework::ObjectPatch;
using framework::Operation;
using framework::PodInfo;
using framework::Status;
using framework::StepResult;
using testing::MakeNode;
using testing::MakePod;

ObjectPatch Patch(std::string name) {
  return {{"v1", "persistentvolumes", "", std::move(name)}, "", framework::PatchType::kMerge, "{}"};
}

class OperationsTest : public ::testing::Test {
 protected:
  Harness& Start() {
    harness_ = std::make_unique<Harness>(std::move(profiles_));
    harness_->Set(MakeNode("a"));
    harness_->Set(pod_);
    harness_->Run();
    return *harness_;
  }
  // Adds a plugin X whose PreBind returns this operation.
  void PreBind(std::function<Operation()> make) {
    Enable(*profiles_.front(), std::make_shared<Actor>("X", calls_)).pre_bind =
        [make = std::move(make)](const PodInfo&) { return make(); };
  }
  Operation::Next Note(Operation then = Operation::Done()) {
    return [this, then](const StepResult& result) {
      seen_.push_back(result.error ? result.error->message : result.body);
      return then;
    };
  }

  Lines calls_, seen_;
  Profiles profiles_ = DefaultProfiles();
  std::unique_ptr<Harness> harness_;
  testing::PodBuilder pod_ = MakePod("p").Request("cpu", "1");
};

TEST_F(OperationsTest, PreBindGoesOnAfterAnAnswer) {
  PreBind([this] { return Operation::Write(Patch("one"), Note(Operation::Write(Patch("two"), Note()))); });
  Harness& h = Start();
  EXPECT_EQ(h.Take(), (Lines{"status p nominates a", "patch one"}));
  h.Answer(std::nullopt, "first");
  EXPECT_EQ(h.Take(), Lines{"patch two"});
  h.Answer(std::nullopt, "second");
  EXPECT_EQ(seen_, (Lines{"first", "second"}));
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
}

TEST_F(OperationsTest, TheFirstFailureEndsTheWritesOfAStep) {
  PreBind([this] { return Operation::WriteAll({Patch("one"), Patch("two"), Patch("three")}, Note()); });
  Harness& h = Start();
  h.Take();
  h.Answer();
  EXPECT_EQ(h.Take(), Lines{"patch two"});
  h.Answer(Error{ErrorCode::kConflict, "changed"});
  // The continuation decides what the failure means.
  EXPECT_EQ(seen_, Lines{"changed"});
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
}

TEST_F(OperationsTest, WithoutAContinuationAFailureEndsTheCycle) {
  PreBind([] { return Operation::Write(Patch("one")); });
  Harness& h = Start();
  h.Take();
  h.Answer(Error{ErrorCode::kConflict, "changed"});
  EXPECT_EQ(h.Take().back(), "Warning FailedScheduling p: running PreBind plugin \"X\": changed");
}

TEST_F(OperationsTest, PreBindPolls) {
  int polls = 0;
  std::function<Operation()> poll = [&] {
    return ++polls == 3 ? Operation::Done() : Operation::After(1s, [&](const StepResult&) { return poll(); });
  };
  PreBind([&] { return poll(); });
  Harness& h = Start();
  EXPECT_EQ(h.Take(), Lines{"status p nominates a"});
  h.Run(1s);
  EXPECT_TRUE(h.Take().empty());
  h.Run(1s);
  EXPECT_EQ(h.Take(), Lines{"bind p to a"});
}

TEST_F(OperationsTest, APodThatGoesWhileItsPreBindPolls) {
  PreBind([] {
    return Operation::After(1s, [](const StepResult&) { return Operation::Done(Status::Error("must not be asked")); });
  });
  Harness& h = Start();
  h.Take();
  h.Remove(pod_);
  h.Run(10s);
  EXPECT_TRUE(h.Take().empty());
  EXPECT_TRUE(h.IsIdle());
}

TEST_F(OperationsTest, APodWhoseDeletionBeginsWhileItsPreBindPollsGivesItsRoomBack) {
  PreBind([] {
    return Operation::After(1s, [](const StepResult&) { return Operation::Done(Status::Error("must not be asked")); });
  });
  Harness& h = Start();
  h.Take();
  EXPECT_EQ(h.core.cache().pod_count(), 1U);
  testing::PodBuilder deleted = pod_;
  h.Set(deleted.Deleted(h.now));
  EXPECT_EQ(h.core.cache().pod_count(), 0U);
  h.Run(10s);
  EXPECT_TRUE(h.IsIdle());
}

TEST_F(OperationsTest, WhatAContinuationThrowsIsThePluginsError) {
  PreBind([] {
    return Operation::Write(Patch("one"), [](const StepResult&) -> Operation { throw std::runtime_error("oops"); });
  });
  Harness& h = Start();
  h.Take();
  h.Answer();
  EXPECT_EQ(h.Take().back(), "Warning FailedScheduling p: running PreBind plugin \"X\": panic: oops");
}

TEST_F(OperationsTest, BesideScheduling) {
  Harness& h = Start();
  h.Take();
  h.handle->Start(Operation::Write(Patch("one"), [this](const StepResult& result) {
    seen_.push_back(result.error->message);
    return Operation::After(2s, Note());
  }));
  EXPECT_EQ(h.Take(), Lines{"patch one"});
  h.Answer(Error{ErrorCode::kConflict, "changed"});
  h.Run(1s);
  EXPECT_EQ(seen_, Lines{"changed"});
  h.Run(1s);
  EXPECT_EQ(seen_, (Lines{"changed", ""}));
  h.Run(1min);
  EXPECT_EQ(seen_.size(), 2u);
}

TEST_F(OperationsTest, BindingsAreCancelledBeforeTheyArePosted) {
  PreBind([this] { return Operation::Write(Patch("one"), Note()); });
  Harness& h = Start();
  h.Take();
  EXPECT_FALSE(h.handle->CancelBinding("uid-default-q", "DefaultPreemption", "preempted"));
  EXPECT_TRUE(h.handle->CancelBinding("uid-default-p", "DefaultPreemption", "preempted"));
  EXPECT_EQ(h.core.binding_count(), 0u);
  EXPECT_EQ(h.core.cache().assumed_count(), 0u);
  EXPECT_EQ(h.Take().back(),
            "Warning FailedScheduling p: running PreBind plugin \"X\": preempted by DefaultPreemption");
  h.Answer();  // an answer that comes too late
  EXPECT_TRUE(seen_.empty());
  h.Run(2s);  // a pod that met an error needs no event to be tried again
  EXPECT_EQ(h.core.binding_count(), 1u);
}

TEST_F(OperationsTest, WaitingPodsAreCancelled) {
  Enable(*profiles_.front(), std::make_shared<Actor>("X", calls_)).permit = [](const PodInfo&) {
    return framework::PermitResult{Status::Wait(), 10min};
  };
  Harness& h = Start();
  h.Take();
  EXPECT_TRUE(h.handle->CancelBinding("uid-default-p", "DefaultPreemption", "preempted"));
  EXPECT_EQ(h.core.binding_count(), 0u);
  EXPECT_EQ(h.Take().back(), "Warning FailedScheduling p: waiting on permit for pod: preempted");
  h.Run(2s);
  EXPECT_EQ(h.core.binding_count(), 1u);
}

TEST_F(OperationsTest, ABindingThatWasPostedIsNotCancelled) {
  Harness& h = Start();
  h.Take();
  EXPECT_FALSE(h.handle->CancelBinding("uid-default-p", "DefaultPreemption", "preempted"));
  EXPECT_EQ(h.core.binding_count(), 1u);
}

TEST_F(OperationsTest, NominationsAreSeenAndCleared) {
  Harness& h = Start();
  h.Set(MakePod("big").Request("cpu", "100").Nominated("a"));
  EXPECT_EQ(h.handle->NominatedPods("a").size(), 1u);
  h.Take();
  h.handle->ClearNomination(*h.handle->NominatedPods("a").front());
  EXPECT_EQ(h.Take(), Lines{"status big nominates "});
  EXPECT_TRUE(h.handle->NominatedPods("a").empty());
}

// Refuses every pod until an object of this name exists, and registers for events of its kind.
class WantsClass final : public framework::FilterPlugin,
                         public framework::EnqueueExtensions,
                         public framework::ObjectReader {
 public:
  explicit WantsClass(const framework::Handle& handle) : handle_(handle) {}
  std::string_view Name() const override { return "WantsClass"; }
  Status Filter(const framework::Cycle&, const PodInfo&, const framework::NodeInfo&) const override {
    const bool is_there = handle_.objects().Of<api::StorageClass>().Find("fast") != nullptr;
    return is_there ? Status() : Status::Unschedulable("no class");
  }
  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override {
    return {{{framework::EventResource::kStorageClass, framework::action::kAdd | framework::action::kUpdate},
             [](const PodInfo&, const framework::EventObjects& event) {
               const auto* made = event.New<api::StorageClass>();
               return made != nullptr && made->metadata.name == "fast" ? framework::QueueingHint::kQueue
                                                                       : framework::QueueingHint::kSkip;
             }}};
  }
  std::vector<framework::ObjectKind> ObjectsRead() const override {
    return {framework::ObjectKind::kStorageClass, framework::ObjectKind::kNamespace};
  }

 private:
  const framework::Handle& handle_;
};

TEST_F(OperationsTest, ObjectsReachPluginsAndWakePods) {
  const auto plugin = std::make_shared<WantsClass>(*profiles_.handle);
  profiles_.front()->owned.push_back(plugin);
  profiles_.front()->filter.push_back(plugin.get());
  Harness& h = Start();
  const auto kinds = h.core.ObjectsRead();
  EXPECT_NE(std::find(kinds.begin(), kinds.end(), framework::ObjectKind::kStorageClass), kinds.end());
  EXPECT_TRUE(std::is_sorted(kinds.begin(), kinds.end()));
  const auto place = [&] { return h.core.queue().Find("uid-default-p")->place; };
  const auto set = [&](std::string name) {
    auto object = std::make_shared<api::StorageClass>();
    object->metadata.name = std::move(name);
    h.core.Handle(ObjectSet{std::shared_ptr<const api::StorageClass>(object)}, h.now);
  };
  EXPECT_EQ(place(), queue::Place::kUnschedulable);
  set("slow");
  EXPECT_EQ(place(), queue::Place::kUnschedulable);
  set("fast");
  EXPECT_NE(place(), queue::Place::kUnschedulable);
  h.core.Handle(ObjectGone{framework::ObjectKind::kStorageClass, "fast"}, h.now);
  EXPECT_EQ(h.handle->objects().Of<api::StorageClass>().size(), 1u);
  h.core.Handle(ObjectGone{framework::ObjectKind::kStorageClass, "fast"}, h.now);  // a second deletion is harmless
}

}  // namespace
}  // namespace berth::scheduler
