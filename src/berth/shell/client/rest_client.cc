// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/rest_client.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

#include "berth/api/decode_protobuf_frame.h"
#include "berth/base/backoff.h"
#include "berth/base/log.h"
#include "berth/base/random.h"
#include "berth/base/version.h"
#include "berth/codec/json.h"
#include "berth/shell/net/url.h"
#include "berth/shell/net/write_fence.h"

namespace berth::client {
namespace {

constexpr Duration kBackoffMin = std::chrono::milliseconds(200);
constexpr Duration kBackoffMax = std::chrono::seconds(5);
constexpr std::size_t kShownBodyMax = 160;
constexpr std::size_t kMessageMax = std::size_t{64} << 10;
constexpr Duration kRefusalReminder = std::chrono::minutes(1);
constexpr Duration kRefusalReminderMax = std::chrono::hours(1);

bool IsRead(const net::Request& request) { return request.method == "GET" || request.method == "HEAD"; }

bool IsSuccess(int status) { return status >= 200 && status < 300; }

void SetDefaultHeader(net::Request& request, std::string_view name, std::string_view value) {
  const bool is_set = std::any_of(request.headers.begin(), request.headers.end(), [name](const net::Header& header) {
    return net::EqualsIgnoreCase(header.name, name);
  });
  if (!is_set) request.headers.push_back({std::string(name), std::string(value)});
}

// An error is one line, while answers may hold anything.
std::string OneLine(std::string_view text, std::size_t bytes_max) {
  std::string line(text.substr(0, bytes_max));
  std::replace_if(line.begin(), line.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');
  if (line.size() < text.size()) line += "...";
  return line;
}

// Whether a 404 about objects is the API server's own: it has a Status, or these words for a group or version that is
// not served. The core group always is. Any other comes from a proxy or load balancer that does not know the server for
// now, and says nothing of what the server has.
bool IsOwnNotFound(const net::Request& request, const net::Response& response, std::string_view reason) {
  if (reason == "NotFound") return true;
  if (request.target.starts_with("/apis/")) return response.body.starts_with("404 page not found");
  return !request.target.starts_with("/api/v1/");
}

ErrorCode CodeOf(int status, std::string_view reason) {
  switch (status) {
    case 401: return ErrorCode::kUnauthorized;
    case 403: return ErrorCode::kForbidden;
    case 404: return ErrorCode::kNotFound;
    case 409: return reason == "AlreadyExists" ? ErrorCode::kAlreadyExists : ErrorCode::kConflict;
    case 410: return ErrorCode::kGone;
    case 413: return ErrorCode::kTooLarge;
    case 429: return ErrorCode::kTooManyRequests;
    case 408:
    case 504: return ErrorCode::kTimeout;
    default: break;
  }
  if (status >= 500)
    return reason == "ServerTimeout" || reason == "Timeout" ? ErrorCode::kTimeout : ErrorCode::kUnavailable;
  return ErrorCode::kInvalid;
}

// Whether an admission webhook or a ValidatingAdmissionPolicy has denied the request: the API server puts these words
// in front of theirs. The status code is the webhook's own choice: 409, 429 and 503 then mean none of what they mean
// elsewhere.
bool SaysDeniedByAdmission(std::string_view message) {
  return (message.starts_with("admission webhook \"") && message.find("\" denied the request") != message.npos) ||
         (message.find("ValidatingAdmissionPolicy '") != message.npos &&
          message.find("denied request: ") != message.npos);
}

std::int64_t RetryAfterMs(std::string_view seconds) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(seconds.data(), seconds.data() + seconds.size(), value);
  if (problem != std::errc() || end != seconds.data() + seconds.size() || value < 0) return 0;
  return std::min<std::int64_t>(value, 24 * 3600) * 1000;
}

std::string TextOf(const codec::json::object& object, std::string_view key) {
  const auto* member = object.if_contains(key);
  return member != nullptr && member->is_string() ? std::string(member->as_string()) : std::string();
}

void SetRetryAfter(Error& error, std::int64_t seconds) {
  if (error.retry_after_ms == 0) error.retry_after_ms = RetryAfterMs(std::to_string(seconds));
}

// Writes the message and details of a Status in `body` into `error`, and returns its reason. Empty: the body is no
// Status.
std::string ReadStatus(const std::string& body, Error& error) {
  if (body.starts_with(api::kProtobufMagic)) {
    const auto envelope = api::UnwrapUnknown(body);
    if (!envelope.ok() || envelope->kind != "Status") return {};
    const auto status = api::ReadProtobufStatus(envelope->raw);
    if (!status.ok()) return {};
    error.message = OneLine(status->message, kMessageMax);
    SetRetryAfter(error, status->retry_after_seconds);
    return std::string(status->reason);
  }
  const auto parsed = codec::ParseJson(body);
  if (!parsed.ok() || !parsed->is_object()) return {};
  const auto& status = parsed->as_object();
  if (TextOf(status, "kind") != "Status") return {};
  error.message = OneLine(TextOf(status, "message"), kMessageMax);
  const auto* details = status.if_contains("details");
  if (details != nullptr && details->is_object()) {
    const auto* seconds = details->as_object().if_contains("retryAfterSeconds");
    if (seconds != nullptr && seconds->is_int64()) SetRetryAfter(error, seconds->as_int64());
  }
  return TextOf(status, "reason");
}

// A denial by admission may have any code. It comes after the credentials have been accepted, so it is not about them.
bool IsAboutCertificate(const net::Response& answer) {
  Error error;
  ReadStatus(answer.body, error);
  return !SaysDeniedByAdmission(error.message);
}

}  // namespace

std::string DefaultUserAgent() { return std::string("berth/").append(Version()); }

std::shared_ptr<Reminder> MakeRefusals() { return std::make_shared<Reminder>(kRefusalReminder, kRefusalReminderMax); }

void SetContentTypes(RestClientOptions& options, std::string_view content_type, std::string_view accept_content_types) {
  options.sends_protobuf = content_type == api::kProtobufMediaType;
  const std::string_view accepted = accept_content_types.empty() ? content_type : accept_content_types;
  options.takes_protobuf = accepted.find(api::kProtobufMediaType) != std::string_view::npos;
}

bool SaysWebhookIsAway(std::string_view message) {
  return message.find("failed calling webhook") != std::string_view::npos;
}

Error ErrorFromResponse(const net::Request& request, const net::Response& response) {
  Error error;
  error.retry_after_ms = RetryAfterMs(response.Get("Retry-After"));

  std::string reason = ReadStatus(response.body, error);
  error.code = CodeOf(response.status, reason);
  if (error.code == ErrorCode::kNotFound && !IsOwnNotFound(request, response, reason))
    error.code = ErrorCode::kUnavailable;
  error.outcome_unknown = response.status >= 500 && !IsRead(request);
  const bool is_webhook_away = reason == "InternalError" && SaysWebhookIsAway(error.message);
  if (is_webhook_away || SaysDeniedByAdmission(error.message)) {
    error.code = ErrorCode::kDeniedByAdmission;
    error.outcome_unknown = false;
    error.retry_after_ms = 0;
  }
  if (error.message.empty()) {
    error.message = request.method + ' ' + OneLine(net::ShownUrl(request.target), kShownBodyMax) +
                    " was answered with HTTP " + std::to_string(response.status);
    if (!reason.empty()) {
      error.message += " (" + reason + ')';
    } else if (!response.body.empty()) {
      error.message += " and a body that is no Kubernetes Status: \"" + OneLine(response.body, kShownBodyMax) + '"';
    }
    if (response.status >= 300 && response.status < 400)
      error.message += "; is the server's address that of an API server?";
  }
  return error;
}

std::string ObjectPath(std::string_view prefix, std::string_view namespace_name, std::string_view resource,
                       std::string_view name, std::string_view subresource) {
  std::string path(prefix);
  if (!namespace_name.empty()) path += "/namespaces/" + net::PercentEncode(namespace_name);
  path += '/' + net::PercentEncode(resource);
  if (!name.empty()) path += '/' + net::PercentEncode(name);
  if (!subresource.empty()) path += '/' + net::PercentEncode(subresource);
  return path;
}

std::string WithQuery(std::string path, const std::vector<std::pair<std::string_view, std::string>>& parameters) {
  char separator = path.find('?') == std::string::npos ? '?' : '&';
  for (const auto& [key, value] : parameters) {
    if (value.empty()) continue;
    path += separator + net::PercentEncode(key) + '=' + net::PercentEncode(value);
    separator = '&';
  }
  return path;
}

// Everything but `is_closed` belongs to the loop's thread. Threads of a transport or of credentials use OnLoop(), which
// also keeps late callbacks away from a loop that does not exist any more.
struct RestClient::State : std::enable_shared_from_this<RestClient::State> {
  struct Call {
    net::Request request;
    RestOptions options;
    Done done;
    int tries = 0;
    std::optional<Duration> rate_limit_wait;  // reported with the first try
    bool is_refreshed = false;                // after a 401; at most once in a call
    std::string authorization;
  };
  using CallPtr = std::shared_ptr<Call>;
  class Watch;

