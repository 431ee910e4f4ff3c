// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/outside/outside_poller.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "berth/base/backoff.h"
#include "berth/base/base64.h"
#include "berth/base/log.h"
#include "berth/base/random.h"
#include "berth/base/text.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/shell/client/file.h"
#include "berth/shell/net/url.h"

namespace berth::outside {
namespace {

constexpr int kDoublingsMax = 10;
// A file that changed less than this ago is read again: it may change twice within one tick of the file system's clock.
constexpr auto kYoung = std::chrono::seconds(2);

struct Address {
  std::string base;    // "http://host:port"; empty: the API server
  std::string target;  // path and query
};

Expected<Address> AddressOf(const std::string& url) {
  if (!url.empty() && url.front() == '/') return Address{{}, url};
  const std::size_t scheme = url.find("://");
  const std::size_t slash = scheme == std::string::npos ? scheme : url.find_first_of("/?", scheme + 3);
  Address address{url.substr(0, slash), slash == std::string::npos ? "/" : url.substr(slash)};
  if (address.target.front() == '?') address.target.insert(0, "/");
  BERTH_RETURN_IF_ERROR(net::ParseUrl(address.base));
  return address;
}

// Distinguishes versions of a file without reading it. Links are followed: a mounted ConfigMap consists of them.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  std::int64_t modified_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

std::optional<FileIdentity> IdentityOf(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino, status.st_size,
                      status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec};
}

bool IsYoung(const FileIdentity& file) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::nanoseconds(file.modified_ns) > now - kYoung;
}

}  // namespace

// One source. Shared with the callbacks under way. Its state belongs to the loop's thread, apart from what the mutex
// guards.
class OutsidePoller::Source : public std::enable_shared_from_this<Source> {
 public:
  Source(std::size_t index, const scheduler::Scheduler::OutsideRequest& request, Address address,
         std::unique_ptr<net::Transport> transport, client::RestClient& rest, RunWork run_work,
         framework::Metrics& metrics, std::uint64_t seed, Done done)
      : index_(index),
        name_(request.plugin + "/" + request.source.name),
        source_(request.source),
        address_(std::move(address)),
        transport_(std::move(transport)),
        rest_(rest),
        run_work_(std::move(run_work)),
        succeeded_(CounterOf(metrics, request, "success")),
        failed_(CounterOf(metrics, request, "error")),
        random_(seed),
        done_(std::move(done)) {}

  void Ask() {
    if (source_.is_clock) return Ended(std::shared_ptr<const framework::OutsideData>());
    if (!source_.file.empty()) return Look();
    net::Request request;
    request.target = address_.target;
    request.headers.push_back({"Accept", "application/json"});
    if (address_.base.empty()) {
      client::RestOptions options;
      options.timeout = source_.timeout;
      options.tries = 1;
      options.body_bytes_max = source_.body_bytes_max;
      rest_.Do(std::move(request), options,
               [self = shared_from_this()](Expected<net::Response> response) { self->Answered(std::move(response)); });
      return;
    }
    if (const auto authorization = Authorization(); !authorization.ok()) {
      Ended(authorization.error());
      return;
    } else if (!authorization->empty()) {
      request.headers.push_back({"Authorization", *authorization});
    }
    net::SendOptions options;
    options.timeout = source_.timeout;
    options.body_bytes_max = source_.body_bytes_max;
    // A weak pointer, since the transport keeps the callback: it would keep itself alive if no answer came.
    transport_->Send(std::move(request), options, [weak = weak_from_this()](Expected<net::Response> response) {
      const std::shared_ptr<Source> self = weak.lock();
      if (self == nullptr) return;
      self->rest_.loop().Dispatch(
          [self, response = std::move(response)]() mutable { self->Answered(std::move(response)); });
    });
  }

  void Stop() {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    if (cancel_) cancel_();
  }

 private:
  static framework::Counter& CounterOf(framework::Metrics& metrics, const scheduler::Scheduler::OutsideRequest& request,
                                       std::string result) {
    return metrics.GetCounter("berth_outside_requests_total", "Requests for data from outside the cluster's objects.",
                              {{"profile", request.scheduler_name},
                               {"plugin", request.plugin},
                               {"source", request.source.name},
                               {"result", std::move(result)}});
  }

  Expected<std::string> Authorization() const {
    if (!source_.bearer_token_file.empty()) {
      BERTH_ASSIGN_OR_RETURN(const std::string token, client::ReadTokenFile(source_.bearer_token_file));
      return "Bearer " + token;
    }
    if (source_.basic_auth_file.empty()) return std::string();
    BERTH_ASSIGN_OR_RETURN(std::string pair, client::ReadSmallFile(source_.basic_auth_file));
    pair = Trim(pair, "\r\n");
    if (pair.find(':') == std::string::npos)
      return InvalidError(source_.basic_auth_file + ": want one line, user:password");
    return "Basic " + EncodeBase64(pair);
  }

  // Checks the file, on a worker: reading may wait for a disk.
  void Look() {
    run_work_([self = shared_from_this()] {
      std::optional<Data> news = self->News();
      self->rest_.loop().Post([self, news = std::move(news)]() mutable {
        if (news) return self->Ended(std::move(*news));
        const std::lock_guard lock(self->mutex_);
        if (!self->is_stopped_) self->AskLater();
      });
    });
  }

