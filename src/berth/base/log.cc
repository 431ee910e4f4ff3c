// SPDX-License-Identifier: Apache-2.0
#include "berth/base/log.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>
#include <utility>

#include <unistd.h>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "berth/base/line_queue.h"
#include "berth/base/log_settings.h"
#include "berth/base/log_writer.h"
#include "berth/base/utf8.h"

namespace berth::log {
namespace {

// Milliseconds since 1970 with a fraction, as Go prints a float.
class EpochMillis final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(message.time.time_since_epoch()).count();
    std::string text = std::to_string(micros / 1000);
    if (const auto rest = micros % 1000; rest != 0) {
      const std::string digits = std::to_string(1000 + rest).substr(1);
      text += '.' + digits.substr(0, digits.find_last_not_of('0') + 1);
    }
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override { return std::make_unique<EpochMillis>(); }
};

// The spdlog level of information that --v enables; klog shows it like other information.
constexpr spdlog::level::level_enum kDetailLevel = spdlog::level::debug;

// Formats lines by the current settings.
class LineFormatter final : public spdlog::formatter {
 public:
  LineFormatter() {
    text_.set_pattern("%L%m%d %H:%M:%S.%f %v");
    json_.add_flag<EpochMillis>('*').set_pattern("{\"ts\":%*,%v}");
  }
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    spdlog::details::log_msg shown = message;
    if (shown.level == kDetailLevel) shown.level = spdlog::level::info;
    (CurrentSettings().format == Format::kJson ? json_ : text_).format(shown, out);
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<LineFormatter>(); }

 private:
  spdlog::pattern_formatter text_, json_;
};

std::atomic<Level> g_level{Level::kInfo};

// Standard output or standard error: through the queue if there is one, otherwise directly.
class StreamSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit StreamSink(std::FILE* file) : file_(file) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (const auto queue = WaitingLines()) {
      using Rank = LineQueue::Rank;
      const Rank rank = message.level == kDetailLevel          ? Rank::kDetail
                        : message.level == spdlog::level::info ? Rank::kInfo
                                                               : Rank::kProblem;
      queue->Push(rank, ::fileno(file_), std::string(line.data(), line.size()));
      return;
    }
    std::fwrite(line.data(), 1, line.size(), file_);
    std::fflush(file_);
  }
  void flush_() override {}

 private:
  std::FILE* const file_;
};

std::shared_ptr<spdlog::logger> MakeLogger(std::FILE* file) {
  auto made = std::make_shared<spdlog::logger>("berth", std::make_shared<StreamSink>(file));
  made->set_formatter(std::make_unique<LineFormatter>());
  made->set_level(spdlog::level::trace);
  return made;
}

spdlog::logger& ErrorStream() {
  static const std::shared_ptr<spdlog::logger> logger = MakeLogger(stderr);
  return *logger;
}

spdlog::logger& InfoStream() {
  static const std::shared_ptr<spdlog::logger> logger = MakeLogger(stdout);
  return *logger;
}

// As upstream: the text format splits streams by severity, JSON into errors and the rest.
spdlog::logger& StreamFor(Level level, const Settings& settings) {
  const Level first = settings.format == Format::kText ? Level::kWarning : Level::kError;
  return settings.splits_streams && level < first ? InfoStream() : ErrorStream();
}

