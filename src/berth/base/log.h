// SPDX-License-Identifier: Apache-2.0
// Structured logging over spdlog: one event, key=value pairs. Thread-safe. Text goes to standard error in klog's shape:
//   I1121 14:03:05.123456    4711 binding_cycles.cc:532] "Successfully bound pod to node" pod="default/web-1" node="n1"
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace berth::log {

// kDebug is information at --v=4; klog has no debug level.
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

// The source location of a call that logs. Not std::source_location, because clang's ignores -fmacro-prefix-map.
struct Caller {
  static constexpr Caller Here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  const char* file;
  int line;
};

// The --v and --vmodule settings that enable an information line.
struct Detail {
  int verbosity = 0;
  // The name, without ".go", of the kube-scheduler source that writes the same line. --vmodule may use it, the name of
  // berth's own source without ".cc", or the area.
  std::string_view upstream_file = {};
};

// Messages below this level are dropped, whatever --v is. The default is kInfo, which includes kDebug here.
void SetLevel(Level level);
// For lines that are expensive to compose. The area is the caller's folder.
bool Enabled(const Detail& detail, Caller caller = Caller::Here());

// `area` is the folder that logs, for example "client".
void Write(Level level, std::string_view area, std::string_view message, std::initializer_list<Field> fields,
           Caller caller = Caller::Here());
// Logs information if `detail` is enabled.
void Info(const Detail& detail, std::string_view area, std::string_view message, std::initializer_list<Field> fields,
          Caller caller = Caller::Here());

inline void Debug(std::string_view area, std::string_view message, std::initializer_list<Field> fields = {},
                  Caller caller = Caller::Here()) {
  Write(Level::kDebug, area, message, fields, caller);
}
inline void Info(std::string_view area, std::string_view message, std::initializer_list<Field> fields = {},
                 Caller caller = Caller::Here()) {
  Write(Level::kInfo, area, message, fields, caller);
}
inline void Warning(std::string_view area, std::string_view message, std::initializer_list<Field> fields = {},
                    Caller caller = Caller::Here()) {
  Write(Level::kWarning, area, message, fields, caller);
}
inline void ErrorLine(std::string_view area, std::string_view message, std::initializer_list<Field> fields = {},
                      Caller caller = Caller::Here()) {
  Write(Level::kError, area, message, fields, caller);
}

}  // namespace berth::log
