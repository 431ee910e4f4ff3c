// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/data_file/data_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <sqlite3.h>

namespace berth::data_file {
namespace {

constexpr std::int64_t kApplicationId = 0x62727468;  // "brth"

std::string_view TextOf(sqlite3_stmt* statement, int column) {
  const auto* text = static_cast<const char*>(sqlite3_column_blob(statement, column));
  return {text == nullptr ? "" : text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column))};
}

void Bind(sqlite3_stmt* statement, int parameter, std::string_view text) {
  // The text outlives the step; a document has at most 3 MiB.
  sqlite3_bind_text(statement, parameter, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

// A file that is new is its owner's alone: it holds Secrets. SQLite gives the files beside it the same rights. One that
// is there keeps the rights that it has.
void MakeIfMissing(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor >= 0) ::close(descriptor);
}

}  // namespace

Expected<std::unique_ptr<DataFile>> DataFile::Open(const std::string& path) {
  // What does not work is SQLite's to say.
  MakeIfMissing(path);
  std::unique_ptr<DataFile> file(new DataFile(path));
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
  if (sqlite3_open_v2(path.c_str(), &file->database_, kFlags, nullptr) != SQLITE_OK) return file->Failure();
  BERTH_RETURN_IF_ERROR(file->Begin());
  return file;
}

DataFile::~DataFile() {
  for (sqlite3_stmt* each : {put_, remove_, note_}) sqlite3_finalize(each);
  sqlite3_close(database_);
}

Error DataFile::Failure() const {
  const int code = database_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(database_);
  const std::string text = database_ == nullptr ? "out of memory" : sqlite3_errmsg(database_);
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) return InvalidError(path_ + ": another process uses it");
  if (code == SQLITE_NOTADB) return InvalidError(path_ + ": it is not a data file of berth cluster; name another one");
  if (code == SQLITE_CORRUPT) {
    return InvalidError(path_ + ": the file is damaged (" + text + "); restore it, or name another one");
  }
  return InvalidError(path_ + ": " + text);
}

Expected<void> DataFile::Execute(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return Failure();
  return {};
}

Expected<void> DataFile::Prepare(const char* sql, sqlite3_stmt** statement) {
  if (sqlite3_prepare_v2(database_, sql, -1, statement, nullptr) != SQLITE_OK) return Failure();
  return {};
}

Expected<std::int64_t> DataFile::Number(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  BERTH_RETURN_IF_ERROR(Prepare(sql, &statement));
  const bool has_row = sqlite3_step(statement) == SQLITE_ROW;
  const std::int64_t number = has_row ? sqlite3_column_int64(statement, 0) : 0;
  const Error failure = has_row ? Error() : Failure();
  sqlite3_finalize(statement);
  if (!has_row) return failure;
  return number;
}

