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

// Calls something back each time it is read: a write does that last, when all is checked and the store is not locked.
class CallingClock final : public Clock {
 public:
  Time Now() const override {
    if (on_now) on_now();
    return Time();
  }
  Time WallNow() const override { return Time(); }

  std::function<void()> on_now;
};

class RegistryTest : public ::testing::Test {
 protected:
  RegistryTest() {
    BERTH_CHECK(Create(Type("namespaces"), "", R"({"metadata":{"name":"default"}})") == 201, "no namespace");
  }
  const objects::ServedType& Type(std::string_view plural, std::string_view group = "") {
    const objects::ServedType* found = registry_.Find(group, "v1", plural);
    BERTH_CHECK(found != nullptr, plural);
    return *found;
  }
  // The answer's code: 201, or that of the refusal.
  int Create(const objects::ServedType& served, std::string_view namespace_name, std::string_view document) {
    const auto made = registry_.Create(served, namespace_name, Json(document).get_object(), {});
    return made.ok() ? 201 : made.error().code;
  }
  int Delete(const objects::ServedType& served, std::string_view namespace_name, std::string_view name,
             const DeleteOptions& options = {}) {
    const auto deleted = registry_.Delete(served, namespace_name, name, options);
    return deleted.ok() ? 200 : deleted.error().code;
  }
  bool Has(const objects::ServedType& served, std::string_view namespace_name, std::string_view name) {
    return registry_.Get(served, namespace_name, name).ok();
  }

  CallingClock clock_;
  RefusingLog log_;
  std::function<void(TableId)> on_change_;  // called after a write
  Store store_{Registry::Tables(objects::ResourceTypes(), {}, {}), &log_};
  Registry registry_{objects::ResourceTypes(), store_, clock_, 1, {}, [this](TableId table) {
                       if (on_change_) on_change_(table);
                     }};
};

TEST_F(RegistryTest, ANamespaceStaysWhileTheLogKeepsItsObjects) {
  const objects::ServedType& namespaces = Type("namespaces");
  const objects::ServedType& maps = Type("configmaps");
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

constexpr const char* kTeam = R"({"metadata":{"name":"team"}})";
constexpr const char* kLate = R"({"metadata":{"name":"late"}})";

// One thread has checked that the namespace takes an object when another one deletes the namespace.
TEST_F(RegistryTest, ACreateInFlightDoesNotOutliveItsNamespace) {
  const objects::ServedType& namespaces = Type("namespaces");
  const objects::ServedType& maps = Type("configmaps");
  struct {
    const char* name;
    const char* space;
    bool is_made_again;
    int code;
  } const cases[] = {
      {"gone", kTeam, false, 404},
      {"another one of that name", kTeam, true, 201},
      {"waits for its finalizers", R"({"metadata":{"name":"team","finalizers":["x.io/f"]}})", false, 403},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    ASSERT_EQ(Create(namespaces, "", c.space), 201);
    bool is_deleted = false;
    clock_.on_now = [&] {
      if (std::exchange(is_deleted, true)) return;
      EXPECT_EQ(Delete(namespaces, "", "team"), 200);
      if (c.is_made_again) {
        EXPECT_EQ(Create(namespaces, "", kTeam), 201);
      }
    };
    EXPECT_EQ(Create(maps, "team", kLate), c.code);
    clock_.on_now = nullptr;
    EXPECT_EQ(Has(maps, "team", "late"), c.code == 201);
    if (c.is_made_again) {
      EXPECT_EQ(Delete(namespaces, "", "team"), 200);
    }
  }
}

TEST_F(RegistryTest, WhatComesWhileANamespaceIsEmptiedGoesAsWell) {
  const objects::ServedType& namespaces = Type("namespaces");
  const objects::ServedType* const types[] = {&Type("configmaps"), &Type("secrets")};
  ASSERT_EQ(Create(namespaces, "", kTeam), 201);
  for (const objects::ServedType* type : types)
    ASSERT_EQ(Create(*type, "team", R"({"metadata":{"name":"early"}})"), 201);
  bool has_come[2] = {};
  on_change_ = [&](TableId table) {
    // When the one table is emptied, an object comes into the other.
    for (int i : {0, 1}) {
      if (table == types[i]->table && !std::exchange(has_come[i], true)) {
        EXPECT_EQ(Create(*types[1 - i], "team", kLate), 201);
      }
    }
  };
  EXPECT_EQ(Delete(namespaces, "", "team"), 200);
  on_change_ = nullptr;
  EXPECT_FALSE(Has(namespaces, "", "team"));
  for (const objects::ServedType* type : types) {
    EXPECT_FALSE(Has(*type, "team", "early"));
    EXPECT_FALSE(Has(*type, "team", "late"));
  }
}

TEST_F(RegistryTest, ACreateInFlightDoesNotOutliveItsDefinition) {
  constexpr const char* kDefinition = R"({"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com",
      "scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,
      "storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})";
  const objects::ServedType& definitions = Type("customresourcedefinitions", "apiextensions.k8s.io");
  const auto widgets = [&] { return registry_.FindAny("example.com", "v1", "widgets"); };
  for (const bool is_made_again : {false, true}) {
    SCOPED_TRACE(is_made_again);
    ASSERT_EQ(Create(definitions, "", kDefinition), 201);
    bool is_deleted = false;
    clock_.on_now = [&] {
      if (std::exchange(is_deleted, true)) return;
      EXPECT_EQ(Delete(definitions, "", "widgets.example.com"), 200);
      // Another definition is another type, whatever it is called.
      if (is_made_again) {
        EXPECT_EQ(Create(definitions, "", kDefinition), 201);
      }
    };
    const auto before = widgets();
    EXPECT_EQ(Create(*before, "default", kLate), 404);
    clock_.on_now = nullptr;
    EXPECT_FALSE(Has(*before, "default", "late"));
    if (is_made_again) {
      EXPECT_EQ(Delete(definitions, "", "widgets.example.com"), 200);
    }
  }
  // One that comes while the table is emptied goes as well.
  ASSERT_EQ(Create(definitions, "", kDefinition), 201);
  const auto served = widgets();
  ASSERT_EQ(Create(*served, "default", R"({"metadata":{"name":"early"}})"), 201);
  bool has_come = false;
  on_change_ = [&](TableId table) {
    if (table == served->table && !std::exchange(has_come, true)) {
      EXPECT_EQ(Create(*served, "default", kLate), 201);
    }
  };
  EXPECT_EQ(Delete(definitions, "", "widgets.example.com"), 200);
  on_change_ = nullptr;
  EXPECT_FALSE(Has(definitions, "", "widgets.example.com"));
  EXPECT_FALSE(Has(*served, "default", "late"));
}

}  // namespace
}  // namespace berth::apiserver