  State(EventLoop& l, net::Transport& t, std::shared_ptr<Credentials> c, std::uint64_t seed, RestClientOptions o)
      : loop(l),
        transport(t),
        credentials(std::move(c)),
        random(seed),
        options(std::move(o)),
        refusals(options.refusals ? options.refusals : MakeRefusals()) {
    if (!credentials) credentials = MakeNoCredentials();
    tokens = std::max(1, options.burst);
    tokens_at = loop.Now();
  }

  // Runs `work` on the loop's thread. It gets false if the client has ended: it then runs on any thread and must
  // not use the loop.
  void OnLoop(std::function<void(bool is_open)> work) {
    {
      const std::lock_guard lock(mutex);
      if (!is_closed && !loop.IsCurrent()) {
        loop.Post([self = shared_from_this(), work = std::move(work)] { work(!self->is_closed); });
        return;
      }
    }
    work(!is_closed);
  }

  void SetHeaders(net::Request& request) const {
    SetDefaultHeader(request, "User-Agent", options.user_agent);
    SetDefaultHeader(request, "Accept", "application/json");
    if (!request.body.empty()) SetDefaultHeader(request, "Content-Type", "application/json");
    for (const auto& header : options.headers) SetDefaultHeader(request, header.name, header.value);
  }

  // Calls back after `delay`, or with false when the client ends before. False when too many wait already.
  bool Wait(Duration delay, std::function<void(bool is_open)> work) {
    if (waiting.size() >= options.waiting_max) return false;
    const std::uint64_t id = waiting_id_next++;
    auto& entry = waiting[id];
    entry.work = std::move(work);
    entry.cancel = loop.PostAfter(delay, [weak = weak_from_this(), id] {
      const auto self = weak.lock();
      if (!self) return;
      const auto node = self->waiting.extract(id);
      if (!node.empty()) node.mapped().work(true);
    });
    return true;
  }

