// SPDX-License-Identifier: Apache-2.0
// RestClient: requests to an API server with credentials, retries and errors as Kubernetes means them. Thread-safe;
// callbacks come on its EventLoop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/shell/client/credentials.h"
#include "berth/shell/client/event_loop.h"
#include "berth/shell/client/reminder.h"
#include "berth/shell/net/transport.h"

namespace berth::client {

// "berth/0.1.0".
std::string DefaultUserAgent();

struct RestClientOptions {
  std::string user_agent = DefaultUserAgent();
  std::vector<net::Header> headers;   // sent with each request
  double qps = 0;                     // requests a second on average, streams not counted; 0: no limit
  int burst = 0;                      // requests at once when qps is set; below 1 counts as 1
  std::size_t waiting_max = 200'000;  // calls waiting for a retry or the rate limit; beyond it: kTooManyRequests
  // What calls with `is_list` may collect at the same time. Further ones wait for their turn; one that may collect more
  // goes alone.
  std::size_t lists_bytes_max = std::size_t{256} << 20;
  // Whether callers that can use Kubernetes' protobuf do so in bodies, and ask for it in answers.
  bool sends_protobuf = false;
  bool takes_protobuf = false;
  // The fence of each write (all but GET and HEAD) that brings none; null: none. See net/write_fence.h.
  std::shared_ptr<const net::WriteFence> fence = nullptr;
  // The message of a 401: whose credential was refused, and what to do; empty: the server's message. See
  // ClientConfig::when_refused.
  std::string when_refused = {};
  // Shared by the clients of one loop that have the same credential, so that only one of them logs its refusal; null:
  // the client's own.
  std::shared_ptr<Reminder> refusals = nullptr;
};

// When the refusal of a credential is logged again: after a minute, then at growing intervals.
std::shared_ptr<Reminder> MakeRefusals();

// Reads contentType and acceptContentTypes as client-go does: without the second, answers are asked for in the type of
// the bodies.
void SetContentTypes(RestClientOptions& options, std::string_view content_type, std::string_view accept_content_types);

struct RestOptions {
  Duration timeout = std::chrono::seconds(30);  // of each try
  // Tries in all. Between them the server's Retry-After is obeyed (at most kRetryAfterMax), else 0.2 s to 5 s with
  // jitter. A request that may have taken effect is tried again only when it is a GET or HEAD.
  int tries = 5;
  std::size_t body_bytes_max = std::size_t{256} << 20;
  bool is_list = false;     // the answer is a page of a list: all of them share RestClientOptions::lists_bytes_max
  bool any_status = false;  // the last answer is handed over whatever its status, instead of as an Error
};

inline constexpr Duration kRetryAfterMax = std::chrono::seconds(30);

// Callbacks of a watch, on the loop's thread.
struct RestStreamCallbacks {
  std::function<void(const net::Response& head)> on_head;  // the first callback, whatever the status is
  std::function<void()> on_open;                           // the server answered 2xx
  std::function<void(std::string_view bytes)> on_bytes;
  std::function<void(Expected<void>)> on_end;  // once; an answer other than 2xx comes as its Error
};

class RestClient {
 public:
  using Done = std::function<void(Expected<net::Response>)>;

  // Bytes of a stream that wait for the loop when the transport has a thread of its own; beyond it the stream ends with
  // kTooLarge. On the loop's own thread nothing waits.
  static constexpr std::size_t kStreamBufferBytesMax = std::size_t{64} << 20;

  // `loop` and `transport` must outlive it. `credentials` null: none. `seed` starts the jitter.
  RestClient(EventLoop& loop, net::Transport& transport, std::shared_ptr<Credentials> credentials, std::uint64_t seed,
             RestClientOptions options = {});
  // On the loop's thread, or after its end. Calls that wait for a retry, the rate limit or their turn get their last
  // error or kCancelled; those under way end as the transport ends them.
  ~RestClient();
  RestClient(const RestClient&) = delete;
  RestClient& operator=(const RestClient&) = delete;

  // Adds Authorization, User-Agent, Accept and (with a body, where the caller set none) Content-Type: application/json.
  // A status other than 2xx becomes an Error: code from status and Status.reason, message from the Status object,
  // retry_after_ms; a write whose fence is closed is not sent (FencedError); outcome_unknown for a write that was
  // answered with 5xx, since it may have been stored all the same, unless it was an admission webhook that could not be
  // called.
  void Do(net::Request request, RestOptions options, Done done);

  // Do() for command-line tools. It blocks, so it must not run on the loop's thread.
  Expected<net::Response> DoSync(net::Request request, RestOptions options = {});

  // A GET whose answer is read as it comes. Never tried again by itself; after a 401 the credentials are refreshed for
  // the caller's next try. Destroying the handle ends it: no callback starts after that (wait for none from the loop's
  // own thread).
  [[nodiscard]] std::unique_ptr<net::StreamHandle> Stream(net::Request request, net::StreamOptions options,
                                                          RestStreamCallbacks callbacks);

  // For callers that try again by themselves and got no answer: true for the first of them since the server last
  // answered, so that an outage is logged once. On the loop's thread.
  bool BeginOutage();
  // For callers that try again by themselves and whose credential was refused (kUnauthorized): the number of such calls
  // since a credential was accepted, if a line should be logged now. On the loop's thread.
  std::optional<std::uint64_t> RecordRefusedCredential();

  EventLoop& loop() const;
  const RestClientOptions& options() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Whether the API server's message says that an admission webhook cannot be reached. Such a kDeniedByAdmission passes
// when the webhook is back.
bool SaysWebhookIsAway(std::string_view message);

// The Error of an answer other than 2xx to `request`. A 404 about objects that is not the API
// server's own is kUnavailable.
Error ErrorFromResponse(const net::Request& request, const net::Response& response);

// Paths, with each part percent-encoded. `prefix` is "/api/v1" or "/apis/GROUP/VERSION"; empty parts are left out.
//   ObjectPath("/api/v1", "default", "pods", "web-1", "binding") = "/api/v1/namespaces/default/pods/web-1/binding"
std::string ObjectPath(std::string_view prefix, std::string_view namespace_name, std::string_view resource,
                       std::string_view name = {}, std::string_view subresource = {});
// Appends "?a=b&c=d"; parameters with an empty value are left out.
std::string WithQuery(std::string path, const std::vector<std::pair<std::string_view, std::string>>& parameters);

}  // namespace berth::client
