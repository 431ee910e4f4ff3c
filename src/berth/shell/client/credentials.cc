// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/credentials.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>

#include "berth/base/log.h"
#include "berth/shell/client/exec_plugin.h"
#include "berth/shell/client/file.h"

namespace berth::client {
namespace {

constexpr Duration kTokenFilePeriod = std::chrono::minutes(1);
constexpr Duration kTokenFileRetry = std::chrono::seconds(5);
constexpr Duration kExecFailureKept = std::chrono::seconds(1);
constexpr std::size_t kExecWaitersMax = 200'000;  // requests that wait for one run of a plugin

class StaticCredentials final : public Credentials {
 public:
  explicit StaticCredentials(std::string authorization) : authorization_(std::move(authorization)) {}
  void Get(Done done) override { done(authorization_); }
  bool Invalidate(std::string_view) override { return false; }

 private:
  const std::string authorization_;
};

class TokenFileCredentials final : public Credentials {
 public:
  TokenFileCredentials(std::string path, std::string initial_token, const Clock& clock)
      : path_(std::move(path)), clock_(clock), token_(std::move(initial_token)) {}

  void Get(Done done) override { done(Current()); }

  bool Invalidate(std::string_view authorization) override {
    const std::lock_guard lock(mutex_);
    if (authorization != "Bearer " + token_) return true;  // The token has changed since the request was sent.
    Read();
    return authorization != "Bearer " + token_;
  }

 private:
  Expected<std::string> Current() {
    const std::lock_guard lock(mutex_);
    if (!read_next_ || clock_.Now() >= *read_next_) {
      if (auto error = Read()) {
        if (token_.empty()) {
          // Callers would take kNotFound for an object that does not exist.
          error->code = ErrorCode::kUnavailable;
          return *error;
        }
        log::Warning("client", "The token file cannot be read; the last token stays in use",
                     {{"error", error->message}});
      }
    }
    return "Bearer " + token_;
  }

  std::optional<Error> Read() {
    auto token = ReadTokenFile(path_);
    read_next_ = clock_.Now() + (token.ok() ? kTokenFilePeriod : kTokenFileRetry);
    if (!token.ok()) return token.error();
    token_ = std::move(token).value();
    return std::nullopt;
  }

  const std::string path_;
  const Clock& clock_;
  std::mutex mutex_;
  std::string token_;              // guarded by mutex_
  std::optional<Time> read_next_;  // guarded by mutex_
};

class CertificateCredentials final : public Credentials {
 public:
  CertificateCredentials(CertificateSource source, std::shared_ptr<Credentials> headers)
      : source_(std::move(source)), headers_(headers ? std::move(headers) : MakeNoCredentials()) {}

  void Get(Done done) override { headers_->Get(std::move(done)); }
  bool Invalidate(std::string_view authorization) override { return headers_->Invalidate(authorization); }
  bool HasClientCertificate() const override { return true; }
  Expected<std::pair<std::string, std::string>> ClientCertificatePem() override {
    std::pair<std::string, std::string> pems{source_.certificate_pem, source_.key_pem};
    if (!source_.certificate_path.empty()) {
      BERTH_ASSIGN_OR_RETURN(pems.first, ReadSmallFile(source_.certificate_path));
    }
    if (!source_.key_path.empty()) {
      BERTH_ASSIGN_OR_RETURN(pems.second, ReadSmallFile(source_.key_path));
    }
    return pems;
  }

 private:
  const CertificateSource source_;
  const std::shared_ptr<Credentials> headers_;
};

// Outlives its ExecCredentials if these are destroyed on the plugin's own thread.
struct ExecState {
  ExecState(ExecPlugin p, const Clock& c) : plugin(std::move(p)), clock(c), first_time_limit(plugin.time_limit) {}

  bool IsFresh() const { return credential && (!credential->expiration || clock.WallNow() < *credential->expiration); }
  std::string Authorization() const {
    return credential->token.empty() ? std::string() : "Bearer " + credential->token;
  }

  // The plugin's thread: runs it whenever somebody waits.
  void Work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return is_stopping || !waiters.empty(); });
      if (is_stopping) break;
      lock.unlock();
      Expected<ExecCredential> result = Run();
      lock.lock();
      if (result.ok()) {
        credential = std::move(result).value();
        failure.reset();
      } else {
        failure = result.error();
        failed_at = clock.Now();
      }
      const Expected<std::string> answer =
          failure ? Expected<std::string>(*failure) : Expected<std::string>(Authorization());
      Answer(lock, answer);
    }
    Answer(lock, Error{ErrorCode::kCancelled, "the client is shutting down"});
  }

  // On the plugin's thread.
  Expected<std::string> Print() {
    const SystemClock process_clock;  // RunExecPlugin's
    const Time until = process_clock.Now() + plugin.time_limit;
    auto printed = RunExecPlugin(plugin, is_stopping);
    if (process_clock.Now() < until) {
      plugin.time_limit = first_time_limit;
    } else {
      plugin.time_limit = std::min(plugin.time_limit_max, plugin.time_limit + plugin.time_limit / 2);
    }
    return printed;
  }

  Expected<ExecCredential> Run() {
    BERTH_ASSIGN_OR_RETURN(const std::string printed, Print());
    auto parsed = ParseExecCredential(printed, plugin.api_version);
    if (!parsed.ok()) return parsed.error().Wrap("while reading what credential plugin " + plugin.command + " printed");
    if (parsed->expiration && clock.WallNow() >= *parsed->expiration) {
      return Error{ErrorCode::kUnauthorized, "credential plugin " + plugin.command +
                                                 " gave a credential that expired at " +
                                                 FormatRfc3339(*parsed->expiration)};
    }
    return parsed;
  }

  void Answer(std::unique_lock<std::mutex>& lock, const Expected<std::string>& answer) {
    const auto answered = std::exchange(waiters, {});
    lock.unlock();
    for (const auto& done : answered) done(answer);
    lock.lock();
  }

  ExecPlugin plugin;  // used by the plugin's thread alone, once that runs
  const Clock& clock;
  const Duration first_time_limit;
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> is_stopping{false};
  std::vector<Credentials::Done> waiters;  // guarded by mutex, as all below
  std::optional<ExecCredential> credential;
  std::optional<Error> failure;
  Time failed_at{};
};