// Whether a terminal or a reader of lines would interpret the character instead of showing it: controls (C0, DEL, C1),
// marks that change the direction of writing, line separators.
bool IsHidden(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
         (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

enum class Style : std::uint8_t { kText, kJson };

constexpr std::string_view kErrorKey = "err";

// Escapes a character that does not print, in the way of Go's strconv.Quote or of JSON.
void AppendEscape(std::string& out, std::string_view bytes, const Rune& rune, Style style) {
  switch (rune.code) {
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  char text[16];
  if (style == Style::kJson) {
    std::snprintf(text, sizeof text, "\\u%04x", rune.is_valid ? static_cast<unsigned>(rune.code) : 0xfffdU);
  } else if (!rune.is_valid || rune.code < 0x80) {
    std::snprintf(text, sizeof text, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(bytes[0])));
  } else {
    std::snprintf(text, sizeof text, "\\u%04x", static_cast<unsigned>(rune.code));
  }
  out += text;
}

void AppendShown(std::string& out, std::string_view value, Style style) {
  while (!value.empty()) {
    const Rune rune = DecodeRune(value);
    const std::string_view bytes = value.substr(0, rune.size);
    value.remove_prefix(rune.size);
    if (!rune.is_valid || IsHidden(rune.code)) {
      AppendEscape(out, bytes, rune, style);
      continue;
    }
    if (rune.code == '"' || rune.code == '\\') out += '\\';
    out += bytes;
  }
}

void AppendValue(std::string& out, const Field& field, Style style) {
  if (!field.quoted) {
    const bool is_number =
        field.value != "nan" && field.value != "-nan" && field.value != "inf" && field.value != "-inf";
    if (style == Style::kText || is_number) {
      out += field.value;
      return;
    }
  }
  out += '"';
  AppendShown(out, field.value, style);
  out += '"';
}

// The key that klog and component-base use for errors.
std::string_view KeyOf(const Field& field) { return field.key == "error" ? kErrorKey : field.key; }

// The last `parts` components of a source's path.
std::string_view EndOfPath(std::string_view path, int parts) {
  std::size_t begin = path.size();
  while (parts-- > 0 && begin != 0 && begin != std::string_view::npos) begin = path.rfind('/', begin - 1);
  return begin == std::string_view::npos ? path : path.substr(begin + 1);
}

// The name for --vmodule: without folders and extension.
std::string_view ModuleOf(const Caller& caller) {
  const std::string_view name = EndOfPath(caller.file, 1);
  return name.substr(0, name.rfind('.'));
}

std::string_view FolderOf(const Caller& caller) {
  const std::string_view end = EndOfPath(caller.file, 2);
  return end.substr(0, end.find('/'));
}

constexpr std::size_t kPidWidth = 7;
constexpr int kDebugVerbosity = 4;

struct Line {
  Level level;
  int verbosity;
  std::string_view area;
  std::string_view message;
  std::initializer_list<Field> fields;
  Caller caller;
};

void AppendTextField(std::string& out, const Field& field) {
  out.append(" ").append(KeyOf(field)).append("=");
  AppendValue(out, field, Style::kText);
}

// The line from the process number on. As in klog, an error precedes the other fields.
std::string TextOf(const Line& line) {
  std::string out;
  const std::string pid = std::to_string(getpid());
  out.append(pid.size() < kPidWidth ? kPidWidth - pid.size() : 0, ' ').append(pid).append(" ");
  out.append(EndOfPath(line.caller.file, 1)).append(":").append(std::to_string(line.caller.line)).append("] \"");
  AppendShown(out, line.message, Style::kText);
  out += '"';
  const auto is_first = [&](const Field& field) { return line.level == Level::kError && KeyOf(field) == kErrorKey; };
  for (const Field& field : line.fields) {
    if (is_first(field)) AppendTextField(out, field);
  }
  for (const Field& field : line.fields) {
    if (!is_first(field)) AppendTextField(out, field);
  }
  return out;
}

void AppendJsonField(std::string& out, const Field& field) {
  out.append(",\"").append(KeyOf(field)).append("\":");
  AppendValue(out, field, Style::kJson);
}

// The line after the time. As in component-base, an error comes last.
std::string JsonOf(const Line& line) {
  std::string out;
  out.append("\"logger\":\"").append(line.area).append("\",\"caller\":\"");
  out.append(EndOfPath(line.caller.file, 2)).append(":").append(std::to_string(line.caller.line));
  out.append("\",\"msg\":\"");
  AppendShown(out, line.message, Style::kJson);
  out += '"';
  if (line.level != Level::kError) out.append(",\"v\":").append(std::to_string(line.verbosity));
  for (const Field& field : line.fields) {
    if (KeyOf(field) != kErrorKey) AppendJsonField(out, field);
  }
  for (const Field& field : line.fields) {
    if (KeyOf(field) == kErrorKey) AppendJsonField(out, field);
  }
  return out;
}

void WriteLine(const Line& line) {
  if (line.level < g_level.load(std::memory_order_relaxed)) return;
  const Settings& settings = CurrentSettings();
  const std::string text = settings.format == Format::kJson ? JsonOf(line) : TextOf(line);
  static constexpr spdlog::level::level_enum kLevels[] = {kDetailLevel, spdlog::level::info, spdlog::level::warn,
                                                          spdlog::level::err};
  const bool is_detail = line.level == Level::kInfo && line.verbosity > 0;
  const auto level = is_detail ? kDetailLevel : kLevels[static_cast<std::size_t>(line.level)];
  StreamFor(line.level, settings).log(level, "{}", text);
}

// Without `area` the caller's folder is used, which is only determined if needed.
bool IsAskedFor(const Detail& detail, std::string_view area, const Caller& caller) {
  if (g_level.load(std::memory_order_relaxed) > Level::kInfo) return false;
  if (IsVerbose(detail.verbosity)) return true;
  if (CurrentSettings().modules.empty()) return false;
  const std::array<std::string_view, 3> names = {ModuleOf(caller), detail.upstream_file,
                                                 area.empty() ? FolderOf(caller) : area};
  return IsVerboseIn(names, detail.verbosity);
}

}  // namespace

void SetLevel(Level level) { g_level.store(level, std::memory_order_relaxed); }

bool Enabled(const Detail& detail, Caller caller) { return IsAskedFor(detail, {}, caller); }

void Info(const Detail& detail, std::string_view area, std::string_view message, std::initializer_list<Field> fields,
          Caller caller) {
  if (!IsAskedFor(detail, area, caller)) return;
  WriteLine({Level::kInfo, detail.verbosity, area, message, fields, caller});
}

void Write(Level level, std::string_view area, std::string_view message, std::initializer_list<Field> fields,
           Caller caller) {
  if (level == Level::kDebug) return Info(Detail{kDebugVerbosity}, area, message, fields, caller);
  WriteLine({level, 0, area, message, fields, caller});
}

}  // namespace berth::log
