// SPDX-License-Identifier: Apache-2.0
// NodeAnnotationReader: for plugins that come with berth. What they read of nodes' annotations must be in a recording
// of the scheduler, so that a replay decides alike; other annotations are left out there.
#pragma once

#include <string>
#include <vector>

#include "berth/framework/plugin.h"

namespace berth::framework {

class NodeAnnotationReader : public virtual Plugin {
 public:
  // Keys beside those with berth's prefix. One that ends with a slash stands for all keys that begin so, "*" for all.
  virtual std::vector<std::string> NodeAnnotationsRead() const = 0;
};

}  // namespace berth::framework
