// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/external_health/health_report.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth::plugins {
namespace {

using namespace std::chrono_literals;

// "a good, b bad (words), c unknown; 2 unreadable", in the order of names.
std::string Describe(const Expected<HealthReport>& report) {
  if (!report.ok()) return "error: " + report.error().message;
  std::vector<std::string> hosts;
  for (const auto& [name, word] : report->hosts) {
    hosts.push_back(name + (word.health == HostHealth::kGood  ? " good"
                            : word.health == HostHealth::kBad ? " bad (" + word.words + ")"
                                                              : " unknown"));
  }
  std::sort(hosts.begin(), hosts.end());
  std::string text;
  for (const std::string& host : hosts) text += (text.empty() ? "" : ", ") + host;
  if (report->unreadable > 0) text += "; " + std::to_string(report->unreadable) + " unreadable";
  return text;
}

void Check(const std::string& name, const Expected<HealthReport>& report, const std::string& want) {
  SCOPED_TRACE(name);
  const std::string got = Describe(report);
  if (want.starts_with("error")) {
    EXPECT_TRUE(got.starts_with(want)) << got;
  } else {
    EXPECT_EQ(got, want);
  }
}

std::string HostList(const std::string& hosts,
                     const std::string& result = R"("type_code":0,"last_data_update":1767225600500)") {
  return R"({"format_version":0,"result":{"query_time":1767225601000,"cgi":"statusjson.cgi","query":"hostlist",)"
         R"("query_status":"released","program_start":1767220000000,)" +
         result + R"(,"message":""},"data":{"selectors":{},"hostlist":{)" + hosts + "}}}";
}

TEST(HealthReport, Nagios) {
  Check("in words",
        ParseNagios(HostList(
            R"("a":{"name":"a","plugin_output":"PING OK","status":"up"},
               "b":{"name":"b","plugin_output":"PING CRITICAL - Packet loss = 100%","status":"down","state_type":"hard"},
               "c":{"name":"c","plugin_output":"","status":"unreachable"},"d":{"name":"d","status":"pending"})")),
        "a good, b bad (PING CRITICAL - Packet loss = 100%), c bad (unreachable), d unknown");
  Check("in numbers", ParseNagios(HostList(R"("a":{"status":2},"b":{"status":4},"c":{"status":8},"d":{"status":1})")),
        "a good, b bad (down), c bad (unreachable), d unknown");
  Check("without a state",
        ParseNagios(HostList(R"("a":{"status":16},"b":{"status":"fine"},"c":{},"d":7,"e":{"status":2})")),
        "e good; 4 unreadable");
  Check("no hosts", ParseNagios(HostList("")), "");
  Check("refused by the CGI, with status 200",
        ParseNagios(R"({"result":{"type_code":7,"message":"Unable to read status data"},"data":{}})"),
        "error: Nagios refused the query: Unable to read status data");
  Check("another query", ParseNagios(R"({"result":{"type_code":0},"data":{"count":{"up":3}}})"),
        "error: no host list of Nagios");
  Check("a login page", ParseNagios("<html>401</html>"), "error: no JSON");
  EXPECT_EQ(ParseNagios(HostList(""))->as_of, Time(1767225600500ms));
  EXPECT_EQ(ParseNagios(HostList("", R"("type_code":0)"))->as_of, std::nullopt);
  EXPECT_FALSE(ParseNagios(HostList(""))->names_bad_hosts_only);
}

TEST(HealthReport, Alertmanager) {
  const std::string alerts =
      R"([{"annotations":{"summary":"the disk fails"},"fingerprint":"1","status":{"state":"active"},
           "labels":{"alertname":"Disk","instance":"a:9100","severity":"critical"}},
          {"annotations":{"description":"no answer\nfor 5 m"},"labels":{"alertname":"Down","instance":"b","severity":"warning"}},
          {"annotations":{},"labels":{"alertname":"Hot","instance":"c:9100"}},
          {"annotations":{},"labels":{"instance":"d"}},
          {"annotations":{},"labels":{"alertname":"Watchdog","severity":"none"}},
          {"annotations":{}}, 5])";
  Check(
      "all", ParseAlertmanager(alerts, {}),
      "a bad (Disk: the disk fails), b bad (Down: no answer for 5 m), c bad (Hot), d bad (an alert without a name); 2 "
      "unreadable");
  Check("severities", ParseAlertmanager(alerts, {"instance", {"critical", "page"}}),
        "a bad (Disk: the disk fails); 2 unreadable");
  Check("another label", ParseAlertmanager(R"([{"labels":{"alertname":"X","node":"n1"}}])", {"node", {}}),
        "n1 bad (X)");
  Check("two about one host",
        ParseAlertmanager(R"([{"labels":{"alertname":"X","instance":"a"}},
                                                     {"labels":{"alertname":"Y","instance":"a"}}])",
                          {}),
        "a bad (X)");
  Check("none", ParseAlertmanager("[]", {}), "");
  Check("no list", ParseAlertmanager(R"({"status":"success"})", {}), "error: no list of alerts");
  EXPECT_TRUE(ParseAlertmanager("[]", {})->names_bad_hosts_only);
}

TEST(HealthReport, AnyJson) {
  JsonFormat format{"data.hosts", "id", "status.code", {"ok", "0", "true"}, "status.text"};
  Check("a list",
        ParseJsonHealth(R"({"data":{"hosts":[{"id":"a","status":{"code":"ok"}},
                                             {"id":"b","status":{"code":"bad","text":"fan is broken"}},
                                             {"id":"c","status":{"code":0}},{"id":"d","status":{"code":true}},
                                             {"id":"e","status":{"code":2.5}},{"id":7,"status":{"code":"ok"}},
                                             {"id":"f"},{"status":{"code":"ok"}},3,
                                             {"id":"g","status":{"code":["ok"]}}]}})",
                        format),
        "7 good, a good, b bad (fan is broken), c good, d good, e bad (2.5); 4 unreadable");
  Check("an object by name", ParseJsonHealth(R"({"a":{"up":true},"b":{"up":false}})", {"", "name", "up", {"true"}, ""}),
        "a good, b bad (false)");
  Check("two words about one host: the bad one counts",
        ParseJsonHealth(R"([{"name":"a","state":"ok"},{"name":"a","state":"bad"},{"name":"a","state":"ok"}])",
                        {"", "name", "state", {"ok"}, ""}),
        "a bad (bad)");
  Check("not there", ParseJsonHealth(R"({"data":{}})", format), "error: no list and no object at \"data.hosts\"");
  Check("a text", ParseJsonHealth(R"({"data":{"hosts":"none"}})", format), "error: no list and no object");
  Check("half an answer", ParseJsonHealth(R"({"data":{"hosts":[{"id":"a")", format), "error: no JSON");
}

TEST(HealthReport, WordsAreBoundAndPrintable) {
  const std::string output = std::string(1000, 'x') + "\\u001b[2J";
  const auto report = ParseNagios(HostList(R"("a":{"status":4,"plugin_output":")" + output + R"("})"));
  EXPECT_EQ(report->hosts.at("a").words.size(), kWordsBytesMax);
  const auto escape = ParseNagios(HostList(R"("a":{"status":4,"plugin_output":"\u001b[2J gone"})"));
  EXPECT_EQ(escape->hosts.at("a").words, "?[2J gone");
}

}  // namespace
}  // namespace berth::plugins
