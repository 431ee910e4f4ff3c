// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/serving/secure_server.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <future>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "berth/base/log.h"
#include "berth/base/text.h"
#include "berth/shell/client/file.h"
#include "berth/shell/client/make_transport.h"
#include "berth/shell/net/self_signed.h"
#include "berth/shell/net/url.h"
#include "berth/shell/serving/answers.h"

namespace berth::serving {
namespace {

constexpr std::string_view kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr std::string_view kAccessReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
// The name of a pair of files in SecureServingOptions::cert_dir.
constexpr std::string_view kPairName = "kube-scheduler";

bool IsUnspecified(const std::string& address) { return address == "0.0.0.0" || address == "::"; }

Expected<void> WriteWhole(const std::string& path, const std::string& text, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return InvalidError(path + ": " + std::strerror(errno));
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(fd, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  const bool is_whole = ::close(fd) == 0 && written == text.size();
  if (!is_whole) return InvalidError(path + ": could not be written");
  return {};
}

bool IsAnonymous(const User& user) {
  return user.name == kAnonymous ||
         std::find(user.groups.begin(), user.groups.end(), kUnauthenticatedGroup) != user.groups.end();
}

void Send(const std::shared_ptr<net::ResponseWriter>& writer, net::Response response) {
  response.headers.push_back({"Cache-Control", "no-cache, private"});
  writer->Send(std::move(response));
}

}  // namespace

SecureServer::SecureServer(SecureServerOptions options, ServedState state, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      loop_(io_, clock),
      endpoints_(options_.pods_server ? WithPodResources(std::move(state)) : std::move(state), clock) {}

ServedState SecureServer::WithPodResources(ServedState state) {
  state.pod_resources = [this](PodResources::Done done) { pod_resources_->Ask(std::move(done)); };
  return state;
}

SecureServer::~SecureServer() {
  if (trust_ != nullptr) trust_->Stop();
  server_.reset();
  io_.Stop();
}

Expected<std::unique_ptr<SecureServer>> SecureServer::Start(SecureServerOptions options, ServedState state,
                                                            const Clock& clock) {
  std::unique_ptr<SecureServer> server(new SecureServer(std::move(options), std::move(state), clock));
  BERTH_RETURN_IF_ERROR(server->Begin());
  return server;
}

Expected<void> SecureServer::Begin() {
  BERTH_ASSIGN_OR_RETURN(certificates_.own, LoadKeyPair());
  for (std::size_t i = 0; i < options_.serving.named_certificates.size(); ++i) {
    BERTH_ASSIGN_OR_RETURN(KeyPair pair, LoadNamed(i));
    certificates_.named.push_back(std::move(pair));
  }
  // A TokenReview has ten seconds for all its tries, a SubjectAccessReview ten for each try, as upstream.
  BERTH_ASSIGN_OR_RETURN(token_, Connect(options_.authentication_server, std::string(kTokenReviews),
                                         {std::chrono::seconds(10), std::chrono::seconds(10)}, options_.seed));
  BERTH_ASSIGN_OR_RETURN(access_, Connect(options_.authorization_server, std::string(kAccessReviews),
                                          {std::chrono::seconds(10), Duration{0}}, options_.seed + 1));
  if (options_.pods_server) {
    BERTH_ASSIGN_OR_RETURN(pods_, Connect(options_.pods_server, "", {}, options_.seed + 2));
    pod_resources_ = std::make_unique<PodResources>(*pods_.rest);
  }
  BERTH_ASSIGN_OR_RETURN(trust_, TrustSource::Make(options_.authentication, token_.rest.get(), [this] { RenewTls(); }));
  authenticator_.emplace(*trust_, clock_, token_.reviews.get(), options_.authentication.token_cache_ttl);
  BERTH_ASSIGN_OR_RETURN(authorizer_, Authorizer::Make(options_.authorization, clock_, access_.reviews.get()));
  BERTH_RETURN_IF_ERROR(LookUpTrust());

  net::HttpServerOptions http;
  const SecureServingOptions& serving = options_.serving;
  const std::string port = std::to_string(serving.port);
  http.listen = IsUnspecified(serving.bind_address)
                    ? ":" + port
                    : net::JoinHostPort(serving.bind_address, static_cast<std::uint16_t>(serving.port));
  http.request_body_bytes_max = endpoints_.HasPage() ? kPageBodyBytesMax : kRequestBodyBytesMax;
  http.requests_bytes_max = endpoints_.HasPage() ? kPageRequestsBytesMax : std::size_t{8} << 20;
  if (const std::size_t of_question = endpoints_.AskBodyBytesMax(); of_question > 0) {
    http.request_body_bytes_max = std::max(http.request_body_bytes_max, of_question);
    http.requests_bytes_max = std::max(http.requests_bytes_max, 2 * of_question);
  }
  http.answers_bytes_max = kAnswersBytesMax;
  http.connections_max = kConnectionsMax;
  http.ends_silent_connections = true;
  http.shares_port = serving.shares_port;
  if (serving.http2_streams_max > 0) http.streams_max = static_cast<std::uint32_t>(serving.http2_streams_max);
  http.idle_timeout = std::chrono::seconds(60);
  http.request_timeout = std::chrono::seconds(10);
  // The server is stored on the loop, before the first request is handled there.
  std::promise<Expected<void>> started;
  io_.Post([&] {
    http.tls = Tls();
    auto server = net::StartHttpServer(
        io_, std::move(http), [this](net::Request request, const std::shared_ptr<net::ResponseWriter>& writer) {
          Handle(std::move(request), writer);
        });
    if (server.ok()) {
      server_ = *std::move(server);
      ArmFilesCheck();
      started.set_value({});
    } else {
      started.set_value(server.error());
    }
  });
  if (const auto result = started.get_future().get(); !result.ok()) {
    const bool is_about_tls =
        result.error().code == ErrorCode::kInvalid && !result.error().message.starts_with("listen");
    return result.error().Wrap(is_about_tls ? "--tls-cert-file, --tls-sni-cert-key, --tls-cipher-suites"
                                            : "--secure-port");
  }
  return {};
}

Expected<SecureServer::Asked> SecureServer::Connect(const std::optional<client::ClientConfig>& config,
                                                    const std::string& path, ReviewClient::Limits limits,
                                                    std::uint64_t seed) {
  Asked asked;
  if (!config) return asked;
  BERTH_ASSIGN_OR_RETURN(asked.transport, client::MakeTransport(io_, *config, ReviewClient::kUnderWayMax));
  client::RestClientOptions rest;
  rest.headers = config->headers;
  rest.when_refused = config->when_refused;
  rest.qps = 200;  // as upstream
  rest.burst = 400;
  asked.rest = std::make_unique<client::RestClient>(loop_, *asked.transport, config->credentials, seed, rest);
  asked.reviews = std::make_unique<ReviewClient>(*asked.rest, path, limits);
  return asked;
}

// Waits for the authorities of the cluster, so that the first requests are treated like later ones, but not for long.
Expected<void> SecureServer::LookUpTrust() {
  const auto looked_up = std::make_shared<std::promise<Expected<void>>>();
  auto future = looked_up->get_future();
  trust_->Start([looked_up](Expected<void> result) { looked_up->set_value(std::move(result)); });
  Expected<void> result = Error{ErrorCode::kTimeout, "no answer within " + FormatGoDuration(kLookupTime)};
  if (future.wait_for(kLookupTime) == std::future_status::ready) result = future.get();
  if (result.ok()) return {};
  if (!options_.authentication.tolerate_lookup_failure) {
    return result.error().Wrap(
        "--authentication-tolerate-lookup-failure=false: the ConfigMap "
        "kube-system/extension-apiserver-authentication");
  }
  log::Warning("serving",
               "The cluster's authorities could not be looked up; until they can, client certificates and request "
               "headers say nothing",
               {{"error", result.error().message}});
  return {};
}

Expected<SecureServer::KeyPair> SecureServer::LoadKeyPair() {
  SecureServingOptions& serving = options_.serving;
  if (serving.cert_file.empty() != serving.key_file.empty()) {
    return InvalidError(serving.cert_file.empty()
                            ? "--tls-private-key-file is given without --tls-cert-file: give both or none"
                            : "--tls-cert-file is given without --tls-private-key-file: give both or none");
  }
  if (serving.cert_file.empty() && !serving.cert_dir.empty()) {
    const std::filesystem::path folder(serving.cert_dir);
    serving.cert_file = folder / (std::string(kPairName) + ".crt");
    serving.key_file = folder / (std::string(kPairName) + ".key");
    std::error_code ignored;  // a file without a state cannot be read either, and reading it reports why
    if (!std::filesystem::exists(serving.cert_file, ignored) && !std::filesystem::exists(serving.key_file, ignored)) {
      BERTH_ASSIGN_OR_RETURN(const KeyPair made, MakeKeyPair());
      std::filesystem::create_directories(folder, ignored);
      if (const auto ok = WriteWhole(serving.cert_file, made.certificate_pem, 0644); !ok.ok())
        return ok.error().Wrap("--cert-dir");
      if (const auto ok = WriteWhole(serving.key_file, made.key_pem, 0600); !ok.ok())
        return ok.error().Wrap("--cert-dir");
    }
  }
  if (serving.cert_file.empty()) return MakeKeyPair();
  auto certificate = client::ReadSmallFile(serving.cert_file);
  if (!certificate.ok()) return certificate.error().Wrap("--tls-cert-file");
  auto key = client::ReadSmallFile(serving.key_file);
  if (!key.ok()) return key.error().Wrap("--tls-private-key-file");
  return KeyPair{*std::move(certificate), *std::move(key)};
}

Expected<SecureServer::KeyPair> SecureServer::MakeKeyPair() {
  net::SelfSignedOptions options;
  options.now = clock_.WallNow();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options.now.time_since_epoch()).count();
  options.common_name = "localhost@" + std::to_string(seconds);
  options.names = {"DNS:localhost", "IP:127.0.0.1"};
  if (!IsUnspecified(options_.serving.bind_address)) options.names.push_back("IP:" + options_.serving.bind_address);
  BERTH_ASSIGN_OR_RETURN(auto pair, net::MakeSelfSigned(options));
  log::Info("serving", "Made a self-signed certificate", {{"name", options.common_name}});
  return KeyPair{std::move(pair.first), std::move(pair.second)};
}

Expected<SecureServer::KeyPair> SecureServer::LoadNamed(std::size_t index) const {
  const NamedCertificateFiles& files = options_.serving.named_certificates[index];
  auto certificate = client::ReadSmallFile(files.cert_file);
  if (!certificate.ok()) return certificate.error().Wrap("--tls-sni-cert-key");
  auto key = client::ReadSmallFile(files.key_file);
  if (!key.ok()) return key.error().Wrap("--tls-sni-cert-key");
  return KeyPair{*std::move(certificate), *std::move(key)};
}

net::TlsServerOptions SecureServer::Tls() const {
  net::TlsServerOptions tls;
  tls.certificate_chain_pem = certificates_.own.certificate_pem;
  tls.private_key_pem = certificates_.own.key_pem;
  for (std::size_t i = 0; i < certificates_.named.size(); ++i) {
    const KeyPair& pair = certificates_.named[i];
    tls.named.push_back({pair.certificate_pem, pair.key_pem, options_.serving.named_certificates[i].names});
  }
  tls.asks_for_client_certificate = trust_->IsConfigured();
  tls.client_ca_hint_pem = trust_->now().Hint();
  tls.min_version = options_.serving.min_tls_version;
  tls.cipher_suites = options_.serving.cipher_suites;
  tls.curves = options_.serving.curves;
  tls.serves_http2 = !options_.serving.disables_http2;
  return tls;
}

void SecureServer::RenewTls() {
  if (server_ == nullptr) return;
  if (const auto replaced = server_->ReplaceTls(Tls()); !replaced.ok())
    log::Warning("serving", "New certificates were not taken", {{"error", replaced.error().message}});
}

void SecureServer::CheckFiles() {
  trust_->CheckFiles();
  std::string failure;
  // While only one file of a pair has been replaced, the old pair stays. Each pair is checked by itself.
  const auto take = [&](const Expected<KeyPair>& read, KeyPair& pair, const std::string& file) {
    if (!read.ok()) return void(failure = read.error().message);
    if (*read == pair) return;
    KeyPair old = std::exchange(pair, *read);
    if (const auto replaced = server_->ReplaceTls(Tls()); replaced.ok()) {
      log::Info("serving", "The serving certificate was read again", {{"file", file}});
    } else {
      pair = std::move(old);
      failure = replaced.error().message + " (" + file + ")";
    }
  };
  if (!options_.serving.cert_file.empty()) take(LoadKeyPair(), certificates_.own, options_.serving.cert_file);
  for (std::size_t i = 0; i < certificates_.named.size(); ++i)
    take(LoadNamed(i), certificates_.named[i], options_.serving.named_certificates[i].cert_file);
  if (std::exchange(certificates_failure_, failure) != failure && !failure.empty())
    log::Warning("serving", "The serving certificate was not read again", {{"error", failure}});
}

void SecureServer::ArmFilesCheck() {
  io_.PostAfter(kFilesPeriod, [this] {
    CheckFiles();
    ArmFilesCheck();
  });
}

void SecureServer::Handle(net::Request request, const std::shared_ptr<net::ResponseWriter>& writer) {
  auto target = net::ParseTarget(request.target);
  if (!target.ok()) return Send(writer, PlainError(400, target.error().message));
  // What does not decode is refused once it is known who asks.
  auto path = net::PercentDecode(target->path, false);
  if (path.ok() && endpoints_.IsForEverybody(*path))
    return endpoints_.AnswerPage(std::move(request), *target, *path, writer);
  const auto kept = std::make_shared<const Incoming>(
      Incoming{std::move(request), *std::move(target), path.ok() ? *std::move(path) : std::string(), writer});
  authenticator_->Authenticate(kept->request, writer->PeerCertificates(), [this, kept](const Expected<User>& user) {
    if (user.ok()) {
      Authorize(kept, *user, AnswerTo(kept->writer, IsAnonymous(*user)));
    } else if (user.error().code == ErrorCode::kTooManyRequests) {
      Send(kept->writer, TooManyRequests(kept->request));
    } else {
      log::Info({4, "authentication"}, "serving", "Unable to authenticate the request",
                {{"error", user.error().message}});
      AnswerTo(kept->writer, true)(Unauthorized(kept->request));
    }
  });
}

SecureServer::Answer SecureServer::AnswerTo(const std::shared_ptr<net::ResponseWriter>& writer,
                                            bool is_unauthenticated) const {
  // As upstream does since CVE-2023-44487. It has no effect over HTTP/1.1.
  const bool is_last = is_unauthenticated && options_.serving.ends_anonymous_http2;
  return [writer, is_last](net::Response response) {
    if (is_last) response.headers.push_back({"Connection", "close"});
    Send(writer, std::move(response));
  };
}

void SecureServer::Authorize(const std::shared_ptr<const Incoming>& incoming, const User& user, const Answer& answer) {
  if (incoming->path.empty()) {
    const auto decoded = net::PercentDecode(incoming->target.path, false);
    return answer(PlainError(400, decoded.ok() ? "the path is empty" : decoded.error().message));
  }
  const std::string verb = LowerCase(incoming->request.method);
  authorizer_->Authorize(
      user, verb, incoming->path, [this, incoming, user, answer, verb](const Expected<AuthorizationVerdict>& verdict) {
        const net::Request& request = incoming->request;
        if (!verdict.ok() && verdict.error().code == ErrorCode::kTooManyRequests) {
          answer(TooManyRequests(request));
        } else if (!verdict.ok()) {
          log::Info({4, "authorization"}, "serving", "Unable to authorize the request",
                    {{"path", incoming->path}, {"error", verdict.error().message}});
          answer(InternalFailure(request, verdict.error().message));
        } else if (!verdict->is_allowed) {
          answer(Forbidden(request, user, verb, incoming->path, verdict->reason));
        } else if (endpoints_.IsOfPage(incoming->path)) {
          endpoints_.AnswerPage(request, incoming->target, incoming->path, incoming->writer);
        } else if (endpoints_.IsOfQuestions(incoming->path)) {
          endpoints_.AnswerQuestion(user, request, incoming->target, incoming->path, incoming->writer);
        } else {
          endpoints_.Answer(request, incoming->target, incoming->path, answer);
        }
      });
}

}  // namespace berth::serving
