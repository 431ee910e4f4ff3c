// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/dependents.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace berth::apiserver {
namespace {

class DependentsTest : public ::testing::Test {
 protected:
  void Add(const std::string& uid, std::vector<std::string> owners) {
    StoredObject draft;
    draft.uid = uid;
    draft.owner_uids = std::move(owners);
    dependents_.Add(nullptr, Seal(std::move(draft), 1));
  }
  std::vector<std::string> Take(const std::string& owner) {
    std::vector<std::string> uids;
    for (const auto& each : dependents_.Take(owner)) uids.push_back(each.object->uid);
    return uids;
  }

  Dependents dependents_;
};

using Uids = std::vector<std::string>;

TEST_F(DependentsTest, ComeBreadthFirst) {
  Add("pod", {"set"});
  Add("set", {"deployment"});
  Add("set-2", {"deployment", "deployment"});
  Add("other", {"somebody"});
  EXPECT_EQ(Take("deployment"), (Uids{"set", "set-2", "pod"}));
  EXPECT_EQ(Take("nobody"), Uids());
  EXPECT_EQ(Take(""), Uids());
}

TEST_F(DependentsTest, AnOwnerInACircleIsNotItsOwnDependent) {
  Add("a", {"b", "a"});
  Add("b", {"a"});
  EXPECT_EQ(Take("a"), Uids{"b"});
}

// Each of many owners has the same long chain of dependents: as many steps as objects, not as owners times objects.
TEST_F(DependentsTest, AreGivenOnceToAllOwnersTogether) {
  constexpr int kCount = 100;
  Uids owners;
  for (int i = 0; i < kCount; ++i) owners.push_back("owner-" + std::to_string(i));
  Add("link-0", owners);
  for (int i = 1; i < kCount; ++i) Add("link-" + std::to_string(i), {"link-" + std::to_string(i - 1)});
  for (int i = 0; i < kCount; ++i) Add("own-" + std::to_string(i), {owners[static_cast<std::size_t>(i)]});
  std::size_t steps = 0;
  for (const std::string& owner : owners) steps += Take(owner).size();
  EXPECT_EQ(steps, 2U * kCount);
}

}  // namespace
}  // namespace berth::apiserver
