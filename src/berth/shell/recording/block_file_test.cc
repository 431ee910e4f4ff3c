// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/recording/block_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/recording/recording_testing.h"

namespace berth::recording {
namespace {

using ::testing::HasSubstr;

class BlockFileTest : public ::testing::Test {
 protected:
  // The blocks that are read, as one text.
  std::string ReadAll() {
    auto reader = BlockReader::Open(path);
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    if (!reader.ok()) return "";
    std::string all;
    for (;;) {
      const auto block = (*reader)->Next();
      EXPECT_TRUE(block.ok());
      if (!block.ok() || block->empty()) break;
      all += *block;
    }
    damage = (*reader)->damage();
    return all;
  }
  std::string WriteBlocks(int count) {
    auto writer = BlockWriter::Create(path);
    EXPECT_TRUE(writer.ok()) << writer.error().message;
    std::string all;
    for (int i = 0; i < count; ++i) {
      const std::string block = "block " + std::to_string(i) + std::string(static_cast<std::size_t>(i) * 1000, 'x');
      EXPECT_TRUE((*writer)->Append(block).ok());
      sizes.push_back((*writer)->bytes_written());
      all += block;
    }
    return all;
  }
  void WriteTail(std::uint64_t offset, std::string_view bytes) {
    const int fd = ::open((path + std::string(kTailSuffix)).c_str(), O_WRONLY | O_CREAT, 0600);
    EXPECT_EQ(::write(fd, kTailMagic.data(), kTailMagic.size()), static_cast<ssize_t>(kTailMagic.size()));
    EXPECT_TRUE(AppendToTail(fd, offset, bytes));
    ::close(fd);
  }

  TemporaryDirectory directory;
  const std::string path = directory.path() + "/berth-1.rec";
  std::vector<std::uint64_t> sizes;
  std::string damage;
};

TEST_F(BlockFileTest, WhatIsWrittenComesBack) {
  const std::string all = WriteBlocks(20);
  EXPECT_EQ(ReadAll(), all);
  EXPECT_EQ(damage, "");
}

TEST_F(BlockFileTest, EachBlockCanBeReadAsSoonAsItIsWritten) {
  auto writer = BlockWriter::Create(path);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Append("one ").ok());
  EXPECT_EQ(ReadAll(), "one ");
  ASSERT_TRUE((*writer)->Append("two").ok());
  EXPECT_EQ(ReadAll(), "one two");
}

TEST_F(BlockFileTest, ABlockThatIsCutOffIsDropped) {
  const std::string all = WriteBlocks(3);
  for (const std::uint64_t size : {sizes[2] - 1, sizes[1] + 1, sizes[1] + 20}) {
    std::filesystem::resize_file(path, size);
    EXPECT_EQ(ReadAll(), all.substr(0, 14 + 1000)) << size;
    EXPECT_EQ(damage, "its last block is cut off");
  }
  std::filesystem::resize_file(path, sizes[1]);
  ReadAll();
  EXPECT_EQ(damage, "");
}

TEST_F(BlockFileTest, ADamagedBlockEndsIt) {
  const std::string all = WriteBlocks(4);
  for (std::uint64_t at = sizes[0]; at < sizes[2]; ++at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char before = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(before ^ 0x15));
    file.close();
    const std::string read = ReadAll();
    EXPECT_TRUE(all.starts_with(read)) << at;
    // Bits of the compression that change nothing are allowed.
    if (read != all) {
      EXPECT_NE(damage, "") << at;
    }
    std::fstream again(path, std::ios::in | std::ios::out | std::ios::binary);
    again.seekp(static_cast<std::streamoff>(at));
    again.put(before);
  }
}

TEST_F(BlockFileTest, TheTailGoesOnWhereTheBlocksEnd) {
  const std::string all = WriteBlocks(2);
  WriteTail(all.size(), "the rest");
  EXPECT_EQ(ReadAll(), all + "the rest");
  EXPECT_EQ(damage, "");
}

TEST_F(BlockFileTest, TheTailHasABlockThatWasBeingWritten) {
  const std::string all = WriteBlocks(2);
  WriteTail(7, all.substr(7) + "and more");  // behind "block 0"
  EXPECT_EQ(ReadAll(), all + "and more");
  std::filesystem::resize_file(path, sizes[1] - 3);
  EXPECT_EQ(ReadAll(), all + "and more");
  EXPECT_EQ(damage, "");
}

TEST_F(BlockFileTest, ATailThatLeavesAGapIsOfNoUse) {
  const std::string all = WriteBlocks(2);
  WriteTail(all.size() + 1, "the rest");
  EXPECT_EQ(ReadAll(), all);
  EXPECT_EQ(damage, "its tail is damaged");
}

TEST_F(BlockFileTest, OtherFilesAreDistinguished) {
  std::ofstream(path) << "something else";
  const auto reader = BlockReader::Open(path);
  ASSERT_FALSE(reader.ok());
  EXPECT_THAT(reader.error().message, HasSubstr("is no recording of berth: want a file that"));
  EXPECT_EQ(BlockReader::Open(path + "x").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(BlockWriter::Create(path).error().code, ErrorCode::kAlreadyExists);
}

TEST_F(BlockFileTest, ListsTheOldestFirstAndSeesWhichIsBeingWritten) {
  WriteBlocks(1);
  auto writer = BlockWriter::Create(directory.path() + "/berth-2.rec");
  std::ofstream(directory.path() + "/notes.txt") << "mine";
  const auto files = ListRecordings(directory.path());
  ASSERT_TRUE(files.ok());
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[0].path, path);
  EXPECT_EQ((*files)[0].bytes, sizes[0]);
  EXPECT_FALSE((*files)[0].is_being_written);
  EXPECT_TRUE((*files)[1].is_being_written);
  EXPECT_TRUE(ListRecordings(directory.path() + "/none")->empty());
}

}  // namespace
}  // namespace berth::recording
