// SPDX-License-Identifier: Apache-2.0
// DataFile: the objects of an embedded cluster in one SQLite file. A write that was kept is there after the process was
// killed at any moment. One process at a time has the file.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/devcluster/apiserver/object_log.h"

struct sqlite3;
struct sqlite3_stmt;

namespace berth::data_file {

// The form of the file that this berth writes; it reads no newer one.
inline constexpr int kFormat = 1;

class DataFile final : public apiserver::ObjectLog {
 public:
  // Makes the file when there is none. Fails with one line that begins with the path: the file is damaged, is another
  // program's, was written by a newer berth, or another process has it.
  static Expected<std::unique_ptr<DataFile>> Open(const std::string& path);
  ~DataFile() override;
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  // What is in the file, in the order of types and keys, and the last version that was given.
  struct Contents {
    std::vector<apiserver::SavedObject> objects;
    std::int64_t resource_version = 0;
  };
  Expected<Contents> Load();

  bool Put(std::string_view type, std::string_view key, std::int64_t resource_version,
           std::string_view document) override;
  bool Remove(std::string_view type, std::string_view key, std::int64_t resource_version) override;
  std::string WhyNot() const override;

 private:
  explicit DataFile(std::string path) : path_(std::move(path)) {}

  Expected<void> Begin();
  Expected<void> Execute(const char* sql);
  Expected<std::int64_t> Number(const char* sql);
  Expected<void> Prepare(const char* sql, sqlite3_stmt** statement);
  Error Failure() const;
  // These two keep why they failed for WhyNot().
  bool Run(const char* sql);
  bool Step(sqlite3_stmt* statement);
  void SetWhyNot(std::string why);

  const std::string path_;
  sqlite3* database_ = nullptr;
  sqlite3_stmt* put_ = nullptr;
  sqlite3_stmt* remove_ = nullptr;
  sqlite3_stmt* note_ = nullptr;  // the version of a removal
  mutable std::mutex mutex_;      // guards why_not_
  std::string why_not_;
};

}  // namespace berth::data_file