class ExecCredentials final : public Credentials {
 public:
  ExecCredentials(ExecPlugin plugin, const Clock& clock)
      : state_(std::make_shared<ExecState>(std::move(plugin), clock)) {}

  ~ExecCredentials() override {
    {
      const std::lock_guard lock(state_->mutex);
      state_->is_stopping = true;
    }
    state_->changed.notify_all();
    if (!thread_.joinable()) return;
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

  void Get(Done done) override {
    std::unique_lock lock(state_->mutex);
    if (state_->IsFresh()) {
      const std::string authorization = state_->Authorization();
      lock.unlock();
      return done(authorization);
    }
    std::optional<Error> refusal;
    if (state_->failure && state_->clock.Now() - state_->failed_at < kExecFailureKept) refusal = state_->failure;
    if (state_->waiters.size() >= kExecWaitersMax) {
      refusal =
          Error{ErrorCode::kTooManyRequests, "too many requests wait for credential plugin " + state_->plugin.command};
    }
    if (refusal) {
      lock.unlock();
      return done(*refusal);
    }
    state_->waiters.push_back(std::move(done));
    if (!thread_.joinable()) thread_ = std::thread([state = state_] { state->Work(); });
    lock.unlock();
    state_->changed.notify_one();
  }

  bool Invalidate(std::string_view authorization) override {
    const std::lock_guard lock(state_->mutex);
    if (state_->credential && state_->Authorization() == authorization) state_->credential.reset();
    return true;
  }

  bool HasClientCertificate() const override { return true; }
  Expected<std::pair<std::string, std::string>> ClientCertificatePem() override {
    const std::lock_guard lock(state_->mutex);
    if (!state_->credential) return std::pair<std::string, std::string>();
    return std::pair(state_->credential->certificate_pem, state_->credential->key_pem);
  }

 private:
  const std::shared_ptr<ExecState> state_;
  std::thread thread_;  // guarded by the state's mutex, but for the destructor
};

}  // namespace

std::shared_ptr<Credentials> MakeNoCredentials() { return MakeStaticCredentials({}); }

std::shared_ptr<Credentials> MakeStaticCredentials(std::string authorization) {
  return std::make_shared<StaticCredentials>(std::move(authorization));
}

std::shared_ptr<Credentials> MakeTokenFileCredentials(std::string path, std::string initial_token, const Clock& clock) {
  return std::make_shared<TokenFileCredentials>(std::move(path), std::move(initial_token), clock);
}

std::shared_ptr<Credentials> MakeCertificateCredentials(CertificateSource source,
                                                        std::shared_ptr<Credentials> headers) {
  return std::make_shared<CertificateCredentials>(std::move(source), std::move(headers));
}

std::shared_ptr<Credentials> MakeExecCredentials(ExecPlugin plugin, const Clock& clock) {
  return std::make_shared<ExecCredentials>(std::move(plugin), clock);
}

Expected<ExecCredential> ParseExecCredential(std::string_view text, std::string_view api_version) {
  BERTH_ASSIGN_OR_RETURN(const codec::json::value document, codec::ParseJson(text));
  const auto text_of = [](const codec::json::value* value) -> std::string {
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
  };
  if (!document.is_object()) return InvalidError("it should be an ExecCredential, a JSON object");
  const auto& object = document.as_object();
  if (text_of(object.if_contains("kind")) != "ExecCredential") return InvalidError("its kind is not ExecCredential");
  if (const std::string found = text_of(object.if_contains("apiVersion")); found != api_version) {
    return InvalidError("its apiVersion is \"" + found + "\", the kubeconfig asks for \"" + std::string(api_version) +
                        '"');
  }
  const auto* status = object.if_contains("status");
  if (status == nullptr || !status->is_object()) return InvalidError("it has no status");
  const auto& fields = status->as_object();
  for (const std::string_view key : {"token", "clientCertificateData", "clientKeyData", "expirationTimestamp"}) {
    const auto* field = fields.if_contains(key);
    if (field != nullptr && !field->is_string() && !field->is_null()) {
      return InvalidError("status." + std::string(key) + " should be a string");
    }
  }
  ExecCredential credential;
  credential.token = text_of(fields.if_contains("token"));
  credential.certificate_pem = text_of(fields.if_contains("clientCertificateData"));
  credential.key_pem = text_of(fields.if_contains("clientKeyData"));
  if (credential.certificate_pem.empty() != credential.key_pem.empty()) {
    return InvalidError("status has only one of clientCertificateData and clientKeyData; it needs both or none");
  }
  if (credential.token.empty() && credential.certificate_pem.empty()) {
    return InvalidError("status has neither token nor clientCertificateData and clientKeyData");
  }
  if (credential.token.find_first_of("\r\n") != std::string::npos)
    return InvalidError("status.token has a line break in it");
  if (const std::string time = text_of(fields.if_contains("expirationTimestamp")); !time.empty()) {
    credential.expiration = ParseRfc3339(time);
    if (!credential.expiration) {
      return InvalidError("status.expirationTimestamp is \"" + time.substr(0, 64) +
                          "\"; it should be like 2026-01-02T15:04:05Z");
    }
  }
  return credential;
}

}  // namespace berth::client
