// SPDX-License-Identifier: Apache-2.0
// `berth version`: which berth this is, and which Kubernetes it stands in for.
#pragma once

namespace berth::app {

class Commands;

void AddVersionCommand(Commands& commands);

}  // namespace berth::app
