// berth demo --policy NAME: a policy on a small embedded cluster, with a table of its nodes before and after.
#pragma once

#include <string>

#include "berth/app/commands.h"

namespace berth::app {

// "random, round-robin, ...".
std::string PolicyDemoNames();

// Empty when there is a policy of that name; else what is wrong, in one line with the nearest name.
std::string CheckPolicyDemo(const std::string& name);

// `options.policy` is a policy's name. Returns the process's exit status.
int RunPolicyDemo(const DemoOptions& options);

}  // namespace berth::app
