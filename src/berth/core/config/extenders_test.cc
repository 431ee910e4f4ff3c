// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/extenders.h"

#include <string>

#include <gtest/gtest.h>

#include "berth/core/config/load.h"
#include "berth/core/config/validate.h"

namespace berth::config {
namespace {

using namespace std::chrono_literals;

constexpr const char* kHeader = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

Expected<KubeSchedulerConfiguration> Load(const std::string& extenders) {
  auto loaded = LoadConfiguration(kHeader + ("extenders: " + extenders));
  if (!loaded.ok()) return loaded.error();
  BERTH_RETURN_IF_ERROR(ValidateConfiguration(*loaded));
  return loaded;
}

std::string Problem(const std::string& extenders) {
  const auto loaded = Load(extenders);
  return loaded.ok() ? "" : loaded.error().message;
}

TEST(ExtendersTest, Reads) {
  const auto loaded = Load(R"(
- urlPrefix: http://127.0.0.1:8888/scheduler/
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 5
  bindVerb: bind
  enableHTTPS: true
  tlsConfig: {insecure: true, serverName: s, certFile: c, keyFile: k, caFile: a, certData: Y2VydA==, keyData: a2V5, caData: Y2E=}
  httpTimeout: 30s
  nodeCacheCapable: true
  managedResources: [{name: example.com/gpu, ignoredByScheduler: true}, {name: example.com/fpga}]
  ignorable: true
- urlPrefix: http://plain
)");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ASSERT_EQ(loaded->extenders.size(), 2U);
  Extender want;
  want.url_prefix = "http://127.0.0.1:8888/scheduler/";
  want.filter_verb = "filter";
  want.prioritize_verb = "prioritize";
  want.weight = 5;
  want.bind_verb = "bind";
  want.enable_https = true;
  want.tls = ExtenderTls{true, "s", "c", "k", "a", "Y2VydA==", "a2V5", "Y2E="};
  want.http_timeout = 30s;
  want.node_cache_capable = true;
  want.managed_resources = {{"example.com/gpu", true}, {"example.com/fpga", false}};
  want.ignorable = true;
  EXPECT_EQ(loaded->extenders[0], want);
  EXPECT_EQ(loaded->extenders[0].UrlOf("filter"), "http://127.0.0.1:8888/scheduler/filter");
  EXPECT_EQ(loaded->extenders[1].http_timeout, 5s);
  EXPECT_EQ(loaded->extenders[1].UrlOf("filter"), "http://plain/filter");
}

TEST(ExtendersTest, Rules) {
  const std::string shape =
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
      "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
      "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  const auto managed = [](const std::string& name) {
    return "[{urlPrefix: http://x, managedResources: [{name: '" + name + "'}]}]";
  };
  const struct {
    const char* name;
    std::string extenders;
    std::string want;
  } cases[] = {
      {"none", "[]", ""},
      {"no verb", "[{urlPrefix: http://x}]", ""},
      {"prioritize without weight", "[{urlPrefix: http://x, prioritizeVerb: p}]",
       "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"},
      {"prioritize with a negative weight",
       "[{urlPrefix: http://x}, {urlPrefix: http://y, prioritizeVerb: p, weight: -1}]",
       "extenders[1].weight: Invalid value: -1: must have a positive weight applied to it"},
      {"weight without prioritize", "[{urlPrefix: http://x, weight: -1}]", ""},
      {"two that bind", "[{urlPrefix: http://x, bindVerb: b}, {urlPrefix: http://y, bindVerb: b}]",
       "extenders: Invalid value: \"found 2 extenders implementing bind\": only one extender can implement bind"},
      {"an extended resource", managed("example.com/gpu"), ""},
      {"a native resource", managed("cpu"),
       "extenders[0].managedResources[0].name: Invalid value: \"cpu\": is an invalid extended resource name"},
      {"a resource of Kubernetes", managed("kubernetes.io/foo"),
       "extenders[0].managedResources[0].name: Invalid value: \"kubernetes.io/foo\": is an invalid extended resource "
       "name"},
      {"a resource of a quota", managed("requests.example.com/gpu"),
       "extenders[0].managedResources[0].name: Invalid value: \"requests.example.com/gpu\": is an invalid extended "
       "resource name"},
      {"no name", managed(""),
       "[extenders[0].managedResources[0].name: Invalid value: \"\": name part must be non-empty, "
       "extenders[0].managedResources[0].name: Invalid value: \"\": name part " +
           shape + "]"},
      {"a name with a space", managed("example.com/a b"),
       "extenders[0].managedResources[0].name: Invalid value: \"example.com/a b\": name part " + shape},
      {"the same resource twice",
       "[{urlPrefix: http://x, managedResources: [{name: a.b/c}]}, {urlPrefix: http://y, managedResources: [{name: "
       "a.b/c}]}]",
       "extenders[1].managedResources[0].name: Invalid value: \"a.b/c\": duplicate extender managed resource name"},
      {"a negative time-out", "[{urlPrefix: http://x, httpTimeout: -1s}]",
       "extenders[0].httpTimeout: Invalid value: \"-1s\": must not be negative: an extender that hangs would stop all "
       "scheduling"},
      {"unknown field", "[{urlPrefix: http://x, filterverb: f}]",
       "extenders[0].filterverb: unknown field; known here: bindVerb, enableHTTPS, filterVerb, httpTimeout, ignorable, "
       "managedResources, nodeCacheCapable, preemptVerb, prioritizeVerb, tlsConfig, urlPrefix, weight; "
       "the nearest is filterVerb"},
      {"a duration that is none", "[{urlPrefix: http://x, httpTimeout: 5}]",
       "extenders[0].httpTimeout: must be a duration such as \"15s\", not a number"},
      {"no list", "{}", "extenders: must be a list, not an object"},
  };
  for (const auto& c : cases) EXPECT_EQ(Problem(c.extenders), c.want) << c.name;
}

TEST(ExtendersTest, ThoseThatMayBeIgnoredComeLast) {
  std::vector<Extender> extenders(4);
  for (std::size_t i = 0; i < extenders.size(); ++i) extenders[i].url_prefix = std::to_string(i);
  extenders[0].ignorable = extenders[2].ignorable = true;
  std::string order;
  for (const Extender& extender : InCallOrder(extenders)) order += extender.url_prefix;
  EXPECT_EQ(order, "1302");
}

TEST(ExtendersTest, Interest) {
  Extender extender;
  api::PodSpec pod;
  pod.containers.emplace_back().requests = {{"cpu", {}}};
  EXPECT_TRUE(extender.IsInterested(pod)) << "without managed resources, in all pods";
  extender.managed_resources = {{"example.com/gpu", false}};
  EXPECT_FALSE(extender.IsInterested(pod));
  pod.init_containers.emplace_back().requests = {{"example.com/gpu", {}}};
  EXPECT_TRUE(extender.IsInterested(pod));
  pod.containers.front().requests = {{"cpu", {}}, {"example.com/gpu", {}}};
  pod.init_containers.clear();
  EXPECT_TRUE(extender.IsInterested(pod));
}

TEST(ExtendersTest, IgnoredResourcesReachNodeResourcesFit) {
  auto loaded = Load(
      "[{urlPrefix: http://x, managedResources: [{name: a.b/c, ignoredByScheduler: true}, {name: a.b/d}]}]\n"
      "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [e.f/g]}}]}]");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ASSERT_TRUE(IgnoreResources(loaded->extenders, loaded->profiles).ok());
  const auto* args = loaded->profiles[0].FindArgs("NodeResourcesFit");
  ASSERT_NE(args, nullptr);
  EXPECT_EQ(std::get<NodeResourcesFitArgs>(*args).ignored_resources, (std::vector<std::string>{"a.b/c"}))
      << "as upstream: they replace what the profile has";

  loaded = Load(
      "[{urlPrefix: http://x, managedResources: [{name: a.b/c, ignoredByScheduler: true}]}]\n"
      "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const auto ignored = IgnoreResources(loaded->extenders, loaded->profiles);
  ASSERT_FALSE(ignored.ok());
  EXPECT_EQ(ignored.error().message, "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config");
}

}  // namespace
}  // namespace berth::config
