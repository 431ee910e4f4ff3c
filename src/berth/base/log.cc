// SPDX-License-Identifier: Apache-2.0
#include "berth/base/log.h"

#include <atomic>
#include <cstdio>
#include <memory>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "berth/base/utf8.h"

namespace berth::log {
namespace {

std::atomic<Level> g_level{Level::kInfo};

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("berth", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%L%m%d %H:%M:%S.%f %v");
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

// As Go's strconv.Quote writes what does not print.
void AppendEscape(std::string& out, std::string_view bytes, const Rune& rune) {
  switch (rune.code) {
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  char text[16];
  if (!rune.is_valid || rune.code < 0x80) {
    std::snprintf(text, sizeof text, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(bytes[0])));
  } else {
    std::snprintf(text, sizeof text, "\\u%04x", static_cast<unsigned>(rune.code));
  }
  out += text;
}

void AppendShown(std::string& out, std::string_view value, bool is_quoted) {
  while (!value.empty()) {
    const Rune rune = DecodeRune(value);
    const std::string_view bytes = value.substr(0, rune.size);
    value.remove_prefix(rune.size);
    if (!rune.is_valid || IsHidden(rune.code)) {
      AppendEscape(out, bytes, rune);
      continue;
    }
    if (is_quoted && (rune.code == '"' || rune.code == '\\')) out += '\\';
    out += bytes;
  }
}

}  // namespace

void SetLevel(Level level) { g_level.store(level, std::memory_order_relaxed); }

bool Enabled(Level level) { return level >= g_level.load(std::memory_order_relaxed); }

void Write(Level level, std::string_view area, std::string_view message, std::initializer_list<Field> fields) {
  std::string line = "  ";
  line.append(area).append("] ");
  AppendShown(line, message, false);
  for (const Field& field : fields) {
    line.append(" ").append(field.key).append("=");
    if (field.quoted) {
      line += '"';
      AppendShown(line, field.value, true);
      line += '"';
    } else {
      line += field.value;
    }
  }
  static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                          spdlog::level::warn, spdlog::level::err};
  Logger().log(kLevels[static_cast<std::size_t>(level)], "{}", line);
}

}  // namespace berth::log
