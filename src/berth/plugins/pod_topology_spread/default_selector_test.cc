// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_topology_spread/default_selector.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::plugins {
namespace {

using framework::Objects;
using testing::In;
using testing::MakePod;

template <typename T>
std::shared_ptr<T> Named(std::string name, std::string namespace_name = "default") {
  auto object = std::make_shared<T>();
  object->metadata.name = std::move(name);
  object->metadata.namespace_name = std::move(namespace_name);
  return object;
}

void AddService(Objects& objects, std::string name, std::optional<api::StringMap> selector,
                std::string namespace_name = "default") {
  auto service = Named<api::Service>(std::move(name), std::move(namespace_name));
  service->selector = std::move(selector);
  objects.Of<api::Service>().Set(service);
}

template <typename Set>
void AddSet(Objects& objects, std::string name, std::optional<api::LabelSelector> selector) {
  auto set = Named<Set>(std::move(name));
  set->selector = std::move(selector);
  objects.Of<Set>().Set(set);
}

// "a in (1), b exists"
std::string Show(const api::LabelSelector& selector) {
  std::string text;
  for (const api::Requirement& r : selector.requirements) {
    if (!text.empty()) text += ", ";
    text += r.key + " " + std::string(ToString(r.op));
    for (const std::string& value : r.values) text += " " + value;
  }
  return text;
}

TEST(DefaultSelector, JoinsServicesAndTheController) {
  Objects objects;
  AddService(objects, "app", api::StringMap{{"app", "web"}});
  AddService(objects, "tier", api::StringMap{{"app", "web"}, {"tier", "front"}});
  AddService(objects, "no-selector", std::nullopt);
  AddService(objects, "not-all", api::StringMap{{"app", "web"}, {"tier", "back"}});
  AddService(objects, "elsewhere", api::StringMap{{"app", "web"}, {"zone", "z"}}, "other");
  AddService(objects, "everything", api::StringMap());
  AddSet<api::ReplicaSet>(objects, "web", api::LabelSelector{{testing::Exists("hash")}});
  AddSet<api::ReplicaSet>(objects, "nothing", std::nullopt);
  AddSet<api::ReplicaSet>(objects, "wrong", api::LabelSelector{{In("k", {})}});
  AddSet<api::ReplicaSet>(objects, "numbers", api::LabelSelector{{testing::Gt("k", "1")}});
  AddSet<api::StatefulSet>(objects, "web", api::LabelSelector{{In("set", {"s"})}});
  auto controller = Named<api::ReplicationController>("web");
  controller->selector = api::StringMap{{"rc", "r"}};
  objects.Of<api::ReplicationController>().Set(controller);

  const auto pod = [] { return MakePod("p").Label("app", "web").Label("tier", "front"); };
  const std::string services = "app In web, tier In front";
  const struct {
    const char* name;
    testing::PodBuilder pod;
    std::string want;
  } kCases[] = {
      {"services", pod(), services},
      {"no service selects it", MakePod("p").Label("app", "db"), ""},
      {"services of its namespace", pod().Namespace("other").Label("zone", "z"), "app In web, zone In z"},
      {"ReplicaSet", pod().Controller("apps/v1", "ReplicaSet", "web"), services + ", hash Exists"},
      {"ReplicaSet alone", MakePod("p").Controller("apps/v1", "ReplicaSet", "web"), "hash Exists"},
      {"ReplicaSet without selector", pod().Controller("apps/v1", "ReplicaSet", "nothing"), services},
      {"ReplicaSet with a wrong selector", pod().Controller("apps/v1", "ReplicaSet", "wrong"), services},
      {"ReplicaSet that compares", pod().Controller("apps/v1", "ReplicaSet", "numbers"), services},
      {"ReplicaSet that is not there", pod().Controller("apps/v1", "ReplicaSet", "gone"), services},
      {"StatefulSet", pod().Controller("apps/v1", "StatefulSet", "web"), services + ", set In s"},
      {"ReplicationController", pod().Controller("v1", "ReplicationController", "web"),
       "app In web, rc In r, tier In front"},
      {"another API group", pod().Controller("example.com/v1", "ReplicaSet", "web"), services},
      {"another kind", pod().Controller("batch/v1", "Job", "web"), services},
  };
  for (const auto& c : kCases) {
    const auto pod_class = c.pod.Info()->pod_class;
    ServiceIndex services_index;
    // At first by a walk over all services, later by their labels.
    for (int i = 0; i < ServiceIndex::kWalksMax + 3; ++i) {
      EXPECT_EQ(Show(DefaultSelector().Get(*pod_class, objects, services_index)), c.want) << c.name << ", " << i;
    }
  }
}

TEST(DefaultSelector, FollowsItsObjects) {
  Objects objects;
  DefaultSelector selector;
  ServiceIndex services;
  const auto info = MakePod("p").Label("app", "web").Controller("apps/v1", "ReplicaSet", "web").Info();
  const auto get = [&] {
    for (int i = 0; i < ServiceIndex::kWalksMax + 1; ++i) {
      const std::string others = Show(DefaultSelector().Get(*info->pod_class, objects, services));
      EXPECT_EQ(others, Show(selector.Get(*info->pod_class, objects, services)));
    }
    return Show(selector.Get(*info->pod_class, objects, services));
  };
  EXPECT_EQ(get(), "");
  const std::uint64_t first = selector.version();
  AddService(objects, "s", api::StringMap{{"app", "web"}});
  EXPECT_EQ(get(), "app In web");
  EXPECT_GT(selector.version(), first);
  const std::uint64_t second = selector.version();
  EXPECT_EQ(get(), "app In web");
  AddSet<api::ReplicaSet>(objects, "web", api::LabelSelector{{testing::Exists("hash")}});
  EXPECT_EQ(get(), "app In web, hash Exists");
  EXPECT_GT(selector.version(), second);
  // A change that leaves the answer as it was is none.
  const std::uint64_t third = selector.version();
  AddSet<api::ReplicaSet>(objects, "other", api::LabelSelector{{testing::Exists("x")}});
  AddService(objects, "t", api::StringMap{{"app", "db"}});
  EXPECT_EQ(get(), "app In web, hash Exists");
  EXPECT_EQ(selector.version(), third);
  objects.Of<api::Service>().Remove("default/s");
  EXPECT_EQ(get(), "hash Exists");
}

}  // namespace
}  // namespace berth::plugins
