// SPDX-License-Identifier: Apache-2.0
// What a Job, a DaemonSet or a StatefulSet needs next: pods to make and to remove, and its status. Pure functions of
// what there is. Names follow from the owner, so that a decision that is made twice, because the watch was late, makes
// each pod once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/node.h"
#include "berth/base/time.h"
#include "berth/devcluster/controllers/objects.h"

namespace berth::controllers {

// Pods that one decision makes or removes at most, as upstream's controllers in one round.
inline constexpr std::int64_t kBurst = 500;

struct PodDecision {
  struct New {
    std::string name;
    json::object document;
  };
  struct Note {  // an event about the owner
    bool is_warning = false;
    std::string reason;
    std::string text;
  };
  std::vector<New> claims;  // PersistentVolumeClaims, made before the pods
  std::vector<New> pods;
  std::vector<std::shared_ptr<const PodView>> surplus;
  json::object status;  // the members of the owner's status that this decides; null: none
  std::optional<Note> note;
  std::optional<Duration> again_after;  // when time alone changes the decision
  bool removes_owner = false;
};

using Pods = std::vector<std::shared_ptr<const PodView>>;
using Nodes = std::vector<std::shared_ptr<const api::Node>>;

// The object that is the member of this name; an empty one is put there where there is none.
json::object& ObjectIn(json::object& owner, const char* name);

// The number that the text is, of up to nine digits; -1 when it is none.
std::int64_t NumberIn(std::string_view digits);

// False where the update strategy is OnDelete.
bool UpdatesByItself(const WorkloadView& set);

}  // namespace berth::controllers
