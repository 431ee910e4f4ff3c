// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run/explain_endpoint.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

#include "berth/answers/explanation_json.h"
#include "berth/base/base64.h"
#include "berth/base/go_text.h"
#include "berth/base/utf8.h"
#include "berth/codec/json.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/shell/serving/answers.h"
#include "berth/shell/serving/client_certificate.h"
#include "berth/whatif/live_explanation.h"

namespace berth::app {
namespace {

constexpr std::string_view kJson = "application/json";

// Of the text between these two of the page, as a policy names what may stay.
std::string HashOf(std::string_view page, std::string_view begin, std::string_view end) {
  const std::size_t from = page.find(begin) + begin.size();
  return "'sha256-" + EncodeBase64(serving::Sha256(page.substr(from, page.find(end, from) - from))) + "'";
}

net::Response PageAnswer() {
  const std::string_view page = ExplainPage();
  net::Response response = serving::Text(std::string(page), "text/html; charset=utf-8");
  // Its own style and script and nothing else, whatever a pod's name or message contains.
  response.headers.push_back(
      {"Content-Security-Policy",
       "default-src 'none'; connect-src 'self'; script-src " + HashOf(page, "<script>", "</script>") + "; style-src " +
           HashOf(page, "<style>", "</style>") + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"});
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  response.headers.push_back({"Referrer-Policy", "no-referrer"});
  return response;
}

net::Response JsonAnswer(const codec::json::value& value) {
  net::Response response = serving::Text(codec::WriteJson(value) + "\n", kJson);
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  return response;
}

net::Response BadRequest(const net::Request& request, std::string_view message) {
  return serving::Failure(request, 400, "BadRequest", message);
}

// The part of all pods that a list's query asks for.
Expected<queue::PodRange> RangeOf(const net::Target& target) {
  queue::PodRange range{.count_max = ExplainEndpoint::kListedMax};
  if (const std::string_view limit = target.Query("limit"); !limit.empty()) {
    std::size_t count = 0;
    const auto [end, failure] = std::from_chars(limit.data(), limit.data() + limit.size(), count);
    if (failure != std::errc() || end != limit.data() + limit.size() || count == 0)
      return InvalidError("limit should be a number from 1 to " + std::to_string(ExplainEndpoint::kListedMax));
    range.count_max = std::min(count, ExplainEndpoint::kListedMax);
  }
  if (const std::string_view after = target.Query("continue"); !after.empty()) {
    const std::size_t slash = after.find('/');
    if (slash == std::string_view::npos) return InvalidError("continue should be what the list before ended with");
    range.after_namespace = after.substr(0, slash);
    range.after_name = after.substr(slash + 1);
  }
  return range;
}

}  // namespace

ExplainEndpoint::ExplainEndpoint(Sources sources, const Clock& clock)
    : sources_(std::move(sources)), clock_(clock), page_(PageAnswer()) {}

void ExplainEndpoint::Answer(const net::Request& request, const net::Target& target, const std::string& path,
                             Done done) {
  if (path == "/explain") return done(page_);
  if (path == "/explain/pods") return List(request, target, std::move(done));
  // Of the path that was authorized: the target's own segments differ from it where one contains %2F.
  constexpr std::string_view kOne = "/explain/pods/";
  if (path.starts_with(kOne)) {
    const std::vector<std::string> names = GoSplit(path.substr(kOne.size()), "/");
    if (names.size() == 2 && !names[0].empty() && !names[1].empty())
      return ExplainOne(request, target, names[0], names[1], std::move(done));
  }
  done(serving::Failure(request, 404, "NotFound",
                        "the paths are /explain, /explain/pods and /explain/pods/NAMESPACE/NAME"));
}

void ExplainEndpoint::List(const net::Request& request, const net::Target& target, Done done) {
  const Expected<queue::PodRange> range = RangeOf(target);
  if (!range.ok()) return done(BadRequest(request, range.error().message));
  const auto found = std::make_shared<std::vector<scheduler::UnboundPod>>();
  AskCore(
      request,
      [found, range = *range](scheduler::Scheduler& core, Time, Duration) {
        // One more tells whether there are more.
        queue::PodRange one_more = range;
        ++one_more.count_max;
        *found = core.Unbound(one_more);
      },
      [found, count_max = range->count_max] {
        codec::json::object list;
        codec::json::array& pods = list["pods"].emplace_array();
        for (const scheduler::UnboundPod& pod : *found) {
          if (pods.size() == count_max) {
            list["continue"] = (*found)[count_max - 1].key;
            break;
          }
          pods.push_back(codec::json::object{{"pod", pod.key}, {"why", CutUtf8(pod.why, kWhyBytesMax)}});
        }
        return JsonAnswer(list);
      },
      std::move(done));
}

void ExplainEndpoint::ExplainOne(const net::Request& request, const net::Target& target,
                                 const std::string& namespace_name, const std::string& name, Done done) {
  const std::string_view with_nodes = target.Query("nodes");
  if (!with_nodes.empty() && with_nodes != "true" && with_nodes != "false")
    return done(BadRequest(request, "nodes should be true or false"));
  const auto nodes = with_nodes == "false" ? answers::NodesInJson::kNone : answers::NodesInJson::kAll;
  const auto said = std::make_shared<std::optional<Expected<whatif::Explanation>>>();
  AskCore(
      request,
      [this, said, namespace_name, name](scheduler::Scheduler& core, Time now, Duration wall_ahead) {
        const Time over_at = clock_.Now() + kTurnTimeMax;
        said->emplace(whatif::ExplainLive(core, {namespace_name, name, now, wall_ahead},
                                          {.is_over = [&] { return clock_.Now() >= over_at; }}));
      },
      [this, said, request, nodes] {
        Expected<whatif::Explanation>& answer = **said;
        if (!answer.ok()) return serving::Failure(request, 404, "NotFound", answer.error().message);
        answer->live->not_asked = sources_.not_asked;
        return JsonAnswer(answers::ExplanationJson(*answer, nodes));
      },
      std::move(done));
}

void ExplainEndpoint::AskCore(const net::Request& request, runner::SchedulerShell::Question look,
                              std::function<net::Response()> make, Done done) {
  if (const auto why = sources_.why_not()) return done(serving::Failure(request, 503, "ServiceUnavailable", *why));
  if (clock_.Now() < rest_until_.load() || is_busy_.exchange(true)) {
    return done(serving::Failure(request, 429, "TooManyRequests",
                                 "questions get a tenth of the scheduler's time, please try again later"));
  }
  workers_.Run([this, look = std::move(look), make = std::move(make), done = std::move(done)] {
    sources_.ask([&](scheduler::Scheduler& core, Time now, Duration wall_ahead) {
      const Time began_at = clock_.Now();
      look(core, now, wall_ahead);
      const Time ended_at = clock_.Now();
      rest_until_ = ended_at + std::max<Duration>(kRestMin, kRestFactor * (ended_at - began_at));
    });
    net::Response response = make();
    is_busy_ = false;
    done(std::move(response));
  });
}

}  // namespace berth::app
