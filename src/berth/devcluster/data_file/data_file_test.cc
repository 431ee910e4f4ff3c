// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/data_file/data_file.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <sqlite3.h>
#include <sys/resource.h>

namespace berth::data_file {
namespace {

// No file of this process grows while it lives, as on a full disk.
class FullDisk {
 public:
  FullDisk() {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

class DataFileTest : public ::testing::Test {
 protected:
  DataFileTest() {
    for (const char* more : {"", "-wal", "-shm", "-journal"}) std::filesystem::remove(path_ + more);
  }
  std::string Why() const {
    const auto file = DataFile::Open(path_);
    return file.ok() ? "" : file.error().message;
  }
  void Sql(const char* sql) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }

  const std::string path_ = ::testing::TempDir() + "berth-data-file-test.db";
};

TEST_F(DataFileTest, IsItsOwnersAlone) {
  const auto file = DataFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_TRUE((*file)->Put("/secrets", "default/a", 2, "{}"));
  for (const char* more : {"", "-wal", "-shm"}) {
    const auto status = std::filesystem::status(path_ + more);
    if (!std::filesystem::exists(status)) continue;
    EXPECT_EQ(status.permissions(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
        << path_ << more;
  }
}

TEST_F(DataFileTest, KeepsWhatWasWritten) {
  {
    auto file = DataFile::Open(path_);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_TRUE((*file)->Load()->objects.empty());
    EXPECT_TRUE((*file)->Put("/pods", "default/a", 2, R"({"a":1})"));
    EXPECT_TRUE((*file)->Put("/pods", "default/b", 3, "{}"));
    EXPECT_TRUE((*file)->Put("/pods", "default/a", 4, R"({"a":2})"));
    EXPECT_TRUE((*file)->Remove("/pods", "default/b", 5));
  }
  auto file = DataFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto contents = (*file)->Load();
  ASSERT_TRUE(contents.ok());
  ASSERT_EQ(contents->objects.size(), 1u);
  EXPECT_EQ(contents->objects[0].type, "/pods");
  EXPECT_EQ(contents->objects[0].resource_version, 4);
  EXPECT_EQ(contents->objects[0].document, R"({"a":2})");
  EXPECT_EQ(contents->resource_version, 5);
}

TEST_F(DataFileTest, AVersionIsNotGivenTwice) {
  {
    auto file = DataFile::Open(path_);
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE((*file)->Put("/pods", "default/a", 2, "{}"));
    EXPECT_TRUE((*file)->Remove("/pods", "default/a", 9));
  }
  EXPECT_EQ((*DataFile::Open(path_))->Load()->resource_version, 9);
}

TEST_F(DataFileTest, SaysWhyAWriteWasNotKept) {
  auto opened = DataFile::Open(path_);
  ASSERT_TRUE(opened.ok());
  DataFile& file = **opened;
  ASSERT_TRUE(file.Put("/pods", "default/a", 2, "{}"));
  const auto why_not = [&](const auto& write) {
    const FullDisk full;
    return write() ? "it was kept" : file.WhyNot();
  };
  const std::string removal = why_not([&] { return file.Remove("/pods", "default/a", 3); });
  EXPECT_TRUE(removal.starts_with(path_ + ": disk")) << removal;
  EXPECT_EQ(file.Load()->objects.size(), 1u);
  const std::string put = why_not([&] { return file.Put("/pods", "default/b", 3, "{}"); });
  EXPECT_TRUE(put.starts_with(path_ + ": disk")) << put;
  EXPECT_TRUE(file.Remove("/pods", "default/a", 3));
  EXPECT_EQ(file.WhyNot(), "");
  EXPECT_TRUE(file.Load()->objects.empty());
}

TEST_F(DataFileTest, OneProcessAtATime) {
  auto file = DataFile::Open(path_);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(Why(), path_ + ": another process uses it");
}

TEST_F(DataFileTest, FilesThatAreNone) {
  std::ofstream(path_) << std::string(8192, 'x');
  EXPECT_EQ(Why(), path_ + ": it is not a data file of berth cluster; name another one");
  std::filesystem::remove(path_);
  Sql("CREATE TABLE other (a)");
  EXPECT_EQ(Why(), path_ + ": it is not a data file of berth cluster; name another one");
  EXPECT_NE(DataFile::Open("/nonexistent/folder/file").error().message.find("/nonexistent/folder/file: "),
            std::string::npos);
}

TEST_F(DataFileTest, ANewerFile) {
  {
    ASSERT_TRUE(DataFile::Open(path_).ok());
  }
  Sql("PRAGMA user_version = 2");
  EXPECT_EQ(Why(), path_ +
                       ": a newer berth has written it (format 2, this one reads 1); use that berth, or name "
                       "another file");
}

TEST_F(DataFileTest, ADamagedFile) {
  {
    auto file = DataFile::Open(path_);
    ASSERT_TRUE(file.ok());
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE((*file)->Put("/pods", "default/" + std::to_string(i), i + 2, std::string(500, 'x')));
    }
  }
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(8192);
  file << std::string(16'384, '\xff');
  file.close();
  EXPECT_NE(Why().find(path_ + ": the file is damaged"), std::string::npos) << Why();
}

}  // namespace
}  // namespace berth::data_file
