// SPDX-License-Identifier: Apache-2.0
#include "berth/page/page_service.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <utility>

#include "berth/answers/explanation_json.h"
#include "berth/base/go_text.h"
#include "berth/base/text.h"
#include "berth/page/fleet_devices.h"
#include "berth/page/fleet_frame.h"
#include "berth/page/live_pending.h"
#include "berth/shell/serving/answers.h"
#include "berth/shell/serving/content_coding.h"
#include "berth/whatif/explanation.h"
#include "berth/whatif/offline_cluster.h"

namespace berth::page {

using codec::json::array, codec::json::object;

namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::size_t kDecisionsShown = 200;
constexpr std::size_t kDecisionsShownMax = 1'000;
constexpr std::size_t kSchedulerNamesMax = 16;
constexpr std::size_t kShadowReportBytesMax = std::size_t{64} << 20;
constexpr std::size_t kFoundShown = 8;
constexpr std::size_t kFoundShownMax = 100;
constexpr std::size_t kSearchBytesMax = 512;
constexpr int kTooManyRequests = 429;

void AddDataHeaders(net::Response& response) {
  response.headers.push_back({"Cache-Control", "no-store"});
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
}

net::Response JsonAnswer(const codec::json::value& value) {
  net::Response response = serving::Text(codec::WriteJson(value) + "\n", kJson);
  AddDataHeaders(response);
  return response;
}

net::Response FailureOf(const net::Request& request, const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalid: return serving::Failure(request, 422, "Invalid", error.message);
    case ErrorCode::kNotFound: return serving::Failure(request, 404, "NotFound", error.message);
    case ErrorCode::kTooLarge: return serving::Failure(request, 413, "RequestEntityTooLarge", error.message);
    case ErrorCode::kTooManyRequests: return serving::Failure(request, 429, "TooManyRequests", error.message);
    // What the cluster refuses to berth is not what berth refuses to the reader.
    default: return serving::Failure(request, 503, "ServiceUnavailable", error.message);
  }
}

net::Response NoSuchPath(const net::Request& request) {
  return serving::Failure(request, 404, "NotFound",
                          "no such path; docs/reference/page-api.yaml lists those of /ui/api/v1");
}

// Brings the fleet up to now.
void CatchUp(ClusterWatch* watch) {
  if (watch != nullptr) watch->CatchUp();
}

