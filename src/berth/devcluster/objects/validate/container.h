// SPDX-License-Identifier: Apache-2.0
// Validation of containers. Functions of their arguments: any thread.
#pragma once

#include <set>
#include <string>

#include "berth/devcluster/objects/object.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {

// What the containers of one pod may refer to, and what must differ among them.
struct ContainerContext {
  std::set<std::string> names;
  std::set<std::string> volumes;
  std::set<std::string> claims;
  std::set<std::string> host_ports;  // "TCP/10.0.0.1/80"
  bool is_host_network = false;
};

void ValidateContainer(const json::object& container, const std::string& field, ContainerContext& context, bool is_init,
                       Errors& errors);

// Of a container or of the pod as a whole.
void ValidateResources(const json::object& owner, const std::string& owner_field, const std::set<std::string>& claims,
                       Errors& errors);

}  // namespace berth::objects::internal
