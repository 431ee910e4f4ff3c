// SPDX-License-Identifier: Apache-2.0
#include "berth/base/log.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>

#include <unistd.h>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "berth/base/log_settings.h"
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

// As the settings of the moment say.
class LineFormatter final : public spdlog::formatter {
 public:
  LineFormatter() {
    text_.set_pattern("%L%m%d %H:%M:%S.%f %v");
    json_.add_flag<EpochMillis>('*').set_pattern("{\"ts\":%*,%v}");
  }
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    (CurrentSettings().format == Format::kJson ? json_ : text_).format(message, out);
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<LineFormatter>(); }

 private:
  spdlog::pattern_formatter text_, json_;
};

std::atomic<Level> g_level{Level::kInfo};

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("berth", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_formatter(std::make_unique<LineFormatter>());
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *logger;
}

// What a terminal, or whoever reads lines, would take for something else than a character to show: controls (C0, DEL,
// C1), marks that turn the direction of writing, separators of lines.
bool IsHidden(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
         (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

enum class Style : std::uint8_t { kText, kJson };

// As Go's strconv.Quote writes what does not print, or as JSON does.
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

// As klog and component-base call it.
std::string_view KeyOf(const Field& field) { return field.key == "error" ? "err" : field.key; }

constexpr std::size_t kPidWidth = 7;
constexpr int kDebugVerbosity = 4;

}  // namespace

void SetLevel(Level level) { g_level.store(level, std::memory_order_relaxed); }

// With modules kDebug is on at first, and Write() looks at the area.
bool Enabled(Level level) {
  const Level least = g_level.load(std::memory_order_relaxed);
  if (level >= least) return true;
  return level == Level::kDebug && least == Level::kInfo &&
         (IsVerbose(kDebugVerbosity) || !CurrentSettings().modules.empty());
}

void Write(Level level, std::string_view area, std::string_view message, std::initializer_list<Field> fields) {
  const bool is_forced = g_level.load(std::memory_order_relaxed) == Level::kDebug;
  if (level == Level::kDebug && !is_forced && !IsVerboseIn(area, kDebugVerbosity)) return;
  std::string line;
  if (CurrentSettings().format == Format::kJson) {
    line.append("\"logger\":\"").append(area).append("\",\"msg\":\"");
    AppendShown(line, message, Style::kJson);
    line += '"';
    if (level != Level::kError) line.append(level == Level::kDebug ? ",\"v\":4" : ",\"v\":0");
    for (const Field& field : fields) {
      line.append(",\"").append(KeyOf(field)).append("\":");
      AppendValue(line, field, Style::kJson);
    }
  } else {
    const std::string pid = std::to_string(getpid());
    line.append(pid.size() < kPidWidth ? kPidWidth - pid.size() : 0, ' ').append(pid).append(" ");
    line.append(area).append("] \"");
    AppendShown(line, message, Style::kText);
    line += '"';
    for (const Field& field : fields) {
      line.append(" ").append(KeyOf(field)).append("=");
      AppendValue(line, field, Style::kText);
    }
  }
  // klog has no level for debugging.
  static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::info, spdlog::level::info, spdlog::level::warn,
                                                          spdlog::level::err};
  Logger().log(kLevels[static_cast<std::size_t>(level)], "{}", line);
}

}  // namespace berth::log