  // How long the rate limit makes the next request wait. A negative number of tokens is the length of the queue.
  Duration TakeToken() {
    if (options.qps <= 0) return Duration::zero();
    const double seconds = std::max(0.0, std::chrono::duration<double>(loop.Now() - tokens_at).count());
    tokens_at = loop.Now();
    tokens = std::min<double>(std::max(1, options.burst), tokens + seconds * options.qps) - 1;
    if (tokens >= 0) return Duration::zero();
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(-tokens / options.qps));
  }

  static void Finish(const CallPtr& call, Expected<net::Response> result) {
    if (call->done) std::exchange(call->done, nullptr)(std::move(result));
  }
  static Error Cancelled() { return {ErrorCode::kCancelled, "the client is shutting down"}; }
  static Error TooManyWaiting() {
    return {ErrorCode::kTooManyRequests, "too many requests wait for the API server already; this one was not sent"};
  }

  // Begins a call of a list, at once or when those before it have ended.
  void BeginInTurn(const CallPtr& call) {
    if (lists_waiting.size() >= options.waiting_max) return Finish(call, TooManyWaiting());
    lists_waiting.push_back(call);
    BeginLists();
  }

  void BeginLists() {
    while (!lists_waiting.empty()) {
      const CallPtr call = lists_waiting.front();
      const std::size_t bytes = std::min(call->options.body_bytes_max, options.lists_bytes_max);
      if (lists_bytes + bytes > options.lists_bytes_max) return;
      lists_waiting.pop_front();
      lists_bytes += bytes;
      // Its share is free again when the caller has read the answer.
      call->done = [weak = weak_from_this(), bytes, done = std::move(call->done)](Expected<net::Response> result) {
        if (done) done(std::move(result));
        const auto self = weak.lock();
        if (!self || self->is_closed) return;
        self->lists_bytes -= bytes;
        self->BeginLists();
      };
      Begin(call);
    }
  }

  void Begin(const CallPtr& call) {
    const Duration wait = TakeToken();
    if (options.qps > 0) call->rate_limit_wait = Duration::zero();
    if (wait == Duration::zero()) return Attempt(call);
    const auto resume = [self = shared_from_this(), call, began = loop.Now()](bool is_open) {
      if (!is_open) return Finish(call, Cancelled());
      call->rate_limit_wait = self->loop.Now() - began;
      self->Attempt(call);
    };
    if (!Wait(wait, resume)) {
      tokens += 1;
      Finish(call, TooManyWaiting());
    }
  }

