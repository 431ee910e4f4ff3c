// SPDX-License-Identifier: Apache-2.0
// ObjectLog: keeps each write of a store somewhere that outlives the process. The store calls it with its mutex held,
// in the order of versions, before any watch shows the write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::apiserver {

// An object that was kept, to begin a server with.
struct SavedObject {
  std::string type;  // "apps/deployments", "/pods"
  std::int64_t resource_version = 0;
  std::string document;  // JSON
};

class ObjectLog {
 public:
  virtual ~ObjectLog() = default;
  // False: it could not be kept, and the write does not take place. `type` as in SavedObject.
  virtual bool Put(std::string_view type, std::string_view key, std::int64_t resource_version,
                   std::string_view document) = 0;
  virtual bool Remove(std::string_view type, std::string_view key, std::int64_t resource_version) = 0;
  // Why the last call was false, for the client whose write it was. Any thread.
  virtual std::string WhyNot() const = 0;
};

}  // namespace berth::apiserver
