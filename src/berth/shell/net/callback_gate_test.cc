// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/net/callback_gate.h"

#include <memory>

#include <gtest/gtest.h>

namespace berth::net {
namespace {

struct Stream {
  std::shared_ptr<int> owned = std::make_shared<int>();
  int heads = 0;
  CallbackGate gate{Callbacks()};

  StreamCallbacks Callbacks() {
    StreamCallbacks callbacks;
    callbacks.on_head = [this, kept = owned](const Response&) { ++heads; };
    return callbacks;
  }
  bool Head() {
    return gate.Call([](StreamCallbacks& callbacks) { callbacks.on_head({}); });
  }
  bool HasCallbacks() const { return owned.use_count() > 1; }
};

TEST(CallbackGate, CallsUntilItIsShut) {
  Stream stream;
  EXPECT_TRUE(stream.Head());
  int shut = 0;
  for (int i = 0; i < 2; ++i) stream.gate.Shut([&] { ++shut; });
  EXPECT_EQ(shut, 1);
  EXPECT_FALSE(stream.Head());
  EXPECT_EQ(stream.heads, 1);
}

TEST(CallbackGate, ACallbackMayShutIt) {
  Stream stream;
  EXPECT_FALSE(stream.gate.Call([&](StreamCallbacks&) { stream.gate.Shut(); }));
  EXPECT_TRUE(stream.gate.IsShut());
}

TEST(CallbackGate, TheLastCallShutsItFirst) {
  Stream stream;
  bool was_shut = false;
  stream.gate.CallLast([&](StreamCallbacks&) { was_shut = stream.gate.IsShut(); });
  EXPECT_TRUE(was_shut);
  stream.gate.CallLast([&](StreamCallbacks&) { FAIL() << "called after the last call"; });
}

TEST(CallbackGate, DroppedCallbacksLiveUntilTheOneUnderWayReturns) {
  Stream stream;
  stream.gate.Call([&](StreamCallbacks&) {
    stream.gate.Call([&](StreamCallbacks&) { stream.gate.Drop(); });
    EXPECT_TRUE(stream.HasCallbacks());
  });
  EXPECT_FALSE(stream.HasCallbacks());
}

}  // namespace
}  // namespace berth::net
