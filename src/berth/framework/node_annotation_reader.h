// SPDX-License-Identifier: Apache-2.0
// NodeAnnotationReader: declares the node annotations that a plugin of berth reads. A recording of the scheduler must
// contain them, so that a replay makes the same decisions; other annotations are left out.
#pragma once

#include <string>
#include <vector>

#include "berth/framework/plugin.h"

namespace berth::framework {

class NodeAnnotationReader : public virtual Plugin {
 public:
  // Keys in addition to those with berth's prefix. A key that ends with a slash is a prefix; "*" stands for all keys.
  virtual std::vector<std::string> NodeAnnotationsRead() const = 0;
};

}  // namespace berth::framework
