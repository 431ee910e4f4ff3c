// SPDX-License-Identifier: Apache-2.0
#include "berth/plugin.h"

int main(int argc, char** argv) { return berth::RunScheduler(argc, argv); }