Expected<void> DataFile::Begin() {
  // The lock is kept from the first read to the end.
  BERTH_RETURN_IF_ERROR(Execute("PRAGMA locking_mode = EXCLUSIVE"));
  BERTH_ASSIGN_OR_RETURN(const std::int64_t application, Number("PRAGMA application_id"));
  BERTH_ASSIGN_OR_RETURN(const std::int64_t format, Number("PRAGMA user_version"));
  BERTH_ASSIGN_OR_RETURN(const std::int64_t tables, Number("SELECT count(*) FROM sqlite_master"));
  const bool is_new = application == 0 && format == 0 && tables == 0;
  if (!is_new && application != kApplicationId) {
    return InvalidError(path_ + ": it is not a data file of berth cluster; name another one");
  }
  if (format > kFormat) {
    return InvalidError(path_ + ": a newer berth has written it (format " + std::to_string(format) +
                        ", this one reads " + std::to_string(kFormat) + "); use that berth, or name another file");
  }
  // With a write-ahead log a transaction that has ended outlives the process, whatever ends it.
  BERTH_RETURN_IF_ERROR(Execute("PRAGMA journal_mode = WAL"));
  BERTH_RETURN_IF_ERROR(Execute("PRAGMA synchronous = NORMAL"));
  if (is_new) {
    BERTH_RETURN_IF_ERROR(
        Execute("BEGIN EXCLUSIVE;"
                "CREATE TABLE objects (type TEXT, key TEXT, version INTEGER, document TEXT, PRIMARY KEY (type, key))"
                " WITHOUT ROWID;"
                "CREATE TABLE last (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER);"
                "INSERT INTO last VALUES (1, 0);"
                "PRAGMA application_id = 1651668072;"
                "PRAGMA user_version = 1;"
                "COMMIT"));
  } else {
    // Takes the lock now and not with the first write, and finds pages that are broken.
    BERTH_RETURN_IF_ERROR(Execute("BEGIN EXCLUSIVE; COMMIT"));
    sqlite3_stmt* check = nullptr;
    BERTH_RETURN_IF_ERROR(Prepare("PRAGMA quick_check(1)", &check));
    const bool is_whole = sqlite3_step(check) == SQLITE_ROW && TextOf(check, 0) == "ok";
    sqlite3_finalize(check);
    if (!is_whole) return InvalidError(path_ + ": the file is damaged; restore it, or name another one");
  }
  BERTH_RETURN_IF_ERROR(Prepare("INSERT OR REPLACE INTO objects VALUES (?1, ?2, ?3, ?4)", &put_));
  BERTH_RETURN_IF_ERROR(Prepare("DELETE FROM objects WHERE type = ?1 AND key = ?2", &remove_));
  return Prepare("UPDATE last SET version = ?1", &note_);
}

Expected<DataFile::Contents> DataFile::Load() {
  Contents contents;
  sqlite3_stmt* rows = nullptr;
  BERTH_RETURN_IF_ERROR(Prepare("SELECT type, version, document FROM objects ORDER BY type, key", &rows));
  int result = sqlite3_step(rows);
  for (; result == SQLITE_ROW; result = sqlite3_step(rows)) {
    contents.objects.push_back(
        {std::string(TextOf(rows, 0)), sqlite3_column_int64(rows, 1), std::string(TextOf(rows, 2))});
    contents.resource_version = std::max(contents.resource_version, contents.objects.back().resource_version);
  }
  const Error failure = result == SQLITE_DONE ? Error() : Failure();
  sqlite3_finalize(rows);
  if (result != SQLITE_DONE) return failure;
  BERTH_ASSIGN_OR_RETURN(const std::int64_t last, Number("SELECT version FROM last"));
  contents.resource_version = std::max(contents.resource_version, last);
  return contents;
}

void DataFile::SetWhyNot(std::string why) {
  const std::lock_guard lock(mutex_);
  why_not_ = std::move(why);
}

bool DataFile::Run(const char* sql) {
  const Expected<void> done = Execute(sql);
  if (!done.ok()) SetWhyNot(done.error().message);
  return done.ok();
}

bool DataFile::Step(sqlite3_stmt* statement) {
  const bool has_succeeded = sqlite3_step(statement) == SQLITE_DONE;
  if (!has_succeeded) SetWhyNot(Failure().message);
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  return has_succeeded;
}

bool DataFile::Put(std::string_view type, std::string_view key, std::int64_t resource_version,
                   std::string_view document) {
  SetWhyNot("");
  Bind(put_, 1, type);
  Bind(put_, 2, key);
  sqlite3_bind_int64(put_, 3, resource_version);
  Bind(put_, 4, document);
  return Step(put_);
}

bool DataFile::Remove(std::string_view type, std::string_view key, std::int64_t resource_version) {
  SetWhyNot("");
  // Both in one transaction: a version is never given twice.
  if (!Run("BEGIN")) return false;
  Bind(remove_, 1, type);
  Bind(remove_, 2, key);
  sqlite3_bind_int64(note_, 1, resource_version);
  if (Step(remove_) && Step(note_) && Run("COMMIT")) return true;
  (void)Execute("ROLLBACK");  // the failure is reported already
  return false;
}

std::string DataFile::WhyNot() const {
  const std::lock_guard lock(mutex_);
  return why_not_;
}

}  // namespace berth::data_file
