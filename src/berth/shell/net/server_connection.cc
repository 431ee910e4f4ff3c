// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/server_connection.h"

#include <vector>

#include <boost/asio/post.hpp>

namespace berth::net {

void SweepSlow(const std::shared_ptr<ServerShared>& shared) {
  for (ServerShared::Shard& shard : shared->shards) {
    if (shard.is_sweep_posted.exchange(true)) continue;
    boost::asio::post(shard.loop.io, [shared, &shard] {
      shard.is_sweep_posted.store(false);
      const SteadyTime now = std::chrono::steady_clock::now();
      const std::vector<std::shared_ptr<ServerConnection>> all(shard.connections.begin(), shard.connections.end());
      for (const auto& connection : all) connection->EndIfSlow(now);
    });
  }
}

}  // namespace berth::net
