// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/class_store.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/cache/pod_classes.h"
#include "berth/testing/builders.h"

namespace berth::runtime {
namespace {

using framework::Status;
using testing::MakePod;

TEST(FirstSights, AreBounded) {
  FirstSights sights;
  EXPECT_TRUE(sights.Note(1));
  EXPECT_FALSE(sights.Note(1));
  for (std::uint64_t id = 2; sights.size() < FirstSights::kCountMax; ++id) EXPECT_TRUE(sights.Note(id));
  EXPECT_TRUE(sights.Note(UINT64_MAX)) << "the set is full";
  EXPECT_EQ(sights.size(), 1u);
  EXPECT_TRUE(sights.Note(1)) << "forgotten with all others";
}

class ClassStoreTest : public ::testing::Test {
 protected:
  void Make(EvaluatorOptions options) {
    options_ = std::move(options);
    traits_ = std::make_unique<ProfileTraits>(plugins_, options_.form);
    store_ = std::make_unique<ClassStore>(*traits_, options_);
  }
  ClassStore::Found Find(const std::string& value, int priority = 0, bool do_nominations_matter = false,
                         std::uint64_t epoch = 0) {
    // The pods are kept, because a class lives as long as its pods.
    pods_.push_back(classes_.MakePodInfo(MakePod("p").NodeSelector("i", value).Priority(priority).Build()));
    return store_->Find(*pods_.back(), do_nominations_matter, epoch);
  }

  cache::PodClasses classes_;
  std::vector<framework::PodInfoPtr> pods_;
  ProfilePlugins plugins_;
  EvaluatorOptions options_;
  std::unique_ptr<ProfileTraits> traits_;
  std::unique_ptr<ClassStore> store_;
};

TEST_F(ClassStoreTest, TheSecondPodFindsWhatTheFirstOneLeft) {
  Make({});
  const ClassStore::Found first = Find("a");
  EXPECT_TRUE(first.is_first_sight);
  EXPECT_EQ(store_->size(), 0u) << "what comes once gets no room of its own";
  first.kept->version = 7;
  const ClassStore::Found second = Find("a");
  EXPECT_FALSE(second.is_first_sight);
  EXPECT_EQ(second.kept->version, 7u);
  EXPECT_EQ(second.key, first.key);
  EXPECT_EQ(store_->size(), 1u);
  EXPECT_EQ(Find("a").kept, second.kept);
}

TEST_F(ClassStoreTest, AClassThatComesBackAfterOthersStartsOver) {
  Make({});
  Find("a").kept->version = 7;
  Find("b").kept->version = 8;
  const ClassStore::Found again = Find("a");
  EXPECT_FALSE(again.is_first_sight);
  EXPECT_EQ(again.kept->version, 0u);
}

TEST_F(ClassStoreTest, NothingIsSharedInFormsThatKeepNothing) {
  Make({.form = Form::kColumn});
  Find("a").kept->version = 7;
  const ClassStore::Found again = Find("a");
  EXPECT_TRUE(again.is_first_sight);
  EXPECT_EQ(again.kept->version, 0u);
  EXPECT_EQ(store_->size(), 0u);
}

TEST_F(ClassStoreTest, AnotherEpochForgets) {
  Make({});
  (void)Find("a");
  Find("a").kept->version = 7;
  EXPECT_EQ(Find("a").kept->version, 7u);
  EXPECT_EQ(Find("a", 0, false, 1).kept->version, 0u);
}

TEST_F(ClassStoreTest, StatusesThatPileUpAreForgotten) {
  Make({});
  (void)Find("a");
  KeptEvaluation& kept = *Find("a").kept;
  for (int i = 0; i < 5000; ++i) (void)kept.statuses.Intern(Status::Unschedulable(std::to_string(i)));
  EXPECT_EQ(Find("a").kept->statuses.size(), framework::StatusTable().size());
}

TEST_F(ClassStoreTest, WhereNominationsMatterPrioritiesAreApart) {
  Make({});
  const std::uint64_t without = Find("a").key;
  const std::uint64_t zero = Find("a", 0, true).key;
  const std::uint64_t ten = Find("a", 10, true).key;
  EXPECT_NE(without, zero);
  EXPECT_NE(without, ten);
  EXPECT_NE(zero, ten);
  EXPECT_EQ(Find("a", 10, true).key, ten);
}

TEST_F(ClassStoreTest, BytesAreBoundedAndTheLastOneStays) {
  const struct {
    const char* name;
    std::size_t bytes_max;
    std::size_t bytes_per_row_max;
  } cases[] = {
      {"room for some", 16'000, 0},
      {"room by rows of the table", 0, 160},
      {"room for none", 0, 0},
      {"room for all", std::size_t{1} << 30, 0},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    Make({.class_bytes_max = test.bytes_max, .class_bytes_per_row_max = test.bytes_per_row_max});
    const KeptEvaluation* last = nullptr;
    for (int i = 0; i < 50; ++i) {
      (void)Find(std::to_string(i));
      KeptEvaluation* kept = Find(std::to_string(i)).kept;
      kept->Resize(100);
      store_->Bound(100);
      EXPECT_EQ(Find(std::to_string(i)).kept, kept);
      last = kept;
    }
    const std::size_t half = (test.bytes_max + 100 * test.bytes_per_row_max) / 2;
    const std::size_t want = std::min<std::size_t>(50, std::max<std::size_t>(1, half / last->Bytes()));
    EXPECT_EQ(store_->size(), want);
  }
}

TEST_F(ClassStoreTest, WhatIsNotUsedForAPeriodGoes) {
  Make({});
  for (const char* label : {"a", "b"}) {
    (void)Find(label);
    (void)Find(label);
  }
  store_->DropIdle();
  EXPECT_EQ(store_->size(), 2u);
  (void)Find("b");
  store_->DropIdle();
  EXPECT_EQ(store_->size(), 1u);
  store_->DropIdle();
  EXPECT_EQ(store_->size(), 0u);
}

}  // namespace
}  // namespace berth::runtime
