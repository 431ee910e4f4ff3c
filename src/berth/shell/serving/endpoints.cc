// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/serving/endpoints.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

#include "berth/base/go_text.h"
#include "berth/shell/serving/answers.h"
#include "berth/shell/serving/gzip.h"

namespace berth::serving {
namespace {

constexpr std::string_view kExpositionType = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";
constexpr std::string_view kComponent = "kube-scheduler";
constexpr std::string_view kNotForMachines =
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is "
    "for "
    "debugging purposes only.\n";

constexpr const char* kMetricsReset = "metrics reset\n";

// The format of /flagz and /statusz.
enum class PageForm : std::uint8_t { kText, kJsonV1alpha1, kJsonV1beta1, kNone };

std::string WithoutSpaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

// Negotiates the format as upstream, without YAML: text, or JSON that names kind and version.
PageForm NegotiateForm(const net::Request& request, std::string_view kind) {
  const std::string accept = WithoutSpaces(std::string(request.Get("Accept")));
  if (accept.empty()) return PageForm::kText;
  for (const std::string& clause : GoSplit(accept, ",")) {
    const std::vector<std::string> parts = GoSplit(clause, ";");
    if (parts.front() == "*/*" || parts.front() == "text/*" || parts.front() == "text/plain") return PageForm::kText;
    if (parts.front() != "application/json" && parts.front() != "application/*") continue;
    std::map<std::string, std::string> parameters;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const std::size_t equals = parts[i].find('=');
      if (equals != std::string::npos) parameters[parts[i].substr(0, equals)] = parts[i].substr(equals + 1);
    }
    if (parameters["as"] != kind || parameters["g"] != "config.k8s.io") continue;
    if (parameters["v"] == "v1beta1") return PageForm::kJsonV1beta1;
    if (parameters["v"] == "v1alpha1") return PageForm::kJsonV1alpha1;
  }
  return PageForm::kNone;
}

// The JSON object of a page, with `members` behind its metadata.
net::Response JsonPage(PageForm form, const std::string& kind, const std::string& members) {
  const std::string version = form == PageForm::kJsonV1alpha1 ? "v1alpha1" : "v1beta1";
  net::Response response = Text(R"({"kind":")" + kind + R"(","apiVersion":"config.k8s.io/)" + version +
                                    R"(","metadata":{"name":")" + std::string(kComponent) + R"("},)" + members + "}\n",
                                "application/json;g=config.k8s.io;v=" + version + ";as=" + kind);
  if (form == PageForm::kJsonV1alpha1) {
    response.headers.push_back({"Warning", "299 - \"This version of the " +
                                               std::string(kind == "Flagz" ? "flagz" : "statusz") +
                                               " endpoint is deprecated. Please use a newer version.\""});
  }
  return response;
}

// Go's time.UnixDate, in UTC.
std::string UnixDate(Time time) {
  const auto seconds =
      static_cast<std::time_t>(std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count());
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  const std::size_t size = std::strftime(text, sizeof text, "%a %b %e %H:%M:%S UTC %Y", &parts);
  return {text, size};
}

}  // namespace

Endpoints::Endpoints(ServedState state, const Clock& clock)
    : state_(std::move(state)),
      clock_(clock),
      health_paths_{{"healthz", state_.healthz}, {"livez", state_.livez}, {"readyz", state_.readyz}} {}

void Endpoints::Answer(const net::Request& request, const net::Target& target, const std::string& path, Done done) {
  for (const HealthPath& health : health_paths_) {
    if (auto answer = health.Answer(path, target, health_metrics_)) {
      done(*std::move(answer));
      return;
    }
  }
  if (path == "/metrics/resources" && state_.pod_resources) {
    if (state_.is_leader && !state_.is_leader()) {
      net::Response nothing;
      nothing.status = 200;
      done(std::move(nothing));
      return;
    }
    // Nothing is counted there that could be reset.
    if (request.method == "DELETE") return done(Text(kMetricsReset));
    state_.pod_resources([request, done = std::move(done)](Expected<std::string> text) {
      done(text.ok() ? Compressed(request, Text(*std::move(text), kExpositionType))
                     : PlainError(503, text.error().message));
    });
    return;
  }
  if (state_.explain && (path == "/explain" || path.starts_with("/explain/"))) {
    if (request.method == "GET" || request.method == "HEAD") {
      state_.explain(request, target, path, std::move(done));
    } else {
      net::Response refused = Failure(request, 405, "MethodNotAllowed", path + " is for GET");
      refused.headers.push_back({"Allow", "GET, HEAD"});
      done(std::move(refused));
    }
    return;
  }
  done(AnswerNow(request, path));
}

net::Response Endpoints::AnswerNow(const net::Request& request, const std::string& path) {
  if (path == "/metrics" && state_.metrics_text) return AnswerMetrics(request);
  if (path == "/metrics/slis") return AnswerHealthMetrics(request);
  if (path == "/configz" && state_.config_json) {
    net::Response response = Text(R"({"componentconfig":)" + state_.config_json() + "}", "application/json");
    response.headers.push_back({"X-Content-Type-Options", "nosniff"});
    return response;
  }
  if (path == "/flagz" && state_.flags) return AnswerFlags(request);
  if (path == "/statusz" && state_.has_status_page) return AnswerStatus(request);
  if (state_.is_profiling_enabled && path.starts_with("/debug/")) return AnswerDebug(request, path);
  return NotFound();
}

