// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/object_graph.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"

namespace berth::controllers {
namespace {

ObjectGraph::ObjectPtr Object(const std::string& uid, const std::vector<std::pair<std::string, bool>>& owners = {}) {
  auto object = std::make_shared<ObjectView>();
  object->uid = uid;
  object->name = uid;
  for (const auto& [owner, blocks] : owners) {
    ObjectOwner reference;
    reference.uid = owner;
    reference.blocks_deletion = blocks;
    object->owners.push_back(reference);
  }
  return object;
}

TEST(ObjectGraph, KnowsDependentsOfOwnersThatWereNotSeen) {
  ObjectGraph graph;
  graph.Put(nullptr, Object("pod", {{"set", true}, {"set", false}, {"other", false}}));
  ASSERT_NE(graph.Find("set"), nullptr);
  EXPECT_EQ(graph.Find("set")->object, nullptr);
  EXPECT_EQ(graph.Find("set")->dependents.size(), 1u);
  EXPECT_EQ(graph.Find("set")->blocking, 1u);
  EXPECT_EQ(graph.Find("other")->blocking, 0u);
  graph.Put(nullptr, Object("set"));
  EXPECT_EQ(graph.Find("set")->blocking, 1u);
  graph.Erase("set");
  EXPECT_EQ(graph.Find("set")->dependents.size(), 1u);
  graph.Erase("pod");
  EXPECT_EQ(graph.size(), 0u);
}

// Against a twin that looks at all objects.
TEST(ObjectGraph, FollowsEachChange) {
  Random random(7);
  ObjectGraph graph;
  std::map<std::string, ObjectGraph::ObjectPtr> twin;
  const auto uid = [&random] { return "u-" + std::to_string(random.Below(12)); };
  for (int step = 0; step < 20'000; ++step) {
    const std::string changed = uid();
    if (random.Below(3) == 0) {
      graph.Erase(changed);
      twin.erase(changed);
    } else {
      std::vector<std::pair<std::string, bool>> owners;
      for (std::uint64_t i = random.Below(4); i > 0; --i) owners.emplace_back(uid(), random.Below(2) == 0);
      const auto object = Object(changed, owners);
      const auto before = graph.Put(nullptr, object);
      ASSERT_EQ(before, twin.contains(changed) ? twin[changed] : nullptr);
      twin[changed] = object;
    }
    std::map<std::string, std::map<std::string, bool>> dependents;
    std::set<std::string> all;
    for (const auto& [each, object] : twin) {
      all.insert(each);
      for (const ObjectOwner& owner : object->owners) {
        all.insert(owner.uid);
        bool& blocks = dependents[owner.uid][each];
        blocks = blocks || *owner.blocks_deletion;
      }
    }
    ASSERT_EQ(graph.size(), all.size());
    for (const std::string& each : all) {
      const ObjectGraph::Node* node = graph.Find(each);
      ASSERT_NE(node, nullptr);
      ASSERT_EQ(node->object, twin.contains(each) ? twin[each] : nullptr);
      ASSERT_EQ((std::map<std::string, bool>(node->dependents.begin(), node->dependents.end())), dependents[each]);
      std::size_t blocking = 0;
      for (const auto& [dependent, blocks] : dependents[each]) blocking += blocks ? 1 : 0;
      ASSERT_EQ(node->blocking, blocking);
    }
  }
}

}  // namespace
}  // namespace berth::controllers
