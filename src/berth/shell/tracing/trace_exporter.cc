// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/tracing/trace_exporter.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "berth/base/backoff.h"
#include "berth/base/log.h"
#include "berth/base/random.h"
#include "berth/base/text.h"

namespace berth::tracing {
namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t{64} << 10;
// A failure is logged once in this time.
constexpr Duration kLogPeriod = std::chrono::minutes(5);

// A gRPC message: no compression, its length, its bytes.
std::string GrpcFrame(std::string_view message) {
  std::string frame(5, '\0');
  for (std::size_t i = 0; i < 4; ++i) frame[1 + i] = static_cast<char>(message.size() >> (24 - 8 * i));
  return frame.append(message);
}

// What came of a request.
struct Outcome {
  bool is_taken = false;
  bool may_repeat = false;
  std::optional<Duration> retry_after;
  std::string problem;
  std::string_view message;  // of a taken request: the collector's answer
};

// What the exporter counts.
struct Counts {
  explicit Counts(framework::Metrics& metrics)
      : exported(metrics.GetCounter("berth_trace_spans_exported_total", "Spans that the collector has taken.", {})),
        dropped_full(Dropped(metrics, "buffer_full")),
        dropped_refused(Dropped(metrics, "refused")),
        dropped_late(Dropped(metrics, "not_taken_in_time")),
        failures(metrics.GetCounter("berth_trace_export_failures_total",
                                    "Requests to the collector that were not taken.", {})),
        buffer_bytes(metrics.GetGauge("berth_trace_buffer_bytes", "Bytes of spans that wait to be exported.", {})) {}

  static framework::Counter& Dropped(framework::Metrics& metrics, const std::string& reason) {
    return metrics.GetCounter("berth_trace_spans_dropped_total", "Spans that no collector has got, by reason.",
                              {{"reason", reason}});
  }

  framework::Counter& exported;
  framework::Counter& dropped_full;
  framework::Counter& dropped_refused;
  framework::Counter& dropped_late;
  framework::Counter& failures;
  framework::Gauge& buffer_bytes;
};

// As OTLP says which status codes may pass.
bool MayPass(int status) { return status == 429 || status == 502 || status == 503 || status == 504; }
bool GrpcMayPass(std::string_view code) {
  for (const std::string_view passing : {"1", "4", "8", "10", "11", "14", "15"}) {
    if (code == passing) return true;
  }
  return false;
}

std::optional<Duration> RetryAfter(const net::Response& response) {
  const std::string_view text = response.Get("Retry-After");
  if (text.empty() || text.size() > 6 || text.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  std::int64_t seconds = 0;
  for (const char digit : text) seconds = seconds * 10 + (digit - '0');
  return std::chrono::seconds(seconds);
}

Outcome OutcomeOf(OtlpProtocol protocol, const Expected<net::Response>& response) {
  Outcome outcome;
  if (!response.ok()) {
    outcome.may_repeat = response.error().code != ErrorCode::kInvalid;
    outcome.problem = response.error().message;
    return outcome;
  }
  if (response->status != 200 && !(protocol == OtlpProtocol::kHttp && response->status / 100 == 2)) {
    outcome.may_repeat = MayPass(response->status);
    outcome.retry_after = RetryAfter(*response);
    outcome.problem = "the collector answered " + std::to_string(response->status);
    return outcome;
  }
  outcome.message = response->body;
  if (protocol == OtlpProtocol::kGrpc) {
    const std::string_view code = response->Get("grpc-status");
    if (code != "0") {
      outcome.may_repeat = GrpcMayPass(code);
      outcome.problem = code.empty() ? "the answer has no grpc-status: does the collector speak gRPC at this port?"
                                     : "the collector answered with gRPC status " + std::string(code) + ": " +
                                           std::string(response->Get("grpc-message").substr(0, 200));
      return outcome;
    }
    outcome.message.remove_prefix(std::min<std::size_t>(5, outcome.message.size()));
  }
  outcome.is_taken = true;
  return outcome;
}

}  // namespace

class TraceExporter::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(client::EventLoop& loop, std::unique_ptr<net::Transport> transport, const TracingConfig& config,
       TraceExporterOptions options, framework::Metrics& metrics)
      : loop_(loop),
        config_(config),
        options_(std::move(options)),
        counts_(metrics),
        random_(options_.seed),
        transport_(std::move(transport)) {}

