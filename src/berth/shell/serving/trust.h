// SPDX-License-Identifier: Apache-2.0
// TrustSource: whose certificates say who a client is, and whose word is taken for it: from files, which are read again
// when they change, or from the ConfigMap kube-system/extension-apiserver-authentication, which is watched. As
// upstream's delegating authentication options. On its loop's thread but where a comment says otherwise.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/shell/client/informer.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/serving/client_certificate.h"
#include "berth/shell/serving/options.h"

namespace berth::serving {

// What is trusted at a time.
struct Trust {
  struct RequestHeader {
    std::shared_ptr<const ClientAuthorities> authorities;
    std::vector<std::string> allowed_names;
    std::vector<std::string> username_headers;
    std::vector<std::string> uid_headers;
    std::vector<std::string> group_headers;
    std::vector<std::string> extra_header_prefixes;
  };

  std::shared_ptr<const ClientAuthorities> clients;  // null: client certificates say nothing
  std::optional<RequestHeader> request_header;

  // All authorities' certificates, PEM.
  std::string Hint() const;
};

// The data of the ConfigMap; empty where a key is missing.
struct AuthenticationConfigMap {
  std::string client_ca;
  std::string request_header_client_ca;
  std::vector<std::string> allowed_names;
  std::vector<std::string> username_headers;
  std::vector<std::string> uid_headers;
  std::vector<std::string> group_headers;
  std::vector<std::string> extra_header_prefixes;
};

class TrustSource {
 public:
  // Reads the files. `rest` null, or skip_lookup: nothing is looked up. `on_change` is called, on the loop's thread,
  // after a change. Fails when a file does not load. `rest` must outlive it. Any thread.
  static Expected<std::unique_ptr<TrustSource>> Make(const AuthenticationOptions& options, client::RestClient* rest,
                                                     std::function<void()> on_change);
  ~TrustSource();

  // `looked_up` is called once: when the ConfigMap is known, with the first error, or at once when there is nothing to
  // look up. Any thread, once.
  void Start(std::function<void(Expected<void>)> looked_up);
  // Any thread.
  void Stop();

  const Trust& now() const { return trust_; }
  // Whether there may ever be anything to verify: else clients are not asked for certificates. Any thread.
  bool IsConfigured() const;

  // Looks whether files have changed. A file that does not load leaves what was.
  void CheckFiles();

 private:
  struct WatchedFile {
    std::string path;  // empty: none
    std::string failure;
  };

  explicit TrustSource(const AuthenticationOptions& options, std::function<void()> on_change);

  void Watch(client::RestClient& rest);
  void OnConfigMap(const AuthenticationConfigMap& map);
  void ReportLookedUp(Expected<void> result);
  // True when `authorities` has changed.
  bool Reload(WatchedFile& file, std::shared_ptr<const ClientAuthorities>& authorities);

  const AuthenticationOptions options_;
  const std::function<void()> on_change_;
  Trust trust_;
  WatchedFile client_ca_file_;
  WatchedFile request_header_ca_file_;
  std::function<void(Expected<void>)> looked_up_;
  std::unique_ptr<client::Informer<AuthenticationConfigMap>> informer_;  // null: nothing is looked up
};

}  // namespace berth::serving
