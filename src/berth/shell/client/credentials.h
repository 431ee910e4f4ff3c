// SPDX-License-Identifier: Apache-2.0
// Credentials: who we are to the API server, for each request and each connection. Thread-safe.
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
#include "berth/codec/json.h"

namespace berth::client {

class Credentials {
 public:
  using Done = std::function<void(Expected<std::string> authorization)>;

  virtual ~Credentials() = default;

  // The Authorization header's value; empty when there is none to send. Calls `done` once, before it returns or later
  // from a thread of its own. RestClient calls it before each request, so whatever the certificate needs happens here.
  virtual void Get(Done done) = 0;

  // The server answered 401 to `authorization`: it is not to be handed out again if something newer can be had.
  // Returns whether trying again makes sense.
  virtual bool Invalidate(std::string_view authorization) = 0;

  // True when connections present a client certificate; then ClientCertificatePem gives certificate and key. It is
  // asked at each new connection and never waits.
  virtual bool HasClientCertificate() const { return false; }
  virtual Expected<std::pair<std::string, std::string>> ClientCertificatePem() {
    return InvalidError("no client certificate is configured");
  }
};

// No credentials, as `kubectl proxy` needs none.
std::shared_ptr<Credentials> MakeNoCredentials();

// Always the same header value: "Bearer ..." or "Basic ...".
std::shared_ptr<Credentials> MakeStaticCredentials(std::string authorization);

// A bearer token in a file, read again when a minute has passed or after a 401. While the file cannot be read the last
// good token stays; `initial_token` is the first. `clock` must outlive the credentials.
std::shared_ptr<Credentials> MakeTokenFileCredentials(std::string path, std::string initial_token, const Clock& clock);

// Adds a client certificate to another's headers. A file is read again at each new connection.
struct CertificateSource {
  std::string certificate_pem;   // either the PEM itself
  std::string certificate_path;  // or its file
  std::string key_pem;
  std::string key_path;
};
std::shared_ptr<Credentials> MakeCertificateCredentials(CertificateSource source, std::shared_ptr<Credentials> headers);

// A client.authentication.k8s.io credential plugin.
struct ExecPlugin {
  std::string api_version;  // ".../v1" or ".../v1beta1"
  std::string command;      // with a slash: a path; else looked up in $PATH
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // beside the process's own
  std::string install_hint;
  enum class Interactive : std::uint8_t { kNever, kIfAvailable, kAlways } interactive = Interactive::kIfAvailable;
  bool provide_cluster_info = false;
  codec::json::value cluster_info;  // spec.cluster of the ExecCredential
  // The limit of one run, after which the child is killed. The next run gets half as much again, so that a slow plugin
  // ends at some time, and a plugin that hung twice has cost less than 30 s.
  Duration time_limit = std::chrono::seconds(8);
  Duration time_limit_max = std::chrono::seconds(60);
  std::size_t output_bytes_max = std::size_t{1} << 20;
};

// The plugin runs in a thread of its own, one run at a time. Its answer is kept until expirationTimestamp or a 401; a
// failure is kept for a second, so that a broken plugin is not started for each request. `clock` must outlive the
// credentials. Their end kills a running plugin.
std::shared_ptr<Credentials> MakeExecCredentials(ExecPlugin plugin, const Clock& clock);

// What a credential plugin prints. Exposed for tests and fuzzing.
struct ExecCredential {
  std::string token;
  std::string certificate_pem;
  std::string key_pem;
  std::optional<Time> expiration;
};
Expected<ExecCredential> ParseExecCredential(std::string_view text, std::string_view api_version);

}  // namespace berth::client
