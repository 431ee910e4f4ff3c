// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/store.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "berth/base/random.h"
#include "berth/devcluster/apiserver/test_server.h"

namespace berth::apiserver {
namespace {

objects::StoredObject Draft(const std::string& namespace_name, const std::string& name, const std::string& value) {
  return objects::MakeDraft(
      TestTypes()[3],
      {{"kind", "ConfigMap"},
       {"apiVersion", "v1"},
       {"metadata", json::object{{"name", name}, {"namespace", namespace_name}, {"resourceVersion", "7"}}},
       {"data", json::object{{"value", value}}}});
}

std::string ValueOf(const objects::StoredObject& object) {
  return std::string(At(objects::ParseStored(object), "data.value").as_string().c_str());
}

TEST(StoredObjectTest, SplicesItsVersion) {
  const objects::ObjectPtr object = objects::Seal(Draft("a", "b", "\"quoted\" é"), 41);
  EXPECT_EQ(object->bytes,
            R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"b","namespace":"a","resourceVersion":"41"},)"
            R"("data":{"value":"\"quoted\" é"}})");
  EXPECT_EQ(object->name(), "b");
  EXPECT_EQ(object->namespace_name(), "a");
  std::string later;
  objects::AppendWithVersion(later, *object, 1234);
  EXPECT_NE(later.find(R"("resourceVersion":"1234"})"), std::string::npos);
  EXPECT_TRUE(objects::SameContent(Draft("a", "b", "\"quoted\" é"), *object));
  EXPECT_FALSE(objects::SameContent(Draft("a", "b", "other"), *object));
  const objects::ObjectPtr resealed = objects::Seal(*object, 99999);
  EXPECT_EQ(resealed->bytes.find("41"), std::string::npos);
}

TEST(StoredObjectTest, WritesWhatTheLibraryWouldWrite) {
  const json::value odd = Json(
      R"({"text":"\u0001\n\t\"\\/é\u007f","numbers":[0,-1,18446744073709551615,1.5,1e300,-0.0],"flags":[true,false,null],)"
      R"("empty":[{},[],""],"k\"ey\u0002":{"a":{"b":[[1],[2,3]]}}})");
  json::object document{{"kind", "ConfigMap"},
                        {"apiVersion", "v1"},
                        {"metadata", json::object{{"name", "a"}, {"resourceVersion", ""}}},
                        {"data", odd}};
  EXPECT_EQ(objects::MakeDraft(TestTypes()[3], document).bytes, json::serialize(document));
}

TEST(StoredObjectTest, KnowsAFreshPod) {
  const auto draft = [](const char* spec, const char* status) {
    return objects::MakeDraft(TestTypes()[0], {{"kind", "Pod"},
                                               {"apiVersion", "v1"},
                                               {"metadata", json::object{{"name", "a"}, {"namespace", "n"}}},
                                               {"spec", Json(spec)},
                                               {"status", Json(status)}});
  };
  const objects::ObjectPtr pod = objects::Seal(draft(R"({"a":"}"})", R"({"phase":"Pending"})"), 123456);
  ASSERT_NE(pod->fresh.spec_tail, 0U);
  const objects::ObjectPtr changed = objects::Seal(objects::WithSpecAndStatus(*pod, R"(,"b":1)", R"(,"c":[2])"), 7);
  EXPECT_EQ(changed->bytes,
            R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"n","resourceVersion":"7"},)"
            R"("spec":{"a":"}","b":1},"status":{"phase":"Pending","c":[2]}})");
  EXPECT_EQ(changed->fresh.spec_tail, 0U);
  for (const auto& [spec, status] :
       std::vector<std::pair<const char*, const char*>>{{"{}", R"({"phase":"Pending"})"},
                                                        {R"({"a":1})", "{}"},
                                                        {R"({"nodeName":"n"})", R"({"phase":"Pending"})"},
                                                        {R"({"schedulingGates":[]})", R"({"phase":"Pending"})"},
                                                        {R"({"a":1})", R"({"conditions":[]})"},
                                                        {R"({"a":1})", R"({"nominatedNodeName":"n"})"}}) {
    EXPECT_EQ(draft(spec, status).fresh.spec_tail, 0U) << spec << status;
  }
}

