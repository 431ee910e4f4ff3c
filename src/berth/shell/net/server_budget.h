// SPDX-License-Identifier: Apache-2.0
// ServerBudget: the bytes that requests being received hold, or answers not read yet, all connections of one server
// together. For the sources of this folder. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace berth::net {

class ServerBudget {
 public:
  explicit ServerBudget(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // What one of them holds beyond what each may. Given back when it goes.
  class Share {
   public:
    explicit Share(ServerBudget& budget) : budget_(budget) {}
    ~Share() { Set(0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // False, with nothing changed, when all together would hold too much.
    bool Set(std::size_t bytes) {
      if (bytes > bytes_) {
        const std::size_t more = bytes - bytes_;
        if (budget_.bytes_.fetch_add(more) + more > budget_.bytes_max_) {
          budget_.bytes_.fetch_sub(more);
          return false;
        }
      } else {
        budget_.bytes_.fetch_sub(bytes_ - bytes);
      }
      bytes_ = bytes;
      return true;
    }
    std::size_t bytes() const { return bytes_; }

   private:
    ServerBudget& budget_;
    std::size_t bytes_ = 0;
  };

  std::size_t bytes() const { return bytes_.load(); }
  std::size_t bytes_max() const { return bytes_max_; }

 private:
  const std::size_t bytes_max_;
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace berth::net
