// SPDX-License-Identifier: Apache-2.0
// Structured logging over spdlog: one event, key=value pairs. Thread-safe. Text goes to standard error in klog's shape:
//   I1121 14:03:05.123456   scheduler] Bound pod pod="default/web-1" node="n1"
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace berth::log {

enum class Level : std::uint8_t { kDebug, kInfo, kWarning, kError };

struct Field {
  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  Field(std::string_view k, const char* v) : key(k), value(v) {}
  Field(std::string_view k, const std::string& v) : key(k), value(v) {}
  Field(std::string_view k, bool v) : key(k), value(v ? "true" : "false"), quoted(false) {}
  template <typename Number>
  Field(std::string_view k, Number v) : key(k), value(std::to_string(v)), quoted(false) {}

  std::string_view key;
  std::string value;
  bool quoted = true;
};

// Messages below this level are dropped. Default kInfo.
void SetLevel(Level level);
bool Enabled(Level level);

// `area` is the folder that speaks, for example "client".
void Write(Level level, std::string_view area, std::string_view message, std::initializer_list<Field> fields);

inline void Debug(std::string_view area, std::string_view message, std::initializer_list<Field> fields = {}) {
  if (Enabled(Level::kDebug)) Write(Level::kDebug, area, message, fields);
}
inline void Info(std::string_view area, std::string_view message, std::initializer_list<Field> fields = {}) {
  if (Enabled(Level::kInfo)) Write(Level::kInfo, area, message, fields);
}
inline void Warning(std::string_view area, std::string_view message, std::initializer_list<Field> fields = {}) {
  if (Enabled(Level::kWarning)) Write(Level::kWarning, area, message, fields);
}
inline void ErrorLine(std::string_view area, std::string_view message, std::initializer_list<Field> fields = {}) {
  Write(Level::kError, area, message, fields);
}

}  // namespace berth::log