  void Add(std::vector<instruments::Span>&& spans) {
    std::uint64_t dropped = 0;
    bool must_wake = false;
    {
      const std::lock_guard lock(mutex_);
      for (instruments::Span& span : spans) {
        const std::size_t bytes = span.Bytes();
        if (bytes_ + bytes > options_.buffer_bytes_max) {
          ++dropped;
          continue;
        }
        bytes_ += bytes;
        waiting_.push_back(std::move(span));
      }
      if (waiting_.size() >= options_.batch_spans_max) {
        must_wake = !std::exchange(is_woken_, true);
      } else if (!waiting_.empty() && !std::exchange(is_gathering_, true)) {
        WakeAfter(options_.gather);
      }
      counts_.buffer_bytes.Set(static_cast<double>(bytes_));
    }
    if (dropped > 0) counts_.dropped_full.Add(static_cast<double>(dropped));
    if (must_wake) Wake();
  }

  void CountDropped(std::uint64_t count) {
    if (count > 0) counts_.dropped_full.Add(static_cast<double>(count));
  }

  std::size_t Flush(Duration limit) {
    std::unique_lock lock(mutex_);
    is_flushing_ = true;
    Wake();
    settled_.wait_for(lock, limit, [this] { return waiting_.empty() && in_flight_ == 0; });
    is_flushing_ = false;
    return waiting_.size() + in_flight_;
  }

