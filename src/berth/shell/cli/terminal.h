// SPDX-License-Identifier: Apache-2.0
// Terminal: where the program's lines go, and what can be shown there.
#pragma once

#include <cstddef>
#include <string_view>

namespace berth::cli {

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

class Terminal {
 public:
  virtual ~Terminal() = default;

  // False: a file or a pipe, which gets plain lines.
  virtual bool IsTty() const = 0;
  virtual bool HasColor() const = 0;
  virtual TerminalSize Size() const = 0;
  // All of it, or nothing more once the reader is gone.
  virtual void Write(std::string_view text) = 0;
};

// A file descriptor of this process, usually standard output. Colours unless NO_COLOR is set (to anything but nothing)
// or TERM is "dumb". Reads the environment once, the size each time. Not thread-safe.
class FileTerminal final : public Terminal {
 public:
  explicit FileTerminal(int fd);

  bool IsTty() const override { return is_tty_; }
  bool HasColor() const override { return has_color_; }
  TerminalSize Size() const override;
  void Write(std::string_view text) override;
  // True when a write failed: what followed was dropped.
  bool is_broken() const { return is_broken_; }

 private:
  int fd_;
  bool is_tty_ = false;
  bool has_color_ = false;
  bool is_broken_ = false;
};

}  // namespace berth::cli
