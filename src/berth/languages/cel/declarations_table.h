// SPDX-License-Identifier: Apache-2.0
// The declarations of Kubernetes' CEL environment as text. Constant: any thread.
#pragma once

#include <string_view>

namespace berth::cel {

extern const std::string_view kDeclarations;

}  // namespace berth::cel
