// SPDX-License-Identifier: Apache-2.0
// ClusterFollower: keeps a ChangeLog current with an informer for each kind that questions read. Its callbacks come on
// the client's loop. Start() and Stop() on a thread that is not the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/ask/change_log.h"
#include "berth/base/expected.h"
#include "berth/shell/client/informer.h"
#include "berth/shell/client/rest_client.h"
#include "berth/whatif/cluster_state.h"

namespace berth::ask {

struct FollowOptions {
  std::string source;  // the server's address
  std::string kubernetes_version;
  int release_minor = 0;  // that decides under which paths kinds are served
  bool reads_pod_groups = false;
  bool reads_composite_pod_groups = false;
  std::uint64_t seed = 0;
};

class ClusterFollower {
 public:
  // All must outlive it.
  ClusterFollower(client::RestClient& rest, ChangeLog& log, FollowOptions options);
  ~ClusterFollower();
  ClusterFollower(const ClusterFollower&) = delete;
  ClusterFollower& operator=(const ClusterFollower&) = delete;

  void Start();
  // Nothing is pushed after it returns.
  void Stop();

  // Whether everything has been listed once that may be listed. Any thread.
  bool HasSynced() const;
  // Why nothing new is heard of nodes or pods; nullopt: all is well. Any thread.
  std::optional<std::string> Problem() const;
  // Tells the log what is left out now: kinds that may not be listed, objects that cannot be read. Any thread; every
  // second or so.
  void TellFacts();

 private:
  using OneObject = whatif::ClusterState;
  struct Kind {
    std::size_t number = 0;
    std::unique_ptr<client::Informer<OneObject>> informer;
  };

  void AddKind(std::size_t kind);
  std::vector<std::string> LeftOut() const;

  client::RestClient& rest_;
  ChangeLog& log_;
  const FollowOptions options_;
  std::vector<Kind> kinds_;
};

}  // namespace berth::ask
