// SPDX-License-Identifier: Apache-2.0
// What needs a hand between two steps of the registry; what clients see is in rest_test.cc.
#include "berth/devcluster/apiserver/registry.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/devcluster/apiserver/test_server.h"

namespace berth::apiserver {
namespace {

// Keeps every write but the removals of one type.
class RefusingLog final : public ObjectLog {
 public:
  bool Put(std::string_view, std::string_view, std::int64_t, std::string_view) override { return true; }
  bool Remove(std::string_view type, std::string_view, std::int64_t) override { return type != refused; }
  std::string WhyNot() const override { return "no room"; }

  std::string refused;
};

class RegistryTest : public ::testing::Test {
 protected:
  RegistryTest() {
    BERTH_CHECK(Create(Type("namespaces"), "", R"({"metadata":{"name":"default"}})") == 201, "no namespace");
  }
  const ServedType& Type(std::string_view plural, std::string_view group = "") {
    const ServedType* found = registry_.Find(group, "v1", plural);
    BERTH_CHECK(found != nullptr, plural);
    return *found;
  }
  // The answer's code: 201, or that of the refusal.
  int Create(const ServedType& served, std::string_view namespace_name, std::string_view document) {
    const auto made = registry_.Create(served, namespace_name, Json(document).get_object(), {});
    return made.ok() ? 201 : made.error().code;
  }
  int Delete(const ServedType& served, std::string_view namespace_name, std::string_view name,
             const DeleteOptions& options = {}) {
    const auto deleted = registry_.Delete(served, namespace_name, name, options);
    return deleted.ok() ? 200 : deleted.error().code;
  }
  bool Has(const ServedType& served, std::string_view namespace_name, std::string_view name) {
    return registry_.Get(served, namespace_name, name).ok();
  }

  ManualClock clock_;
  RefusingLog log_;
  std::function<void(TableId)> on_change_;  // called after a write
  Store store_{Registry::Tables(ResourceTypes(), {}, {}), &log_};
  Registry registry_{ResourceTypes(), store_, clock_, 1, {}, [this](TableId table) {
                       if (on_change_) on_change_(table);
                     }};
};

TEST_F(RegistryTest, ANamespaceStaysWhileTheLogKeepsItsObjects) {
  const ServedType& namespaces = Type("namespaces");
  const ServedType& maps = Type("configmaps");
  ASSERT_EQ(Create(namespaces, "", R"({"metadata":{"name":"team"}})"), 201);
  ASSERT_EQ(Create(maps, "team", R"({"metadata":{"name":"c"}})"), 201);
  log_.refused = "/configmaps";
  const auto refused = registry_.Delete(namespaces, "", "team", {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, 500);
  EXPECT_EQ(refused.error().message, "Internal error occurred: not kept: no room");
  EXPECT_TRUE(Has(namespaces, "", "team"));
  EXPECT_TRUE(Has(maps, "team", "c"));
  log_.refused.clear();
  EXPECT_EQ(Delete(namespaces, "", "team"), 200);
  EXPECT_FALSE(Has(maps, "team", "c"));
}

std::string Owned(std::string_view name, std::string_view owner, std::string_view uid) {
  return R"({"metadata":{"name":")" + std::string(name) +
         R"(","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":")" + std::string(owner) +
         R"(","uid":")" + std::string(uid) + R"("}]}})";
}

// A look for each would make the time grow with the square of the objects. A dependent that comes after the first
// deletion shows how many looks there were.
TEST_F(RegistryTest, ACollectionsDependentsAreLookedForOnce) {
  const ServedType& maps = Type("configmaps");
  const ServedType& secrets = Type("secrets");
  for (const std::string name : {"a", "b", "c"}) {
    ASSERT_EQ(Create(maps, "default", R"({"metadata":{"name":")" + name + R"("}})"), 201);
    const std::string uid = (*registry_.Get(maps, "default", name))->uid;
    ASSERT_EQ(Create(secrets, "default", Owned("of-" + name, name, uid)), 201);
  }
  const std::string uid = (*registry_.Get(maps, "default", "c"))->uid;
  bool is_there = false;
  on_change_ = [&](TableId table) {
    if (table != maps.table || std::exchange(is_there, true)) return;
    ASSERT_EQ(Create(secrets, "default", Owned("late", "c", uid)), 201);
  };
  const auto gone = registry_.DeleteCollection(maps, {}, {.propagation_policy = "Foreground"});
  ASSERT_TRUE(gone.ok());
  EXPECT_EQ(gone->size(), 3U);
  for (const std::string name : {"a", "b", "c"}) {
    EXPECT_FALSE(Has(maps, "default", name));
    EXPECT_FALSE(Has(secrets, "default", "of-" + name));
  }
  EXPECT_TRUE(Has(secrets, "default", "late"));
}

}  // namespace
}  // namespace berth::apiserver