 private:
  void Wake() {
    loop_.Post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->SendNext();
    });
  }

  void WakeAfter(Duration delay) {
    // The timer may fire after the exporter has gone; it needs no cancelling.
    loop_.Post([weak = weak_from_this(), delay] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      (void)self->loop_.PostAfter(delay, [weak] {
        if (const auto late = weak.lock()) late->SendNext();
      });
    });
  }

  // On the loop's thread, like all below.
  void SendNext() {
    std::vector<instruments::Span> batch;
    {
      const std::lock_guard lock(mutex_);
      is_woken_ = is_gathering_ = false;
      if (in_flight_ > 0 && !(is_flushing_ && is_backing_off_)) return;
      if (in_flight_ == 0) {
        const std::size_t count = std::min(waiting_.size(), options_.batch_spans_max);
        if (count == 0) return;
        for (std::size_t i = 0; i < count; ++i) {
          bytes_ -= waiting_.front().Bytes();
          batch.push_back(std::move(waiting_.front()));
          waiting_.pop_front();
        }
        in_flight_ = count;
        counts_.buffer_bytes.Set(static_cast<double>(bytes_));
      }
    }
    if (!batch.empty()) {
      body_ = EncodeTraces(options_.resource, options_.version, batch, loop_.WallNow() - loop_.Now());
      failed_ = 0;
      give_up_at_ = loop_.Now() + options_.give_up_after;
    }
    is_backing_off_ = false;
    Send();
  }

  void Send() {
    const bool is_grpc = config_.protocol == OtlpProtocol::kGrpc;
    net::Request request;
    request.method = "POST";
    request.target = config_.path;
    request.body = is_grpc ? GrpcFrame(body_) : body_;
    request.headers.push_back({"Content-Type", is_grpc ? "application/grpc" : "application/x-protobuf"});
    request.headers.push_back({"User-Agent", "berth/" + options_.version});
    if (is_grpc) request.headers.push_back({"TE", "trailers"});
    net::SendOptions options;
    options.timeout = options_.timeout;
    options.body_bytes_max = kAnswerBytesMax;
    const std::uint64_t number = ++request_;
    transport_->Send(std::move(request), options, [weak = weak_from_this(), number](Expected<net::Response> response) {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->loop_.Dispatch([weak, number, response = std::move(response)] {
        if (const auto on_loop = weak.lock()) on_loop->Answered(number, response);
      });
    });
  }

  void Answered(std::uint64_t number, const Expected<net::Response>& response) {
    // A flush may have sent the batch again before its earlier request ended.
    if (number != request_ || in_flight_ == 0) return;
    const Outcome outcome = OutcomeOf(config_.protocol, response);
    if (outcome.is_taken) {
      CountTaken(outcome);
      return EndBatch();
    }
    counts_.failures.Add();
    LogFailure(outcome.problem);
    if (!outcome.may_repeat) {
      counts_.dropped_refused.Add(static_cast<double>(in_flight_));
      return EndBatch();
    }
    if (loop_.Now() >= give_up_at_) {
      counts_.dropped_late.Add(static_cast<double>(in_flight_));
      return EndBatch();
    }
    const Duration least = Doubled(options_.backoff_min, options_.backoff_max, failed_++);
    const Duration asked = std::min(outcome.retry_after.value_or(Duration::zero()), options_.backoff_max);
    is_backing_off_ = true;
    const std::uint64_t at = request_;
    (void)loop_.PostAfter(WithJitterAbove(std::max(least, asked), random_), [weak = weak_from_this(), at] {
      const auto self = weak.lock();
      if (self != nullptr && self->request_ == at && std::exchange(self->is_backing_off_, false)) self->Send();
    });
  }

  void CountTaken(const Outcome& outcome) {
    const std::optional<PartialSuccess> partial = DecodeTracesResponse(outcome.message);
    const std::uint64_t rejected = partial ? std::min<std::uint64_t>(partial->rejected, in_flight_) : 0;
    counts_.exported.Add(static_cast<double>(in_flight_ - rejected));
    if (rejected > 0) {
      counts_.dropped_refused.Add(static_cast<double>(rejected));
      LogFailure("the collector refused " + std::to_string(rejected) + " spans: " + partial->message.substr(0, 200));
    } else if (std::exchange(is_failing_, false)) {
      log::Info("tracing", "The collector takes spans again", {{"collector", config_.url}});
    }
  }

  void EndBatch() {
    body_ = {};
    bool has_more = false;
    {
      const std::lock_guard lock(mutex_);
      in_flight_ = 0;
      has_more = waiting_.size() >= options_.batch_spans_max || (is_flushing_ && !waiting_.empty());
      if (!has_more && !waiting_.empty() && !std::exchange(is_gathering_, true)) WakeAfter(options_.gather);
    }
    settled_.notify_all();
    if (has_more) SendNext();
  }

  void LogFailure(const std::string& problem) {
    is_failing_ = true;
    if (logged_at_ && loop_.Now() - *logged_at_ < kLogPeriod) return;
    logged_at_ = loop_.Now();
    log::Warning("tracing", "Spans cannot be exported; scheduling goes on",
                 {{"collector", config_.url}, {"err", problem}});
  }

  client::EventLoop& loop_;
  const TracingConfig config_;
  const TraceExporterOptions options_;
  const Counts counts_;

  std::mutex mutex_;  // guards the members up to the next empty line; in_flight_ is written on the loop's thread alone
  std::condition_variable settled_;
  std::deque<instruments::Span> waiting_;
  std::size_t bytes_ = 0;      // of waiting_
  std::size_t in_flight_ = 0;  // spans of the batch that is being sent
  bool is_woken_ = false;      // SendNext() will run soon
  bool is_gathering_ = false;  // SendNext() will run after a while
  bool is_flushing_ = false;

  // On the loop's thread.
  std::string body_;  // of the batch
  Time give_up_at_{};
  int failed_ = 0;
  std::uint64_t request_ = 0;  // number of the latest request
  bool is_backing_off_ = false;
  bool is_failing_ = false;
  std::optional<Time> logged_at_;
  Random random_;
  const std::unique_ptr<net::Transport> transport_;
};

TraceExporter::TraceExporter(client::EventLoop& loop, std::unique_ptr<net::Transport> transport,
                             const TracingConfig& config, TraceExporterOptions options, framework::Metrics& metrics)
    : impl_(std::make_shared<Impl>(loop, std::move(transport), config, std::move(options), metrics)) {}

TraceExporter::~TraceExporter() = default;

void TraceExporter::Add(std::vector<instruments::Span>&& spans) { impl_->Add(std::move(spans)); }
void TraceExporter::CountDropped(std::uint64_t count) { impl_->CountDropped(count); }
std::size_t TraceExporter::Flush(Duration limit) { return impl_->Flush(limit); }

}  // namespace berth::tracing
