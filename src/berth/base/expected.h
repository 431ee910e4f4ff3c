// SPDX-License-Identifier: Apache-2.0
// Expected<T>: a value or an Error. g++ 12 has std::expected only with -std=c++23.
#pragma once

#include <utility>
#include <variant>

#include "berth/base/check.h"
#include "berth/base/error.h"

namespace berth {

template <typename T>
class [[nodiscard]] Expected {
 public:
  using value_type = T;

  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    BERTH_CHECK(ok(), error().message);
    return std::get<0>(state_);
  }
  const T& value() const& {
    BERTH_CHECK(ok(), error().message);
    return std::get<0>(state_);
  }
  T&& value() && {
    BERTH_CHECK(ok(), error().message);
    return std::get<0>(std::move(state_));
  }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Expected<void> {
 public:
  Expected() = default;
  Expected(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const { return error_; }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace berth

#define BERTH_CONCAT_INNER(a, b) a##b
#define BERTH_CONCAT(a, b) BERTH_CONCAT_INNER(a, b)

// Returns the error of an Expected<...> expression from the enclosing function, if there is one.
#define BERTH_RETURN_IF_ERROR(expression)                       \
  do {                                                          \
    if (auto berth_result = (expression); !berth_result.ok()) { \
      return berth_result.error();                              \
    }                                                           \
  } while (false)

// BERTH_ASSIGN_OR_RETURN(auto x, F()): initialises x with F()'s value, or returns F()'s error from the enclosing
// function.
#define BERTH_ASSIGN_OR_RETURN(declaration, expression) \
  BERTH_ASSIGN_OR_RETURN_IMPL(BERTH_CONCAT(berth_expected_, __LINE__), declaration, expression)
#define BERTH_ASSIGN_OR_RETURN_IMPL(temporary, declaration, expression) \
  auto temporary = (expression);                                        \
  if (!temporary.ok()) return temporary.error();                        \
  declaration = std::move(temporary).value()