TEST(StoreTest, WritersWithAnOldViewAreTooLate) {
  Store store({TableOptions()});
  const objects::ObjectPtr first = store.Put(0, nullptr, Draft("n", "a", "1"), Time());
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(store.Put(0, nullptr, Draft("n", "a", "2"), Time()), nullptr);
  const objects::ObjectPtr second = store.Put(0, first, Draft("n", "a", "2"), Time());
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->resource_version, first->resource_version + 1);
  EXPECT_EQ(store.Put(0, first, Draft("n", "a", "3"), Time()), nullptr);
  EXPECT_EQ(store.Remove(0, first, *first), nullptr);
  EXPECT_NE(store.Remove(0, second, *second), nullptr);
  EXPECT_EQ(store.Get(0, "n/a"), nullptr);
  EXPECT_EQ(store.Count(0, "n"), 0u);
}

// The twin of lists at an earlier version: a copy of the whole state after each write.
TEST(StoreTest, ListsOfAnEarlierVersionEqualTheStateThen) {
  Store store({TableOptions()});
  Random random(7);
  std::map<std::string, std::string> state;
  std::map<std::int64_t, std::map<std::string, std::string>> states{{store.resource_version(), state}};
  for (int step = 0; step < 400; ++step) {
    const std::string space = random.Below(2) == 0 ? "x" : "xy";
    const std::string name = "o" + std::to_string(random.Below(12));
    const std::string key = space + '/' + name;
    const objects::ObjectPtr current = store.Get(0, key);
    if (current != nullptr && random.Below(3) == 0) {
      ASSERT_NE(store.Remove(0, current, *current), nullptr);
      state.erase(key);
    } else {
      const std::string value = std::to_string(step);
      ASSERT_NE(store.Put(0, current, Draft(space, name, value), Time()), nullptr);
      state[key] = value;
    }
    states[store.resource_version()] = state;
  }
  for (const auto& [version, want] : states) {
    for (const char* space : {"", "x", "xy"}) {
      // In pages of three, as clients list.
      std::map<std::string, std::string> got;
      Store::ListQuery query;
      query.selector.namespace_name = space;
      query.limit = 3;
      query.at_version = version;
      while (true) {
        const Store::ListResult page = store.List(0, query);
        ASSERT_EQ(page.failure, Store::ListFailure::kNone);
        for (const objects::ObjectPtr& object : page.objects) got[object->key] = ValueOf(*object);
        if (!page.has_more) break;
        query.after_key = page.objects.back()->key;
      }
      std::map<std::string, std::string> filtered;
      for (const auto& [key, value] : want) {
        if (*space == 0 || key.starts_with(std::string(space) + '/')) filtered[key] = value;
      }
      ASSERT_EQ(got, filtered) << "at " << version << " in \"" << space << '"';
    }
  }
  store.Compact(100);
  Store::ListQuery query;
  query.at_version = 99;
  EXPECT_EQ(store.List(0, query).failure, Store::ListFailure::kExpired);
  query.at_version = 100;
  EXPECT_EQ(store.List(0, query).objects.size(), states[100].size());
  query.at_version = 100'000;
  EXPECT_EQ(store.List(0, query).failure, Store::ListFailure::kFuture);
}

