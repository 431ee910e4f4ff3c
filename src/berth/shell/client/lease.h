// SPDX-License-Identifier: Apache-2.0
// Lease: a coordination.k8s.io/v1 Lease as leader election reads and writes it. All other fields of the object are kept
// and sent back unchanged. A value; no I/O.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/base/expected.h"
#include "berth/codec/json.h"

namespace berth::client {

// The fields that candidates use, as client-go's LeaderElectionRecord. Times are RFC 3339 texts by the holder's clock.
// They are compared for equality only, never with our clock.
struct LeaseRecord {
  std::string holder_identity;              // empty: nobody holds it
  std::int64_t lease_duration_seconds = 0;  // within an int32
  std::string acquire_time;
  std::string renew_time;
  std::int64_t lease_transitions = 0;  // how often the holder has changed
  // Fields of coordinated leader election: compared, but never written.
  std::string preferred_holder = {};
  std::string strategy = {};

  bool operator==(const LeaseRecord&) const = default;
};

class Lease {
 public:
  // Makes a Lease that does not exist on the server yet.
  Lease(const std::string& namespace_name, const std::string& name);
  // kInvalid, with the field's name, if a field that leader election uses has another type than in the API. Absent
  // fields become empty or zero, as upstream.
  static Expected<Lease> Parse(std::string_view json);

  const LeaseRecord& record() const { return record_; }
  // Writes the five fields that a holder writes; preferredHolder and strategy stay as they are.
  void SetRecord(LeaseRecord record);

  const std::string& uid() const { return uid_; }
  const std::string& resource_version() const { return resource_version_; }
  std::string Json() const;

 private:
  Lease() = default;

  codec::json::object object_;
  LeaseRecord record_;
  std::string uid_;
  std::string resource_version_;
};

}  // namespace berth::client