std::optional<std::uint64_t> NumberOf(std::string_view text, std::uint64_t otherwise) {
  if (text.empty()) return otherwise;
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

PageService::PageService(PageOptions options, ClusterSource source, CoreSources core, client::RestClient* rest,
                         DecisionFeed* decisions, const Clock& clock, SchedulerWatch scheduler)
    : options_(std::move(options)),
      clock_(clock),
      decisions_(decisions),
      files_(PageFiles()),
      fleet_(options_.epoch),
      frames_(fleet_),
      core_(std::move(core), clock),
      questions_(source, fleet_, clock),
      streams_(fleet_, decisions) {
  if (rest != nullptr)
    watch_ = std::make_unique<ClusterWatch>(*rest, fleet_, clock, options_.seed, std::move(scheduler));
  if (options_.timeline) (void)options_.timeline->seek(options_.timeline->state().to, fleet_);
  if (source.fixed == nullptr) return;
  for (const auto& node : source.fixed->nodes) fleet_.SetNode(node);
  for (const auto& pod : source.fixed->pods) fleet_.SetPod(pod, std::nullopt);
  FleetDevices devices(fleet_);
  for (const auto& object : source.fixed->objects) devices.Set(object);
}

PageService::~PageService() { Stop(); }

void PageService::Start() {
  if (decisions_ != nullptr) decisions_->SetOn(true);
  {
    const std::lock_guard lock(mutex_);
    sampled_.at = clock_.Now();
  }
  if (watch_ != nullptr) watch_->Start();
  ArmPump();
}

void PageService::Stop() {
  if (is_stopped_.exchange(true)) return;
  questions_.Interrupt();
  streams_.EndAll();
  io_.Stop();
  std::unique_ptr<WorkerPool> quick;
  std::unique_ptr<WorkerPool> slow;
  {
    const std::lock_guard lock(pools_mutex_);
    quick = std::move(quick_);
    slow = std::move(slow_);
  }
  quick.reset();
  slow.reset();
  if (watch_ != nullptr) watch_->Stop();
  if (decisions_ == nullptr) return;
  decisions_->SetOn(false);
  decisions_->Clear();
}

void PageService::Handle(net::Request request, const net::Target& target, const std::string& path,
                         const Writer& writer) {
  if (path == "/ui") {
    net::Response to;
    to.status = 301;
    to.headers.push_back({"Location", "/ui/"});
    return writer->Send(std::move(to));
  }
  if (IsFile(path)) return writer->Send(files_.Answer(request, path));
  if (!path.starts_with(kApi)) return writer->Send(NoSuchPath(request));
  const auto asked = std::make_shared<const Asked>(Asked{std::move(request), target, path.substr(kApi.size()), writer});
  if (asked->request.method == "GET" || asked->request.method == "HEAD") return Get(asked);
  if (asked->request.method == "POST") return Post(asked);
  net::Response refused = serving::Failure(asked->request, 405, "MethodNotAllowed", "the page only reads");
  refused.headers.push_back({"Allow", "GET, HEAD, POST"});
  writer->Send(std::move(refused));
}

void PageService::Get(const AskedPtr& asked) {
  const std::string& path = asked->path;
  if (path == "events") {
    if (RunIn(Lane::kQuick, [this, asked] { BeginEvents(*asked); })) return;
    return asked->writer->Send(serving::Failure(asked->request, 503, "ServiceUnavailable", "berth is ending"));
  }
  if (path == "status") return Quick(asked, [this](const Asked&) { return JsonAnswer(StatusJson(true)); });
  if (path == "fleet") return Quick(asked, [this](const Asked& of) { return AnswerFleet(of); });
  if (path == "fleet/pods") return Quick(asked, [this](const Asked& of) { return AnswerPart(of); });
  if (path == "search") return Quick(asked, [this](const Asked& of) { return AnswerSearch(of); });
  if (path == "numbers") return Quick(asked, [this](const Asked&) { return JsonAnswer(numbers_.Json()); });
  if (path == "decisions") return Quick(asked, [this](const Asked& of) { return AnswerDecisions(of); });
  if (path == "pending") {
    const auto answer = [this](const Asked& of) { return AnswerPending(of); };
    return core_.IsThere() ? Quick(asked, answer) : Slow(asked, answer);
  }
  if (path == "timeline") return Quick(asked, [this](const Asked& of) { return AnswerTimeline(of); });
  if (path == "shadow") return Quick(asked, [this](const Asked& of) { return AnswerShadow(of); });
  const std::vector<std::string> parts = GoSplit(path, "/");
  if (parts.size() == 2 && parts[0] == "nodes") {
    return Quick(asked, [this, name = parts[1]](const Asked& of) {
      const auto node = fleet_.NodeJson(name);
      return node ? JsonAnswer(*node) : serving::Failure(of.request, 404, "NotFound", name + ": no such node");
    });
  }
  if (parts.size() == 3 && parts[0] == "pods") {
    if (core_.IsThere()) {
      if (++explaining_ <= kQuickWaitingMax) return ExplainSoon(asked, parts[1], parts[2], kExplainTries);
      --explaining_;
      return asked->writer->Send(serving::TooManyRequests(asked->request));
    }
    return Slow(asked, [this, parts](const Asked& of) { return AnswerPod(of, parts[1], parts[2]); });
  }
  asked->writer->Send(NoSuchPath(asked->request));
}

void PageService::Post(const AskedPtr& asked) {
  if (asked->path == "timeline") return Slow(asked, [this](const Asked& of) { return AnswerSeek(of); });
  constexpr std::string_view kQuestions[] = {"simulate", "can-drain", "headroom", "rebalance"};
  if (std::ranges::find(kQuestions, asked->path) == std::end(kQuestions))
    return asked->writer->Send(NoSuchPath(asked->request));
  Slow(asked, [this](const Asked& of) { return AnswerQuestion(of); });
}

bool PageService::RunIn(Lane lane, std::function<void()> work) {
  const std::lock_guard lock(pools_mutex_);
  const std::unique_ptr<WorkerPool>& pool = lane == Lane::kQuick ? quick_ : slow_;
  if (pool == nullptr) return false;
  pool->Run(std::move(work));
  return true;
}

void PageService::Later(Lane lane, const AskedPtr& asked, Make make) {
  std::atomic<int>& waiting = lane == Lane::kQuick ? quick_waiting_ : slow_waiting_;
  if (++waiting > (lane == Lane::kQuick ? kQuickWaitingMax : kSlowWaitingMax)) {
    --waiting;
    return asked->writer->Send(serving::Failure(asked->request, 429, "TooManyRequests",
                                                "other questions are being answered, please try again later"));
  }
  const bool is_running = RunIn(lane, [this, &waiting, asked, make = std::move(make)] {
    CatchUp(watch_.get());
    net::Response response = serving::EncodedFor(asked->request, make(*asked));
    --waiting;
    asked->writer->Send(std::move(response));
  });
  if (!is_running) asked->writer->Send(serving::Failure(asked->request, 503, "ServiceUnavailable", "berth is ending"));
}

void PageService::ExplainSoon(const AskedPtr& asked, const std::string& namespace_name, const std::string& name,
                              int tries) {
  const bool is_running = RunIn(Lane::kQuick, [this, asked, namespace_name, name, tries] {
    CatchUp(watch_.get());
    net::Response response = AnswerPod(*asked, namespace_name, name);
    if (response.status != kTooManyRequests || tries == 0) {
      --explaining_;
      return asked->writer->Send(serving::EncodedFor(asked->request, std::move(response)));
    }
    io_.PostAfter(kExplainPause,
                  [this, asked, namespace_name, name, tries] { ExplainSoon(asked, namespace_name, name, tries - 1); });
  });
  if (!is_running) asked->writer->Send(serving::Failure(asked->request, 503, "ServiceUnavailable", "berth is ending"));
}

net::Response PageService::AnswerFleet(const Asked& asked) {
  const auto tag = [this](std::uint32_t revision) {
    return "\"" + std::to_string(fleet_.epoch()) + "-" + std::to_string(revision) + "\"";
  };
  if (asked.request.Get("If-None-Match") == tag(fleet_.counts().revision)) {
    net::Response same;
    same.status = 304;
    return same;
  }
  const serving::ContentCoding coding = serving::CodingFor(asked.request);
  const FrameCache::Frame frame = frames_.Get(coding, streams_.reload_revision(), clock_.Now());
  net::Response response = serving::Text({}, kFleetFrameType);
  serving::SetEncodedBody(coding, *frame.bytes, response);
  response.headers.push_back({"ETag", tag(frame.revision)});
  response.headers.push_back({"Cache-Control", "no-cache"});
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  return response;
}

net::Response PageService::AnswerPart(const Asked& asked) {
  std::vector<RowId> nodes;
  for (const std::string_view text : Split(asked.target.Query("nodes"), ',')) {
    const auto id = NumberOf(text, kNoRow);
    if (!id || *id >= kNoRow || nodes.size() == Fleet::kPartNodesMax) {
      return serving::Failure(asked.request, 400, "BadRequest",
                              "nodes should be ids of nodes as in the frame, at most " +
                                  std::to_string(Fleet::kPartNodesMax) + ", with commas between them");
    }
    nodes.push_back(static_cast<RowId>(*id));
  }
  net::Response response = serving::Text(fleet_.Part(nodes).bytes, kFleetFrameType);
  AddDataHeaders(response);
  return response;
}

net::Response PageService::AnswerSearch(const Asked& asked) const {
  const std::string_view text = asked.target.Query("text");
  const auto limit = NumberOf(asked.target.Query("limit"), kFoundShown);
  if (text.empty() || text.size() > kSearchBytesMax || !limit || *limit > kFoundShownMax) {
    return serving::Failure(asked.request, 400, "BadRequest",
                            "text should be some of a pod's name, namespace or labels, and limit a number up to " +
                                std::to_string(kFoundShownMax));
  }
  return JsonAnswer(object{{"pods", fleet_.PodsLike(text, *limit)}});
}

net::Response PageService::AnswerPending(const Asked& asked) {
  {
    const std::lock_guard lock(mutex_);
    const bool is_current = pending_.json && pending_.fleet == fleet_.counts().revision &&
                            (decisions_ == nullptr || pending_.decisions == decisions_->last());
    if (pending_.json && (is_current || clock_.Now() < pending_.due_at)) return JsonAnswer(*pending_.json);
  }
  if (const auto found = RefreshPending(); !found.ok()) return FailureOf(asked.request, found.error());
  const std::lock_guard lock(mutex_);
  return JsonAnswer(*pending_.json);
}

net::Response PageService::AnswerPod(const Asked& asked, const std::string& namespace_name, const std::string& name) {
  const std::string_view with_nodes = asked.target.Query("nodes");
  if (!with_nodes.empty() && with_nodes != "true" && with_nodes != "false")
    return serving::Failure(asked.request, 400, "BadRequest", "nodes should be true or false");
  const auto nodes = with_nodes == "false" ? answers::NodesInJson::kNone : answers::NodesInJson::kAll;
  const Expected<whatif::Explanation> said =
      core_.IsThere() ? core_.Explain(namespace_name, name) : questions_.Explain(namespace_name, name);
  if (!said.ok()) return FailureOf(asked.request, said.error());
  codec::json::value json = answers::ExplanationJson(*said, nodes);
  if (auto pod = fleet_.PodJson(namespace_name, name); pod && json.is_object())
    json.as_object()["page"] = *std::move(pod);
  return JsonAnswer(json);
}

net::Response PageService::AnswerDecisions(const Asked& asked) const {
  if (decisions_ == nullptr)
    return serving::Failure(asked.request, 404, "NotFound", "no berth decides in this process");
  const auto after = NumberOf(asked.target.Query("after"), 0);
  const auto limit = NumberOf(asked.target.Query("limit"), kDecisionsShown);
  if (!after || !limit) return serving::Failure(asked.request, 400, "BadRequest", "after and limit should be numbers");
  const auto count_max = static_cast<std::size_t>(std::min<std::uint64_t>(*limit, kDecisionsShownMax));
  net::Response response = serving::Text(decisions_->Since(fleet_.epoch(), *after, count_max).json + "\n", kJson);
  AddDataHeaders(response);
  return response;
}

net::Response PageService::AnswerQuestion(const Asked& asked) {
  auto body = codec::ParseJson(asked.request.body, {.bytes_max = kBodyBytesMax});
  if (!body.ok()) return serving::Failure(asked.request, 400, "BadRequest", body.error().Wrap("the body").message);
  const Expected<object> answer = asked.path == "simulate"    ? questions_.Simulate(*std::move(body))
                                  : asked.path == "can-drain" ? questions_.CanDrain(*std::move(body))
                                  : asked.path == "rebalance" ? questions_.Rebalance(*std::move(body))
                                                              : questions_.Headroom(*std::move(body));
  return answer.ok() ? JsonAnswer(*answer) : FailureOf(asked.request, answer.error());
}

net::Response PageService::AnswerTimeline(const Asked& asked) const {
  if (!options_.timeline) return serving::Failure(asked.request, 404, "NotFound", "this is no recording");
  const TimelineState state = options_.timeline->state();
  object json{{"from", FormatRfc3339Micro(state.from)},
              {"to", FormatRfc3339Micro(state.to)},
              {"at", FormatRfc3339Micro(state.at)}};
  if (!state.problem.empty()) json["problem"] = state.problem;
  return JsonAnswer(json);
}

net::Response PageService::AnswerShadow(const Asked& asked) const {
  if (!options_.shadow_report)
    return serving::Failure(asked.request, 404, "NotFound", "no report of berth shadow is shown here");
  const Expected<std::string> text = options_.shadow_report();
  if (!text.ok()) return FailureOf(asked.request, text.error());
  const auto report = codec::ParseJson(*text, {.bytes_max = kShadowReportBytesMax});
  if (!report.ok()) return FailureOf(asked.request, report.error().Wrap("the report of berth shadow"));
  if (!report->is_object() || !report->as_object().contains("differences"))
    return FailureOf(asked.request, InvalidError("this is no report of berth shadow -o json: it has no differences"));
  return JsonAnswer(*report);
}

net::Response PageService::AnswerSeek(const Asked& asked) {
  if (!options_.timeline) return AnswerTimeline(asked);
  const auto body = codec::ParseJson(asked.request.body, {.bytes_max = kBodyBytesMax});
  const codec::json::value* const at = body.ok() && body->is_object() ? body->as_object().if_contains("at") : nullptr;
  const auto time = at != nullptr && at->is_string() ? ParseRfc3339(std::string(at->as_string())) : std::nullopt;
  if (!time) return serving::Failure(asked.request, 422, "Invalid", "at should be a time: 2026-11-25T10:00:00Z");
  if (const auto sought = options_.timeline->seek(*time, fleet_); !sought.ok())
    return FailureOf(asked.request, sought.error());
  frames_.Clear();
  return AnswerTimeline(asked);
}

void PageService::BeginEvents(const Asked& asked) {
  CatchUp(watch_.get());
  std::string_view last = asked.request.Get("Last-Event-ID");
  if (last.empty()) last = asked.target.Query("last");
  const serving::ContentCoding coding = serving::CodingFor(asked.request);
  if (streams_.Add(asked.writer, last, coding, clock_.Now(), clock_.WallNow())) return;
  asked.writer->Send(
      serving::Failure(asked.request, 429, "TooManyRequests", "there are as many readers of events as there may be"));
}

object PageService::StatusJson(bool with_counts) const {
  const std::string problem = watch_ == nullptr ? "" : watch_->Problem();
  const std::optional<std::string> why_not = core_.IsThere() ? core_.WhyNot() : std::nullopt;
  object json{{"version", options_.version},
              {"kubernetes", options_.kubernetes},
              {"source", options_.source},
              {"mode", options_.mode},
              {"scheduler", core_.IsThere() ? "berth" : "other"},
              {"epoch", fleet_.epoch()}};
  if (options_.timeline) {
    json["asOf"] = FormatRfc3339Micro(options_.timeline->state().at);
  } else if (options_.as_of) {
    json["asOf"] = FormatRfc3339(*options_.as_of);
  }
  json["connected"] = problem.empty();
  if (!problem.empty()) json["problem"] = problem;
  if (why_not) json["notDeciding"] = *why_not;
  array features{"simulate", "can-drain", "headroom", "numbers"};
  if (watch_ != nullptr || options_.timeline) features.emplace_back("events");
  if (options_.timeline) features.emplace_back("timeline");
  if (questions_.CanPlan()) features.emplace_back("rebalance");
  if (options_.shadow_report) features.emplace_back("shadow");
  if (decisions_ != nullptr) features.emplace_back("decisions");
  if (core_.IsThere()) features.emplace_back("queue");
  json["features"] = std::move(features);
  json["leftOut"] = array(options_.left_out.begin(), options_.left_out.end());
  std::set<std::string> names(core_.sources().scheduler_names.begin(), core_.sources().scheduler_names.end());
  if (!core_.IsThere() && with_counts) {
    for (std::string& name : fleet_.SchedulerNames(kSchedulerNamesMax)) names.insert(std::move(name));
  }
  json["schedulerNames"] = array(names.begin(), names.end());
  if (!with_counts) return json;
  const FleetCounts counts = fleet_.counts();
  json["clock"] = FormatRfc3339Micro(clock_.WallNow());
  json["nodes"] = counts.nodes;
  json["pods"] = counts.pods;
  json["pending"] = counts.pending;
  json["revision"] = counts.revision;
  return json;
}

Expected<PendingView> PageService::FindPending() {
  if (!core_.IsThere()) return questions_.Pending();
  const FleetCopy fleet = fleet_.CopyWaiting();
  const auto standings = core_.Standings();
  PendingView view =
      Fold(WaitingPods(fleet, standings ? &*standings : nullptr, *decisions_, core_.sources().scheduler_names));
  view.as_of = options_.timeline ? options_.timeline->state().at : clock_.WallNow();
  if (standings) {
    QueueCounts counts;
    for (const auto& [uid, standing] : *standings) counts += standing.place;
    const std::lock_guard lock(mutex_);
    queue_ = counts;
  }
  return view;
}

Expected<void> PageService::RefreshPending() {
  const Time began_at = clock_.Now();
  const std::uint32_t revision = fleet_.counts().revision;
  const std::uint64_t decided = decisions_ == nullptr ? 0 : decisions_->last();
  const Expected<PendingView> view = FindPending();
  const Time ended_at = clock_.Now();
  std::string facts = view.ok() ? codec::WriteJson(PendingJson(*view, false)) : std::string();
  const std::lock_guard lock(mutex_);
  pending_.due_at = ended_at + std::max<Duration>(kPendingPeriod, kPendingRestFactor * (ended_at - began_at));
  if (!view.ok()) return view.error();
  pending_.fleet = revision;
  pending_.decisions = decided;
  bool is_news = false;
  if (facts != pending_.facts) {
    ++pending_.revision;
    pending_.facts = std::move(facts);
    is_news = true;
  }
  pending_.json = PendingJson(*view);
  (*pending_.json)["revision"] = pending_.revision;
  if (!is_news) return {};
  object said{{"revision", pending_.revision}, {"pods", view->pods}, {"classes", view->classes.size()}};
  // What is short is told at once: otherwise every reader would ask for it.
  if (pending_.facts.size() <= kPendingToldBytesMax) said["pending"] = *pending_.json;
  streams_.Announce({"pending", codec::WriteJson(said)});
  return {};
}

bool PageService::IsPendingDue(Time now) const {
  if (pending_.is_under_way || now < pending_.due_at) return false;
  return !pending_.json || pending_.fleet != fleet_.counts().revision ||
         (decisions_ != nullptr && pending_.decisions != decisions_->last());
}

void PageService::ArmPump() {
  io_.PostAfter(kPumpPeriod, [this] {
    Pump();
    ArmPump();
  });
}

void PageService::Pump() {
  if (is_stopped_) return;
  const Time now = clock_.Now();
  const bool is_piece_due = streams_.IsDue(now);
  bool is_sample_due = false;
  bool is_pending_due = false;
  {
    const std::lock_guard lock(mutex_);
    is_sample_due = now - sampled_.at >= Numbers::kInterval;
  }
  if (!is_piece_due && !is_sample_due) return;
  CatchUp(watch_.get());
  if (is_piece_due) {
    // Readers cannot be told of it sooner than with the next piece.
    const std::lock_guard lock(mutex_);
    is_pending_due = IsPendingDue(now);
    if (is_pending_due) pending_.is_under_way = true;
  }
  if (is_sample_due) {
    TakeSample(now);
    frames_.DropUnused(now);
  }
  streams_.Pump(now);
  if (!is_pending_due) return;
  RunIn(core_.IsThere() ? Lane::kQuick : Lane::kSlow, [this] {
    (void)RefreshPending();  // who asks for it is told what is wrong
    const std::lock_guard lock(mutex_);
    pending_.is_under_way = false;
  });
}

void PageService::TakeSample(Time now) {
  NumberInput input;
  input.time = clock_.WallNow();
  input.activity = fleet_.TakeActivity();
  input.pending = fleet_.counts().pending;
  input.zones = fleet_.UseByZone();
  std::string status = codec::WriteJson(StatusJson(false));
  std::optional<ProcessCounts> counts;
  if (core_.sources().counts) counts = core_.sources().counts();
  {
    const std::lock_guard lock(mutex_);
    if (counts && sampled_.counts) input.process = Since(*counts, *sampled_.counts);
    sampled_.counts = std::move(counts);
    input.since = now - std::exchange(sampled_.at, now);
    input.queue = queue_;
    if (decisions_ != nullptr) {
      const std::uint64_t last = decisions_->last();
      input.decisions = last - std::exchange(sampled_.decisions, last);
    }
    if (status == status_told_) {
      status.clear();
    } else {
      status_told_ = status;
    }
  }
  streams_.Announce({"numbers", codec::WriteJson(numbers_.Add(input))});
  if (!status.empty()) streams_.Announce({"status", codec::WriteJson(StatusJson(true))});
}

}  // namespace berth::page
