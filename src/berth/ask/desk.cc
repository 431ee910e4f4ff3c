// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/desk.h"

#include <algorithm>
#include <utility>

#include "berth/ask/question_fields.h"
#include "berth/base/base64.h"
#include "berth/base/log.h"
#include "berth/whatif/snapshot_file.h"

namespace berth::ask {
namespace {

using codec::json::object;

constexpr std::string_view kSnapshot = "snapshot";
constexpr std::string_view kSnapshotName = "snapshotName";

std::string OutcomeOf(const Expected<Reply>& reply) {
  if (reply.ok()) return std::string(ToString(reply->verdict));
  switch (reply.error().code) {
    case ErrorCode::kInvalid:
    case ErrorCode::kTooLarge:
    case ErrorCode::kNotFound: return "invalid";
    case ErrorCode::kTimeout: return "timeout";
    default: return "error";
  }
}

// The state of the snapshot that a question brings along, which is taken out of its body.
Expected<whatif::ClusterState> TakeSnapshot(object& body) {
  BERTH_ASSIGN_OR_RETURN(const std::string text, TextIn(body, kSnapshot));
  BERTH_ASSIGN_OR_RETURN(std::string name, TextIn(body, kSnapshotName));
  if (name.empty()) name = kSnapshot;
  body.erase(kSnapshot);
  body.erase(kSnapshotName);
  const auto bytes = DecodeBase64(text);
  if (!bytes.ok()) return InvalidError("snapshot should be a file of berth snapshot, in base64");
  auto state = whatif::ReadSnapshotBytes(*bytes, name, Desk::kSnapshotTextBytesMax);
  if (!state.ok()) return InvalidError(state.error().message);
  return state;
}

}  // namespace

Desk::Desk(DeskOptions options, const ChangeLog& log, CoreFor core_for, const Clock& clock, MetricRegistry& metrics)
    : options_(options), log_(log), core_for_(std::move(core_for)), clock_(clock), metrics_(metrics) {
  for (std::size_t i = 0; i < std::max<std::size_t>(options_.workers, 1); ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

Desk::~Desk() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Desk::Open() {
  {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
  }
  changed_.notify_all();
}

Expected<std::shared_ptr<Desk::Ticket>> Desk::Ask(Question question, Done done) {
  const auto ticket = std::make_shared<Ticket>();
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= options_.waiting_max) {
      metrics_.OnRefusal("waiting");
      return Error{ErrorCode::kTooManyRequests, "too many questions wait for an answer, please try again later"};
    }
    std::size_t& of_client = of_client_[question.client];
    if (of_client >= options_.of_client_max) {
      metrics_.OnRefusal("client");
      return Error{ErrorCode::kTooManyRequests, "you have " + std::to_string(of_client) +
                                                    " questions under way, as many as a client may have; please try "
                                                    "again when one is answered"};
    }
    ++of_client;
    waiting_.push_back({std::move(question), std::move(done), ticket, clock_.Now()});
    metrics_.SetWaiting(waiting_.size());
  }
  changed_.notify_one();
  return ticket;
}

void Desk::Work() {
  WarmCluster cluster(log_, core_for_, clock_, options_.is_live);
  std::size_t loads = 0;
  const auto count_loads = [&] {
    const std::size_t more = cluster.loads() - std::exchange(loads, cluster.loads());
    loads_ += more;
    metrics_.OnLoads(more);
  };
  std::unique_lock lock(mutex_);
  while (!is_stopped_) {
    if (!waiting_.empty()) {
      Job job = std::move(waiting_.front());
      waiting_.pop_front();
      metrics_.SetWaiting(waiting_.size());
      lock.unlock();
      Answer(job, cluster);
      count_loads();
      lock.lock();
      continue;
    }
    if (is_open_) {
      // Whoever asks next finds a cluster that is nearly current.
      lock.unlock();
      cluster.Prepare();
      count_loads();
      lock.lock();
      if (is_stopped_ || !waiting_.empty()) continue;
      changed_.wait_for(lock, kIdlePeriod, [this] { return is_stopped_ || !waiting_.empty(); });
    } else {
      changed_.wait(lock, [this] { return is_stopped_ || is_open_ || !waiting_.empty(); });
    }
  }
}

void Desk::Answer(Job& job, WarmCluster& cluster) {
  const Time begun_at = clock_.Now();
  const Time over_at = job.asked_at + options_.time_max;
  const auto is_interrupted = [&] { return is_stopped_ || job.ticket->IsCancelled() || clock_.Now() >= over_at; };
  Expected<Reply> reply = Error{ErrorCode::kCancelled, "cancelled"};
  if (!is_interrupted()) {
    cluster.SetInterrupt(is_interrupted);
    reply = Find(job, cluster, is_interrupted);
    cluster.SetInterrupt({});
  }
  const Time now = clock_.Now();
  if (now >= over_at)
    reply = Error{ErrorCode::kTimeout, "it was not answered within " + FormatGoDuration(options_.time_max)};
  const bool is_cancelled = is_stopped_ || job.ticket->IsCancelled();
  const std::string outcome = is_cancelled ? "cancelled" : OutcomeOf(reply);
  metrics_.OnAnswer(job.question.kind->name, outcome, now - job.asked_at);
  log::Info("ask", "Question",
            {{"question", job.question.kind->name},
             {"client", job.question.client},
             {"outcome", outcome},
             {"took", FormatGoDuration(now - job.asked_at)},
             {"error", reply.ok() ? std::string() : reply.error().message}});
  if (options_.on_answer) {
    const std::string error = reply.ok() ? std::string() : reply.error().message;
    options_.on_answer({job.question.kind->name, job.question.client, job.question.traceparent, outcome, error,
                        job.asked_at, begun_at, now});
  }
  Leave(job.question.client);
  if (!is_cancelled) job.done(std::move(reply));
}

Expected<Reply> Desk::Find(const Job& job, WarmCluster& cluster, const IsInterrupted& is_interrupted) {
  auto parsed = codec::ParseJson(job.question.body, {.bytes_max = job.question.body.size() + 1});
  if (!parsed.ok()) return InvalidError(parsed.error().Wrap("the body").message);
  BERTH_RETURN_IF_ERROR(ObjectOf(*parsed));
  object& body = parsed->as_object();
  BERTH_ASSIGN_OR_RETURN(std::string configuration, TakeConfiguration(body));
  const bool has_snapshot = body.contains(kSnapshot);
  if (!has_snapshot && configuration.empty()) {
    cluster.CatchUp();
    return job.question.kind->answer(body, options_.limits, cluster, is_interrupted);
  }
  const std::unique_lock turn(once_mutex_, std::try_to_lock);
  if (!turn.owns_lock())
    return Error{ErrorCode::kTooManyRequests,
                 "another question with a snapshot or a configuration is being answered, please try again later"};
  if (!has_snapshot) {
    cluster.CatchUp();
    return FindOnce(job, body, cluster.state(), std::move(configuration), is_interrupted);
  }
  BERTH_ASSIGN_OR_RETURN(const whatif::ClusterState state, TakeSnapshot(body));
  return FindOnce(job, body, state, std::move(configuration), is_interrupted);
}

Expected<Reply> Desk::FindOnce(const Job& job, const object& body, const whatif::ClusterState& state,
                               std::string configuration, const IsInterrupted& is_interrupted) {
  OnceCluster cluster(state, core_for_, is_interrupted, std::move(configuration));
  return job.question.kind->answer(body, options_.limits, cluster, is_interrupted);
}

void Desk::Leave(const std::string& client) {
  const std::lock_guard lock(mutex_);
  const auto at = of_client_.find(client);
  if (at != of_client_.end() && --at->second == 0) of_client_.erase(at);
}

}  // namespace berth::ask
