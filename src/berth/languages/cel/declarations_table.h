// SPDX-License-Identifier: Apache-2.0
// What Kubernetes' CEL environment declares, as text. Constant: any thread.
#pragma once

#include <string_view>

namespace berth::cel {

extern const std::string_view kDeclarations;

}  // namespace berth::cel