net::Response Endpoints::AnswerMetrics(const net::Request& request) {
  if (request.method == "DELETE") {
    if (state_.reset_metrics) state_.reset_metrics();
    return Text(kMetricsReset);
  }
  return Compressed(request, Text(state_.metrics_text(), kExpositionType));
}

net::Response Endpoints::AnswerHealthMetrics(const net::Request& request) {
  if (request.method == "DELETE") {
    health_metrics_.Reset();
    return Text(kMetricsReset);
  }
  char start[64];
  const double seconds = std::chrono::duration<double>(state_.started.time_since_epoch()).count();
  std::snprintf(start, sizeof start, "process_start_time_seconds %.11e\n", seconds);
  return Compressed(
      request,
      Text(health_metrics_.Text() +
               "# HELP process_start_time_seconds [ALPHA] Start time of the process since unix epoch in seconds.\n"
               "# TYPE process_start_time_seconds gauge\n" +
               start,
           kExpositionType));
}

net::Response Endpoints::AnswerDebug(const net::Request& request, const std::string& path) {
  const auto plain = [](int status, std::string text) -> net::Response {
    return {status, {{"Content-Type", "text/plain"}, {"X-Content-Type-Options", "nosniff"}}, std::move(text) + "\n"};
  };
  if (path == "/debug/flags/v" && state_.set_verbosity) {
    if (request.method != "PUT") return plain(406, "unsupported http method");
    const auto set = state_.set_verbosity(request.body);
    return set.ok() ? plain(200, *set) : plain(400, set.error().message);
  }
  if (path == "/debug/flags" || path.starts_with("/debug/flags/")) {
    return Text(
        "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\nflags:<br>\n<table>\n"
        "<tr>v<br>\n</table>\n<br>\nfull flags configurable<br>\n</body>\n</html>\n",
        "text/html; charset=utf-8");
  }
  if (path == "/debug/pprof" || path.starts_with("/debug/pprof/")) {
    return PlainError(
        404,
        "berth has no profiles of Go's runtime; to see where its time goes, run perf on the machine: perf "
        "record -g -p PID");
  }
  return NotFound();
}

net::Response Endpoints::AnswerFlags(const net::Request& request) const {
  const PageForm form = NegotiateForm(request, "Flagz");
  if (form == PageForm::kNone) return NotAcceptable(request);
  const std::map<std::string, std::string> flags = state_.flags();
  if (form == PageForm::kText) {
    std::string text = "\n" + std::string(kComponent) + " flagz\n" + std::string(kNotForMachines);
    for (const auto& [name, value] : flags) text.append(name).append("=").append(value).append("\n");
    return Text(std::move(text));
  }
  std::string members;
  for (const auto& [name, value] : flags) members += (members.empty() ? "" : ",") + GoJson(name) + ":" + GoJson(value);
  return JsonPage(form, "Flagz", "\"flags\":{" + members + "}");
}

std::string Endpoints::ShownPaths() const {
  std::string paths;
  if (state_.config_json) paths += "/configz ";
  if (state_.flags) paths += "/flagz ";
  return paths + "/healthz /livez /metrics /readyz";
}

net::Response Endpoints::AnswerStatus(const net::Request& request) const {
  const PageForm form = NegotiateForm(request, "Statusz");
  if (form == PageForm::kNone) return NotAcceptable(request);
  const std::int64_t up = std::max<std::int64_t>(
      0, std::chrono::duration_cast<std::chrono::seconds>(clock_.WallNow() - state_.started).count());
  const std::string language = "none (" + state_.program_version + ", C++)";
  if (form == PageForm::kText) {
    char uptime[96];
    std::snprintf(uptime, sizeof uptime, "%lld hr %02lld min %02lld sec", static_cast<long long>(up / 3600),
                  static_cast<long long>(up / 60 % 60), static_cast<long long>(up % 60));
    return Text("\n" + std::string(kComponent) + " statusz\n" + std::string(kNotForMachines) +
                "\nStarted: " + UnixDate(state_.started) + "\nUp: " + uptime + "\nGo version: " + language +
                "\nBinary version: " + state_.binary_version + "\nEmulation version: " + state_.emulation_version +
                "\nPaths: " + ShownPaths() + "\n");
  }
  return JsonPage(form, "Statusz",
                  "\"startTime\":\"" + FormatRfc3339(state_.started) + "\",\"uptimeSeconds\":" + std::to_string(up) +
                      ",\"goVersion\":" + GoJson(language) + ",\"binaryVersion\":" + GoJson(state_.binary_version) +
                      ",\"emulationVersion\":" + GoJson(state_.emulation_version) +
                      ",\"paths\":" + GoJson(GoSplit(ShownPaths(), " ")));
}

}  // namespace berth::serving