  // The file's new data; nullopt: nothing has changed. Runs on a worker, once at a time.
  std::optional<Data> News() {
    const std::optional<FileIdentity> identity = IdentityOf(source_.file);
    if (identity && identity == known_file_) return std::nullopt;
    auto text = client::ReadSmallFile(source_.file, source_.body_bytes_max);
    known_file_ = text.ok() && identity && !IsYoung(*identity) ? identity : std::nullopt;
    // An error counts as a content of its own.
    std::string reading = text.ok() ? "=" + *text : "!" + text.error().message;
    if (reading == last_reading_) return std::nullopt;
    last_reading_ = std::move(reading);
    if (!text.ok()) return text.error();
    return Parse(*text);
  }

  void Answered(Expected<net::Response> response) {
    if (!response.ok()) return Ended(response.error());
    if (response->status != 200) {
      return Ended(Error{ErrorCode::kUnavailable, "answered with status " + std::to_string(response->status)});
    }
    run_work_([self = shared_from_this(), body = std::move(response->body)] {
      Data data = self->Parse(body);
      self->rest_.loop().Post([self, data = std::move(data)]() mutable { self->Ended(std::move(data)); });
    });
  }

  Data Parse(const std::string& body) const {
    try {
      return source_.parse(body);
    } catch (const std::exception& e) {
      return InvalidError(std::string("the answer could not be read: ") + e.what());
    } catch (...) {
      return InvalidError("the answer could not be read: unknown exception");
    }
  }

  void Ended(Data data) {
    if (data.ok()) {
      succeeded_.Add();
      if (failures_ > 0) log::Info("outside", "Data from outside is back", {{"source", name_}});
      failures_ = 0;
    } else {
      failed_.Add();
      // A failing server is logged once, and a failing file once for each version. The metric shows how long it lasts.
      if (!source_.file.empty()) {
        ++failures_;
        log::Warning("outside", "A file is not taken up",
                     {{"source", name_}, {"file", source_.file}, {"error", data.error().message}});
      } else if (failures_++ == 0) {
        log::Warning("outside", "No data from outside",
                     {{"source", name_},
                      {"url", net::ShownUrl(address_.base + address_.target)},
                      {"error", data.error().message}});
      }
    }
    const std::lock_guard lock(mutex_);
    if (is_stopped_) return;
    done_(index_, std::move(data));
    AskLater();
  }

  // mutex_ is held.
  void AskLater() {
    cancel_ = rest_.loop().PostAfter(NextDelay(), [self = shared_from_this()] { self->Ask(); });
  }

  // The interval varies by a tenth, so that many sources, or many schedulers, do not ask at the same time.
  Duration NextDelay() {
    Duration delay = source_.interval;
    const int failures = source_.file.empty() ? failures_ : 0;
    if (failures > 0) delay = std::max(delay, Doubled(delay, kIntervalMax, std::min(failures, kDoublingsMax)));
    const auto tenths = static_cast<std::uint64_t>(delay.count() / 5);
    return delay - delay / 10 + Duration(tenths == 0 ? 0 : static_cast<Duration::rep>(random_.Below(tenths)));
  }

  const std::size_t index_;
  const std::string name_;
  const framework::OutsideSource source_;
  const Address address_;
  const std::unique_ptr<net::Transport> transport_;  // null: the API server
  client::RestClient& rest_;
  const RunWork run_work_;
  framework::Counter& succeeded_;
  framework::Counter& failed_;
  Random random_;
  int failures_ = 0;
  // Used by News() alone.
  std::optional<FileIdentity> known_file_;
  std::string last_reading_;
  std::mutex mutex_;  // guards what follows, and that `done` is not called after Stop()
  const Done done_;
  bool is_stopped_ = false;
  std::function<void()> cancel_;
};

Expected<std::unique_ptr<OutsidePoller>> OutsidePoller::Make(
    const std::vector<scheduler::Scheduler::OutsideRequest>& requests, client::RestClient& rest,
    const MakeClient& make_client, RunWork run_work, framework::Metrics& metrics, std::uint64_t seed, Done done) {
  std::unique_ptr<OutsidePoller> poller(new OutsidePoller());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const framework::OutsideSource& source = requests[i].source;
    const std::string who = "plugin \"" + requests[i].plugin + "\": " + source.name;
    auto address = source.is_clock || !source.file.empty() ? Expected<Address>(Address()) : AddressOf(source.url);
    if (!address.ok()) return address.error().Wrap(who);
    std::unique_ptr<net::Transport> transport;
    if (!address->base.empty()) {
      net::HttpClientOptions options;
      options.base_url = address->base;
      options.connections_max = 1;
      options.queued_requests_max = 1;
      options.tls.emplace();
      options.tls->verify_peer = !source.insecure_skip_tls_verify;
      if (!source.ca_file.empty()) {
        auto ca = client::ReadSmallFile(source.ca_file);
        if (!ca.ok()) return ca.error().Wrap(who);
        options.tls->ca_pem = std::move(*ca);
      }
      auto made = make_client(std::move(options));
      if (!made.ok()) return made.error().Wrap(who);
      transport = std::move(*made);
    }
    poller->sources_.push_back(
        std::make_shared<Source>(i, requests[i], std::move(*address), std::move(transport), rest, run_work,
                                 source.is_clock ? framework::Metrics::None() : metrics, seed + i, done));
  }
  return poller;
}

OutsidePoller::~OutsidePoller() { Stop(); }

void OutsidePoller::Start() {
  for (const auto& source : sources_) source->Ask();
}

void OutsidePoller::Stop() {
  for (const auto& source : sources_) source->Stop();
}

}  // namespace berth::outside
