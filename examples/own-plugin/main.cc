// SPDX-License-Identifier: Apache-2.0
#include "node_match.h"

int main(int argc, char** argv) {
  return berth::RunScheduler(argc, argv, {berth::WithPlugin("NodeMatch", NodeMatch::Create)});
}
