// SPDX-License-Identifier: Apache-2.0
// ApiWriter: the writes of a scheduler, and the reads that settle a write whose answer was lost. Thread-safe; callbacks
// come on the RestClient's loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "berth/base/expected.h"
#include "berth/shell/client/rest_client.h"

namespace berth::client {

struct PodTarget {
  std::string namespace_name;
  std::string name;
  std::string uid;               // precondition; empty: none
  std::string traceparent = {};  // the header of that name (W3C Trace Context); empty: none
};

// An object of any kind.
struct ObjectTarget {
  std::string group_version;   // "v1", "storage.k8s.io/v1"
  std::string resource;        // "persistentvolumes"
  std::string namespace_name;  // empty for kinds without namespaces
  std::string name;
  std::string subresource = {};
  std::string traceparent = {};  // as in PodTarget
};

enum class PatchFormat : std::uint8_t { kMerge, kStrategicMerge, kJson };

struct ApiWriterOptions {
  Duration timeout = std::chrono::seconds(30);  // the limit of each try
  // Tries of a request that certainly had no effect (refused connection, 429), but for bindings, statuses and
  // evictions: these are tried once, since whoever asks for them has a queue of its own.
  int tries = 4;
};

class ApiWriter {
 public:
  // Error::outcome_unknown: the write may have taken effect; read the pod before you decide anything.
  using Done = std::function<void(Expected<void>)>;
  using ReadDone = std::function<void(Expected<std::string> json)>;

  // `rest` must outlive it. Bindings and deletions go out as protobuf where its options say so, and as JSON after a
  // server has refused that (415).
  explicit ApiWriter(RestClient& rest, ApiWriterOptions options = {});

  // kConflict: the pod has a node already, or another uid; kNotFound: it is gone.
  void Bind(const PodTarget& pod, const std::string& node_name, Done done);

  // `patch` is the body of a strategic merge patch without metadata: {"status":{...}}. With a uid the patch carries it,
  // so that a pod made later under the same name is not meant: kube-apiserver then answers kInvalid (the uid is
  // immutable).
  void PatchPodStatus(const PodTarget& pod, std::string patch, Done done);

  // Without `grace_seconds` the pod's own grace period holds.
  void DeletePod(const PodTarget& pod, std::optional<std::int64_t> grace_seconds, Done done);

  // Through the Eviction API, which asks PodDisruptionBudgets; sent once. kTooManyRequests: they do not allow it now.
  void EvictPod(const PodTarget& pod, std::optional<std::int64_t> grace_seconds, Done done);

  // The pod's JSON as the server has it; kNotFound when it is gone.
  void GetPod(const PodTarget& pod, ReadDone done);
  void GetPod(const std::string& namespace_name, const std::string& name, ReadDone done) {
    GetPod(PodTarget{namespace_name, name, {}}, std::move(done));
  }

  // These write and read objects of any kind, and return the answer's body. Preconditions of a patch are in its body.
  void Patch(const ObjectTarget& target, PatchFormat format, std::string body, ReadDone done);
  // Creates an object in target.namespace_name; target.name is not used.
  void Create(const ObjectTarget& target, std::string body, ReadDone done);
  // With `uid` as precondition unless it is empty.
  void Delete(const ObjectTarget& target, const std::string& uid, ReadDone done);
  void Get(const ObjectTarget& target, ReadDone done);

 private:
  enum class Protobuf : std::uint8_t { kOff, kUntried, kTaken };
  using MakeBody = std::function<std::string(bool as_protobuf)>;

  void Do(net::Request request, ReadDone done);
  // A write whose answer nobody reads.
  void DoBlind(net::Request request, int tries, Done done);
  void DoInEitherForm(net::Request request, int tries, MakeBody make_body, Done done);

  RestClient& rest_;
  ApiWriterOptions options_;
  const std::shared_ptr<std::atomic<Protobuf>> protobuf_;  // bodies; shared with calls under way
};

}  // namespace berth::client
