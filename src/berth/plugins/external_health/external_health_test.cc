// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/external_health/external_health.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/plugins/external_health/health_report.h"
#include "berth/plugins/helper/outside_testing.h"
#include "berth/plugins/helper/test_cluster.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

using namespace std::chrono_literals;
using testing::MakeNode;
using testing::MakePod;
using Data = Expected<std::shared_ptr<const framework::OutsideData>>;
using Words = std::map<std::string, std::string>;  // "" is good, "?" unknown, anything else bad

constexpr Time kNoon{std::chrono::seconds(1'767'268'800)};

std::shared_ptr<HealthReport> ReportOf(const Words& words) {
  auto report = std::make_shared<HealthReport>();
  for (const auto& [name, text] : words) {
    report->hosts[name] = {text.empty()  ? HostHealth::kGood
                           : text == "?" ? HostHealth::kUnknown
                                         : HostHealth::kBad,
                           text == "?" ? "" : text};
  }
  return report;
}

const std::string kNagios = R"("source":"nagios","url":"http://nagios/cgi-bin/nagios4/statusjson.cgi")";

class ExternalHealthTest : public ::testing::Test {
 protected:
  void Use(const std::string& args) {
    scheduler.table = &cluster.table();
    auto made = MakeFromJson("ExternalHealth", "{" + args + "}", scheduler);
    ASSERT_TRUE(made.ok()) << made.error().message;
    plugin = std::make_unique<TestedPlugin>(std::move(made));
    plugin->SetProfile("safe");
  }
  std::vector<std::string> Deliver(std::size_t source, const Data& data, Time now) {
    const framework::OutsideChange change = plugin->OnOutsideData(source, data, now);
    EXPECT_FALSE(change.all_nodes);
    return change.node_names;
  }
  std::vector<std::string> Say(const Words& words, Time now) {
    return Deliver(0, Data(std::shared_ptr<const framework::OutsideData>(ReportOf(words))), now);
  }
  std::vector<std::string> Tick(Time now) {
    return Deliver(1, Data(std::shared_ptr<const framework::OutsideData>()), now);
  }
  std::vector<std::string> Fail(Time now) { return Deliver(0, Data(Error{ErrorCode::kTimeout, "no answer"}), now); }
  std::string Filter(std::string_view node) { return cluster.Filter(*plugin, *MakePod("p").Info(), node); }
  bool RefusesNone() { return plugin->RefusesNone(cluster.cycle(), *MakePod("p").Info()); }
  double Value(const std::string& name) { return scheduler.Value("berth_external_health_" + name + ",profile=safe"); }

  TestCluster cluster;
  MeteredHandle scheduler;
  std::unique_ptr<TestedPlugin> plugin;
};

TEST_F(ExternalHealthTest, Arguments) {
  const struct {
    std::string name, args, error;
  } kCases[] = {
      {"Nagios", kNagios + R"(,"basicAuthFile":"/f","staleAfter":"1m","onStale":"closed","onUnknown":"open")", ""},
      {"Alertmanager", R"("source":"alertmanager","url":"http://am:9093","alertmanager":{"severities":["critical"]})",
       ""},
      {"JSON", R"("source":"json","url":"https://h/x","json":{"goodStates":["ok"]})", ""},
      {"at the API server", R"("source":"json","url":"/apis/x","json":{"goodStates":["ok"]})", ""},
      {"names from a label", kNagios + R"(,"nodeNameFrom":{"label":"host"})", ""},
      {"nothing", "", "args.source: Required value"},
      {"no URL", R"("source":"nagios")", "args.url: Required value"},
      {"an unknown source", R"("source":"zabbix","url":"http://z")", R"(args.source: Unsupported value: "zabbix")"},
      {"JSON without a mapping", R"("source":"json","url":"http://h")", "args.json: Required value"},
      {"JSON without good states", R"("source":"json","url":"http://h","json":{})",
       "args.json.goodStates: Required value"},
      {"a mapping without JSON", kNagios + R"(,"json":{"goodStates":["ok"]})", "args.json: Forbidden"},
      {"alerts without Alertmanager", kNagios + R"(,"alertmanager":{})", "args.alertmanager: Forbidden"},
      {"half open", kNagios + R"(,"onStale":"ajar")", R"(args.onStale: Unsupported value: "ajar")"},
      {"names from two places", kNagios + R"(,"nodeNameFrom":{"label":"a","annotation":"b"})", "args.nodeNameFrom"},
      {"an unknown field", kNagios + R"(,"colour":"red")", "colour"},
  };
  for (const auto& test_case : kCases) {
    SCOPED_TRACE(test_case.name);
    const auto made = MakeFromJson("ExternalHealth", "{" + test_case.args + "}", scheduler);
    EXPECT_EQ(made.ok(), test_case.error.empty());
    if (made.ok()) continue;
    EXPECT_NE(made.error().message.find(test_case.error), std::string::npos) << made.error().message;
  }
  EXPECT_FALSE(ReadExternalHealthArgs(config::PluginArgs()).ok());
}

TEST_F(ExternalHealthTest, Sources) {
  const auto url = [&](const std::string& args) {
    Use(args);
    const auto sources = plugin->OutsideSources();
    EXPECT_EQ(sources.size(), 2U);
    EXPECT_TRUE(sources.back().is_clock);
    return sources.front().name + " " + sources.front().url;
  };
  EXPECT_EQ(url(kNagios),
            "nagios http://nagios/cgi-bin/nagios4/statusjson.cgi?query=hostlist&details=true&formatoptions=enumerate");
  EXPECT_EQ(url(R"("source":"nagios","url":"http://n/s.cgi?query=hostlist&hostgroup=k8s")"),
            "nagios http://n/s.cgi?query=hostlist&hostgroup=k8s");
  EXPECT_EQ(url(R"("source":"alertmanager","url":"http://am:9093/")"),
            "alertmanager http://am:9093/api/v2/alerts?active=true&silenced=false&inhibited=false");
  EXPECT_EQ(url(R"("source":"json","url":"http://h/x?y","json":{"goodStates":["ok"]})"), "json http://h/x?y");
}

TEST_F(ExternalHealthTest, ABadNodeIsRefusedInTheSourcesWords) {
  for (const char* name : {"a", "b"}) cluster.Add(MakeNode(name));
  Use(kNagios);
  EXPECT_TRUE(RefusesNone());
  EXPECT_EQ(Say({{"a", ""}, {"b", "PING CRITICAL"}, {"router", "down"}}, kNoon), std::vector<std::string>{"b"});
  EXPECT_FALSE(RefusesNone());
  EXPECT_EQ(Filter("a"), "ok");
  EXPECT_EQ(Filter("b"), "Unschedulable: node(s) called bad by nagios: PING CRITICAL");
  EXPECT_EQ(Value("bad_nodes"), 1);
  EXPECT_TRUE(Say({{"a", ""}, {"b", "PING CRITICAL"}, {"router", ""}}, kNoon + 15s).empty())
      << "nothing new about nodes";
  EXPECT_EQ(Say({{"a", ""}, {"b", "rebooting"}}, kNoon + 30s), std::vector<std::string>{"b"}) << "other words";
  EXPECT_EQ(Say({{"a", ""}, {"b", ""}}, kNoon + 45s), std::vector<std::string>{"b"});
  EXPECT_EQ(Filter("b"), "ok");
  EXPECT_EQ(Value("bad_nodes"), 0);
  EXPECT_TRUE(RefusesNone());
}

TEST_F(ExternalHealthTest, StaleDataFailOpenOrClosed) {
  for (const bool is_open : {true, false}) {
    SCOPED_TRACE(is_open ? "open" : "closed");
    cluster.Add(MakeNode("a"));
    cluster.Add(MakeNode("b"));
    Use(kNagios + R"(,"staleAfter":"60s","onStale":")" + (is_open ? "open" : "closed") + "\"");
    const std::string stale = is_open ? "ok" : "Unschedulable: node(s) without fresh word from nagios";
    EXPECT_EQ(Filter("a"), stale) << "before the first answer";
    EXPECT_EQ(RefusesNone(), is_open);
    Tick(kNoon);
    EXPECT_EQ(Value("data_stale"), 1);
    Say({{"a", ""}, {"b", "down"}}, kNoon);
    EXPECT_EQ(Value("data_stale"), 0);
    EXPECT_EQ(Filter("a"), "ok");
    EXPECT_TRUE(Fail(kNoon + 60s).empty()) << "what it said before still counts";
    EXPECT_NE(Filter("b"), "ok");
    EXPECT_EQ(Tick(kNoon + 61s), is_open ? std::vector<std::string>{"b"} : (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(Filter("a"), stale);
    EXPECT_EQ(Filter("b"), stale);
    EXPECT_EQ(RefusesNone(), is_open);
    EXPECT_EQ(Value("data_stale"), 1);
    Say({{"a", ""}, {"b", ""}}, kNoon + 70s);
    EXPECT_EQ(Filter("b"), "ok");
  }
}

TEST_F(ExternalHealthTest, ADaemonThatDiedIsStaleThoughItsCgiAnswers) {
  cluster.Add(MakeNode("a"));
  Use(kNagios + R"(,"onStale":"closed")");
  const auto say = [&](Time as_of, Time now) {
    auto report = ReportOf({{"a", ""}});
    report->as_of = as_of;
    Deliver(0, Data(std::shared_ptr<const framework::OutsideData>(report)), now);
    return Filter("a");
  };
  EXPECT_EQ(say(kNoon - 10s, kNoon), "ok");
  EXPECT_EQ(say(kNoon - 10s, kNoon + 2min), "Unschedulable: node(s) without fresh word from nagios");
  EXPECT_EQ(say(kNoon + 24h, kNoon + 3min), "ok") << "a clock that is ahead";
  Tick(kNoon + 6min);
  EXPECT_NE(Filter("a"), "ok") << "does not make it fresh for longer";
}

TEST_F(ExternalHealthTest, NodesThatAreNotNamedAreUnknown) {
  for (const char* name : {"a", "b", "c"}) cluster.Add(MakeNode(name));
  Use(kNagios);
  Say({{"a", ""}, {"c", "?"}}, kNoon);
  EXPECT_EQ(Value("unknown_nodes"), 2);
  EXPECT_EQ(Filter("b"), "ok");
  EXPECT_EQ(Filter("c"), "ok");
  Use(kNagios + R"(,"onUnknown":"closed")");
  EXPECT_EQ(Say({{"a", ""}, {"c", "?"}}, kNoon), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(Filter("a"), "ok");
  EXPECT_EQ(Filter("b"), "Unschedulable: node(s) unknown to nagios");
  EXPECT_EQ(Filter("c"), "Unschedulable: node(s) unknown to nagios");
  EXPECT_FALSE(RefusesNone());
}

TEST_F(ExternalHealthTest, AlertmanagerNamesBadNodesOnly) {
  for (const char* name : {"a", "b"}) cluster.Add(MakeNode(name));
  Use(R"("source":"alertmanager","url":"http://am","onUnknown":"closed")");
  auto report = ReportOf({{"b", "Disk: it fails"}});
  report->names_bad_hosts_only = true;
  Deliver(0, Data(std::shared_ptr<const framework::OutsideData>(report)), kNoon);
  EXPECT_EQ(Filter("a"), "ok");
  EXPECT_EQ(Filter("b"), "Unschedulable: node(s) called bad by alertmanager: Disk: it fails");
  EXPECT_EQ(Value("unknown_nodes"), 0);
}

TEST_F(ExternalHealthTest, TheNameAtTheSourceFromALabelOrAnAnnotation) {
  cluster.Add(MakeNode("a").Label("host", "rack1-a"));
  cluster.Add(MakeNode("b"));
  cluster.Add(MakeNode("c").Annotation("host", "rack1-a"));
  Use(kNagios + R"(,"nodeNameFrom":{"label":"host"})");
  Say({{"rack1-a", "down"}, {"b", "down"}}, kNoon);
  EXPECT_NE(Filter("a"), "ok");
  EXPECT_NE(Filter("b"), "ok");
  EXPECT_EQ(Filter("c"), "ok");
  Use(kNagios + R"(,"nodeNameFrom":{"annotation":"host"})");
  Say({{"rack1-a", "down"}}, kNoon);
  EXPECT_EQ(Filter("a"), "ok");
  EXPECT_NE(Filter("c"), "ok");
}

TEST_F(ExternalHealthTest, ItemsThatCannotBeReadAreCounted) {
  Use(kNagios);
  auto report = ReportOf({});
  report->unreadable = 3;
  Deliver(0, Data(std::shared_ptr<const framework::OutsideData>(report)), kNoon);
  EXPECT_EQ(Value("unreadable_items_total"), 3);
}

// On a whole core, with hosts that fall and rise: no pod is bound to a node that the last fresh word calls bad, and a
// pod that waited for one is placed when the word changes, long before the flush of unschedulable pods.
TEST(ExternalHealthProperty, NoPodGoesToABadNodeAndNoneWaitsInVain) {
  int placed = 0;
  int waited = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const bool is_closed = random.Below(2) == 0;
    scheduler::Harness harness(
        ProfilesWith(names::kExternalHealth, 1,
                     "{" + kNagios + R"(,"staleAfter":"60s","onStale":")" + (is_closed ? "closed" : "open") + R"("})"));
    const std::size_t count = 1 + random.Below(4);
    for (std::size_t i = 0; i < count; ++i) harness.Set(MakeNode("n" + std::to_string(i)));
    Words words;
    Time said_at{};
    int created = 0;
    std::set<std::string> waiting;
    const auto is_refused = [&](const std::string& node) {
      if (harness.now - said_at > 60s) return is_closed;
      const auto it = words.find(node);
      return it != words.end() && !it->second.empty();
    };
    const auto schedule = [&] {
      harness.core.Tick(harness.now);
      while (harness.core.ScheduleOne(harness.now)) {
        for (const std::string& line : harness.Take()) {
          if (!line.starts_with("bind ")) continue;
          const std::size_t to = line.find(" to ");
          EXPECT_FALSE(is_refused(line.substr(to + 4))) << line;
          EXPECT_EQ(waiting.erase(line.substr(5, to - 5)), 1U) << line;
          ++placed;
        }
      }
    };
    for (int step = 0; step < 60; ++step) {
      harness.now += std::chrono::seconds(random.Below(20));
      // The clock ticks before anything else happens, as close as the interval may be.
      harness.core.Handle(scheduler::OutsideDone{1, std::shared_ptr<const framework::OutsideData>()}, harness.now);
      if (random.Below(3) == 0) {
        words.clear();
        for (std::size_t i = 0; i < count; ++i)
          words["n" + std::to_string(i)] = random.Below(2) == 0 ? "" : "down since " + std::to_string(random.Below(3));
        said_at = harness.now;
        harness.core.Handle(scheduler::OutsideDone{0, std::shared_ptr<const framework::OutsideData>(ReportOf(words))},
                            harness.now);
      }
      if (random.Below(2) == 0) {
        const std::string name = "p" + std::to_string(created++);
        waiting.insert(name);
        harness.Set(MakePod(name).Request("cpu", "1m"));
      }
      schedule();
      waited += static_cast<int>(waiting.size());
    }
    for (auto& [name, text] : words) text.clear();
    for (std::size_t i = 0; i < count; ++i) words["n" + std::to_string(i)];
    said_at = harness.now;
    harness.core.Handle(scheduler::OutsideDone{0, std::shared_ptr<const framework::OutsideData>(ReportOf(words))},
                        harness.now);
    for (int second = 0; second < 12; ++second) {  // no back-off is longer than 10 s
      harness.now += 1s;
      schedule();
    }
    EXPECT_TRUE(waiting.empty()) << *waiting.begin() << " waits";
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(placed, 500);
  EXPECT_GT(waited, 500);
}

}  // namespace
}  // namespace berth::plugins