TEST(StoreTest, HistoryIsBoundedInBytes) {
  Store store({TableOptions{.history_bytes_max = 20'000}});
  for (int i = 0; i < 100; ++i) {
    ASSERT_NE(store.Put(0, nullptr, Draft("n", "o" + std::to_string(i), std::string(1000, 'x')), Time()), nullptr);
  }
  const Store::WatchStart start = store.StartWatch(0, 1, {});
  EXPECT_EQ(start.failure, Store::ListFailure::kExpired);
  EXPECT_GT(start.oldest_version, 80);
  EXPECT_TRUE(store.ReadEvents(0, 0, 10).fell_behind);
}

TEST(StoreTest, HistoryGoesWithTime) {
  Store store(std::vector<TableOptions>(2));
  Time now{std::chrono::hours(1)};
  const auto put = [&](TableId table, const std::string& name) {
    return store.Put(table, nullptr, Draft("n", name, "x"), now)->resource_version;
  };
  const auto fails = [&](TableId table, std::int64_t after_version) {
    return store.StartWatch(table, after_version, {}).failure != Store::ListFailure::kNone;
  };
  const std::int64_t before = store.resource_version();
  const std::int64_t first = put(0, "a");
  store.Expire(now);
  now += kHistoryTimeMax - Duration(1);
  const std::int64_t second = put(0, "b");
  store.Expire(now);
  EXPECT_FALSE(fails(0, before));
  now += Duration(1);
  store.Expire(now);  // too soon for another mark: that is at most kHistoryMarkInterval too late
  now += kHistoryMarkInterval;
  store.Expire(now);
  EXPECT_TRUE(fails(0, before));
  EXPECT_FALSE(fails(0, first));
  EXPECT_EQ(store.ReadEvents(0, 1, 10).events.size(), 1u);
  now += kHistoryTimeMax;
  store.Expire(now);
  EXPECT_TRUE(fails(0, first));
  // Where nothing has changed since, nothing is lost.
  EXPECT_FALSE(fails(0, second));
  EXPECT_FALSE(fails(1, before));
  EXPECT_EQ(store.List(0, {}).objects.size(), 2u);
}

TEST(StoreTest, ManyThreadsIncrementOneCounter) {
  Store store({TableOptions()});
  ASSERT_NE(store.Put(0, nullptr, Draft("n", "counter", "0"), Time()), nullptr);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int done = 0; done < 100;) {
        const objects::ObjectPtr current = store.Get(0, "n/counter");
        const std::string next = std::to_string(std::stoi(ValueOf(*current)) + 1);
        if (store.Put(0, current, Draft("n", "counter", next), Time()) != nullptr) ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ValueOf(*store.Get(0, "n/counter")), "400");
  EXPECT_EQ(store.resource_version(), 1 + 401);
}

TEST(SelectorTest, FieldSelectorsParse) {
  const objects::ResourceType& pods = TestTypes()[0];
  const struct {
    const char* text;
    std::size_t want;  // requirements; 0 with an error
    const char* error;
  } cases[] = {
      {"", 0, ""},
      {"metadata.name=a", 1, ""},
      {"metadata.name==a,metadata.namespace!=b", 2, ""},
      {"spec.nodeName=,status.phase!=Failed", 2, ""},
      {"metadata.name=a\\,b\\=c\\\\", 1, ""},
      {"metadata.name", 0, "want field=value"},
      {"metadata.name=a=b", 0, "a second ="},
      {"metadata.name=a\\b", 0, "\\ escapes only"},
      {"spec.other=1", 0, "field label not supported: spec.other"},
  };
  for (const auto& c : cases) {
    const auto parsed = ParseFieldSelector(c.text, pods);
    if (*c.error != 0) {
      ASSERT_FALSE(parsed.ok()) << c.text;
      EXPECT_NE(parsed.error().message.find(c.error), std::string::npos) << c.text << ": " << parsed.error().message;
    } else {
      ASSERT_TRUE(parsed.ok()) << c.text << ": " << parsed.error().message;
      EXPECT_EQ(parsed->size(), c.want) << c.text;
    }
  }
  const auto escaped = ParseFieldSelector("metadata.name=a\\,b\\=c\\\\", pods);
  EXPECT_EQ((*escaped)[0].value, "a,b=c\\");
}

}  // namespace
}  // namespace berth::apiserver
