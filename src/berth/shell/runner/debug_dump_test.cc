// SPDX-License-Identifier: Apache-2.0
// What a dump says of cache and queue is seen by tests/integration/test_signals.py.
#include "berth/shell/runner/debug_dump.h"

#include <gtest/gtest.h>

namespace berth::runner {
namespace {

using Names = std::vector<std::string>;

TEST(DebugDump, MissedIsWhatOnlyTheInformersHave) {
  EXPECT_TRUE(Compare({"b", "a"}, {"a", "b"}).empty());
  const CacheMismatch mismatch = Compare({"c", "a", "b"}, {"d", "b"});
  EXPECT_EQ(mismatch.missed, (Names{"a", "c"}));
  EXPECT_EQ(mismatch.redundant, Names{"d"});
}

}  // namespace
}  // namespace berth::runner
