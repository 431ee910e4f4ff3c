// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/handle.h"

#include "berth/framework/node_table.h"

namespace berth::framework {

const NodeList* Handle::nodes() const { return node_table(); }

}  // namespace berth::framework