  void Attempt(const CallPtr& call) {
    credentials->Get([self = shared_from_this(), call](Expected<std::string> authorization) {
      self->OnLoop([self, call, authorization = std::move(authorization)](bool is_open) {
        if (!is_open) return Finish(call, Cancelled());
        if (!authorization.ok()) return self->Decide(call, authorization.error(), false);
        self->SendTo(call, *authorization);
      });
    });
  }

  void SendTo(const CallPtr& call, const std::string& authorization) {
    // The transport checks the fence again. Checking it here keeps writes out of the queues that may not be sent any
    // more.
    const net::WriteFence* const fence = call->request.fence.get();
    if (fence != nullptr && !fence->IsOpen()) return Finish(call, net::FencedError("", false));
    call->authorization = authorization;
    ++call->tries;
    const net::SendOptions send_options{.timeout = call->options.timeout,
                                        .body_bytes_max = call->options.body_bytes_max,
                                        .is_about_certificate = IsAboutCertificate,
                                        .is_retry = call->tries > 1,
                                        .rate_limit_wait = std::exchange(call->rate_limit_wait, std::nullopt)};
    net::Request request = call->request;
    if (!authorization.empty()) request.headers.push_back({"Authorization", authorization});
    transport.Send(std::move(request), send_options, [self = shared_from_this(), call](Expected<net::Response> result) {
      // std::function copies its captures, and a page of a list is too large for that.
      auto shared = std::make_shared<Expected<net::Response>>(std::move(result));
      self->OnLoop([self, call, shared](bool is_open) {
        if (!is_open) return Finish(call, std::move(*shared));
        self->OnAnswer(call, std::move(*shared));
      });
    });
  }

  void EndOutage() {
    if (std::exchange(is_away, false)) log::Info("client", "The API server answers again");
  }

  // A 403 shows that the credential was accepted.
  void OnStatus(int status) {
    EndOutage();
    const bool is_known = IsSuccess(status) || status == 403;
    if (is_known && refusals->End()) log::Info("client", "The API server accepts our credential again");
  }

  Error ErrorOf(const net::Request& request, const net::Response& response) const {
    Error error = ErrorFromResponse(request, response);
    if (error.code == ErrorCode::kUnauthorized && !options.when_refused.empty())
      error.message = "the API server answers 401 Unauthorized: " + options.when_refused;
    return error;
  }

  void OnAnswer(const CallPtr& call, Expected<net::Response> result) {
    if (result.ok()) OnStatus(result->status);
    if (!result.ok()) {
      const Error& error = result.error();
      const bool may_repeat = IsRead(call->request) || !error.outcome_unknown;
      const bool is_passing = error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout ||
                              error.code == ErrorCode::kTooManyRequests;
      return Decide(call, error, may_repeat && is_passing);
    }
    const int status = result->status;
    if (IsSuccess(status)) return Finish(call, std::move(result));
    Error error = ErrorOf(call->request, *result);
    const bool is_denied = error.code == ErrorCode::kDeniedByAdmission;
    if (status == 401 && !is_denied && !call->is_refreshed) {
      call->is_refreshed = true;
      if (credentials->Invalidate(call->authorization)) return Attempt(call);
    }
    const bool may_repeat =
        (status == 429 && !is_denied) || (IsRead(call->request) && (status == 500 || (status >= 502 && status <= 504)));
    if (may_repeat && call->tries < call->options.tries) return Decide(call, error, true);
    if (call->options.any_status) return Finish(call, std::move(result));
    Finish(call, std::move(error));
  }

  void Decide(const CallPtr& call, const Error& error, bool may_repeat) {
    if (!may_repeat || call->tries >= call->options.tries) return Finish(call, error);
    Duration delay;
    if (error.retry_after_ms > 0) {
      // Jitter only makes the wait longer: the server asked for at least this.
      delay = std::min<Duration>(std::chrono::milliseconds(error.retry_after_ms), kRetryAfterMax);
      delay = WithJitterAbove(delay, random);
    } else {
      delay = WithJitter(Doubled(kBackoffMin, kBackoffMax, call->tries - 1), random);
    }
    const auto resume = [self = shared_from_this(), call, error](bool is_open) {
      if (!is_open) return Finish(call, error);
      self->Attempt(call);
    };
    if (!Wait(delay, resume)) Finish(call, error);
  }

