// SPDX-License-Identifier: Apache-2.0
// Kubeconfig and the in-cluster service account: where the API server is and who we are, as client-go reads them.
// Pure functions over files; any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/shell/client/credentials.h"
#include "berth/shell/net/http_client.h"
#include "berth/shell/net/proxy.h"

namespace berth::client {

// Where a pod finds what its service account is: "token", "ca.crt", "namespace".
inline constexpr std::string_view kServiceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount/";

// A longer file is refused: it is no kubeconfig.
inline constexpr std::size_t kKubeconfigBytesMax = std::size_t{4} << 20;

struct ClientConfig {
  std::string server;  // "https://host:port/prefix", without a slash at its end
  std::string namespace_name;
  // TLS towards the server; its client certificate comes from `credentials`.
  std::string ca_pem;
  std::string ca_path;  // where ca_pem was read, empty for inline data
  bool insecure_skip_tls_verify = false;
  std::string tls_server_name;
  std::optional<net::Proxy> proxy;  // the kubeconfig's; the caller adds the environment's (net::ProxyFor)
  std::shared_ptr<Credentials> credentials;
  // Whose the credential is, and what to do when the API server answers 401: "the token of user "jane" (kubeconfig
  // /home/jane/.kube/config) is wrong or has expired; put a new one there and start again".
  std::string when_refused;
  std::vector<net::Header> headers;   // sent with each request: impersonation
  std::vector<std::string> warnings;  // one line each, for the log
};

struct KubeconfigOptions {
  std::string path;     // one file, or several as in KUBECONFIG, "a:b"; empty: `master` must be set
  std::string context;  // empty: the file's current-context
  std::string master;   // replaces the cluster's server
};

// Each error is one line: file, what is wrong, what would be right. Unknown fields are ignored, as client-go does. A
// client certificate that has expired is an error now and not a refusal later. `clock` must outlive the credentials.
Expected<ClientConfig> LoadKubeconfig(const KubeconfigOptions& options, const Clock& clock);

// Reads the kubeconfig `text`. options.path names it in errors, and relative paths start from its folder.
Expected<ClientConfig> ParseKubeconfig(std::string_view text, const KubeconfigOptions& options, const Clock& clock);

// The service account of the pod that we run in. `env` gives environment variables (empty when unset); `root` comes
// before /var/run/secrets/..., for tests.
Expected<ClientConfig> InClusterConfig(const std::function<std::string(std::string_view)>& env, const std::string& root,
                                       const Clock& clock);

}  // namespace berth::client