  EventLoop& loop;
  net::Transport& transport;
  std::shared_ptr<Credentials> credentials;
  Random random;
  const RestClientOptions options;
  const std::shared_ptr<Reminder> refusals;  // used on the loop's thread

  struct Waiting {
    std::function<void()> cancel;
    std::function<void(bool is_open)> work;
  };
  std::map<std::uint64_t, Waiting> waiting;
  std::uint64_t waiting_id_next = 0;
  std::deque<CallPtr> lists_waiting;  // for their turn
  std::size_t lists_bytes = 0;        // that lists which have begun may collect
  double tokens = 0;
  Time tokens_at;
  bool is_away = false;  // BeginOutage() has returned true

  std::mutex mutex;
  std::atomic<bool> is_closed{false};  // written under mutex
};

// A stream in progress. Its handle may be dropped on any thread; the rest is the loop's.
class RestClient::State::Watch : public std::enable_shared_from_this<Watch> {
 public:
  Watch(std::shared_ptr<State> state, net::Request request, net::StreamOptions options, RestStreamCallbacks callbacks)
      : state_(std::move(state)), request_(std::move(request)), options_(options), callbacks_(std::move(callbacks)) {}

  void Start() {
    state_->OnLoop([self = shared_from_this()](bool is_open) {
      if (!is_open || self->is_done_) return self->End(Cancelled());
      self->state_->credentials->Get([self](Expected<std::string> authorization) {
        self->state_->OnLoop([self, authorization = std::move(authorization)](bool is_still_open) {
          if (!is_still_open || self->is_done_) return self->End(Cancelled());
          if (!authorization.ok()) return self->End(authorization.error());
          self->Open(*authorization);
        });
      });
    });
  }

  void Cancel() {
    is_done_ = true;
    std::unique_ptr<net::StreamHandle> handle;
    {
      const std::lock_guard lock(mutex_);
      handle = std::move(handle_);
    }
    if (handle) handle->Cancel();
    Discard(std::move(handle));
  }

 private:
  void Open(const std::string& authorization) {
    authorization_ = authorization;
    net::Request request = request_;
    if (!authorization.empty()) request.headers.push_back({"Authorization", authorization});
    net::StreamCallbacks callbacks;
    callbacks.on_head = [self = shared_from_this()](const net::Response& head) {
      self->state_->OnLoop([self, head](bool is_open) {
        if (is_open) self->OnHead(head);
      });
    };
    callbacks.on_bytes = [self = shared_from_this()](std::string_view bytes) { self->OnBytes(bytes); };
    callbacks.on_end = [self = shared_from_this()](Expected<void> result) {
      self->state_->OnLoop([self, result = std::move(result)](bool) { self->End(result); });
    };
    auto handle = state_->transport.Stream(std::move(request), options_, std::move(callbacks));
    {
      const std::lock_guard lock(mutex_);
      if (!is_done_) handle_ = std::move(handle);
    }
    if (handle) {
      handle->Cancel();
      Discard(std::move(handle));
    }
  }

  void OnHead(const net::Response& head) {
    if (is_done_) return;
    state_->OnStatus(head.status);
    if (callbacks_.on_head) callbacks_.on_head(head);
    if (is_done_) return;
    if (IsSuccess(head.status)) {
      is_open_ = true;
      if (callbacks_.on_open) callbacks_.on_open();
      return;
    }
    if (head.status == 401) state_->credentials->Invalidate(authorization_);
    refusal_ = state_->ErrorOf(request_, head);
  }

  void OnBytes(std::string_view bytes) {
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->is_closed) return;
      if (!state_->loop.IsCurrent()) {
        if (is_done_ || is_overrun_) return;
        if (bytes_waiting_.fetch_add(bytes.size()) + bytes.size() > kStreamBufferBytesMax) {
          is_overrun_ = true;
          state_->loop.Post([self = shared_from_this()] {
            self->End(Error{ErrorCode::kTooLarge, "the stream comes faster than it is taken: over " +
                                                      std::to_string(kStreamBufferBytesMax) + " bytes wait"});
          });
          return;
        }
        state_->loop.Post([self = shared_from_this(), copy = std::string(bytes)] {
          self->bytes_waiting_ -= copy.size();
          self->Deliver(copy);
        });
        return;
      }
    }
    Deliver(bytes);
  }

  void Deliver(std::string_view bytes) {
    if (!is_done_ && is_open_ && callbacks_.on_bytes) callbacks_.on_bytes(bytes);
  }

  void End(Expected<void> result) {
    if (is_done_.exchange(true)) return;
    std::unique_ptr<net::StreamHandle> handle;
    {
      const std::lock_guard lock(mutex_);
      handle = std::move(handle_);
    }
    if (handle) handle->Cancel();
    Discard(std::move(handle));
    if (refusal_) result = *refusal_;
    if (callbacks_.on_end) callbacks_.on_end(std::move(result));
  }

  // A transport need not support that a handle is destroyed inside its own callback, and the loop's thread may be in
  // one now.
  void Discard(std::unique_ptr<net::StreamHandle> handle) {
    if (!handle) return;
    const std::lock_guard lock(state_->mutex);
    if (state_->is_closed || !state_->loop.IsCurrent()) return;
    state_->loop.Post([shared = std::shared_ptr<net::StreamHandle>(std::move(handle))] {});
  }

  std::shared_ptr<State> state_;
  const net::Request request_;
  const net::StreamOptions options_;
  RestStreamCallbacks callbacks_;
  std::string authorization_;
  std::optional<Error> refusal_;
  bool is_open_ = false;
  std::atomic<bool> is_done_{false};
  std::atomic<bool> is_overrun_{false};
  std::atomic<std::size_t> bytes_waiting_{0};
  std::mutex mutex_;
  std::unique_ptr<net::StreamHandle> handle_;  // guarded by mutex_
};

RestClient::RestClient(EventLoop& loop, net::Transport& transport, std::shared_ptr<Credentials> credentials,
                       std::uint64_t seed, RestClientOptions options)
    : state_(std::make_shared<State>(loop, transport, std::move(credentials), seed, std::move(options))) {}

RestClient::~RestClient() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_closed = true;
  }
  auto waiting = std::move(state_->waiting);
  state_->waiting.clear();
  for (auto& [id, entry] : waiting) {
    entry.cancel();
    entry.work(false);
  }
  for (const auto& call : std::exchange(state_->lists_waiting, {})) State::Finish(call, State::Cancelled());
}

void RestClient::Do(net::Request request, RestOptions options, Done done) {
  state_->SetHeaders(request);
  if (request.fence == nullptr && !IsRead(request)) request.fence = state_->options.fence;
  auto call = std::make_shared<State::Call>();
  call->request = std::move(request);
  call->options = options;
  call->done = std::move(done);
  state_->OnLoop([state = state_, call](bool is_open) {
    if (!is_open) return State::Finish(call, State::Cancelled());
    call->options.is_list ? state->BeginInTurn(call) : state->Begin(call);
  });
}

Expected<net::Response> RestClient::DoSync(net::Request request, RestOptions options) {
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Expected<net::Response>> result;
  };
  const auto shared = std::make_shared<Shared>();
  const Duration wait_max = (options.timeout + kRetryAfterMax * 2) * std::max(1, options.tries);
  Do(std::move(request), options, [shared](Expected<net::Response> result) {
    const std::lock_guard lock(shared->mutex);
    shared->result = std::move(result);
    shared->changed.notify_all();
  });
  std::unique_lock lock(shared->mutex);
  if (!shared->changed.wait_for(lock, wait_max, [&] { return shared->result.has_value(); })) {
    return Error{ErrorCode::kTimeout, "no answer came, the event loop has ended or is stuck", true};
  }
  return std::move(*shared->result);
}

std::unique_ptr<net::StreamHandle> RestClient::Stream(net::Request request, net::StreamOptions options,
                                                      RestStreamCallbacks callbacks) {
  class Handle final : public net::StreamHandle {
   public:
    explicit Handle(std::shared_ptr<State::Watch> watch) : watch_(std::move(watch)) {}
    ~Handle() override { watch_->Cancel(); }
    void Cancel() override { watch_->Cancel(); }

   private:
    std::shared_ptr<State::Watch> watch_;
  };
  state_->SetHeaders(request);
  auto watch = std::make_shared<State::Watch>(state_, std::move(request), options, std::move(callbacks));
  watch->Start();
  return std::make_unique<Handle>(std::move(watch));
}

bool RestClient::BeginOutage() { return !std::exchange(state_->is_away, true); }
std::optional<std::uint64_t> RestClient::RecordRefusedCredential() {
  return state_->refusals->Record(state_->loop.Now());
}
EventLoop& RestClient::loop() const { return state_->loop; }
const RestClientOptions& RestClient::options() const { return state_->options; }

}  // namespace berth::client
