// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace e4r {

// What went wrong, as one line for a person: what, where, and what to try. No trailing newline or
// full stop. Libraries return it; only tools print it and choose an exit status.
struct Error {
  std::string message;
};

// Builds an Error from a fmt format string.
template <class... Args>
[[nodiscard]] Error error(fmt::format_string<Args...> format, Args&&... args) {
  return Error{fmt::format(format, std::forward<Args>(args)...)};
}

// Text of an errno value, for the tail of a message.
[[nodiscard]] std::string errno_text(int errnum);

// Either a value or the Error that prevented it. value() and error() are for the side that
// ok() has shown to be there; asking for the other one terminates (std::get throws).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] const Error& error() const& { return std::get<1>(state_); }
  [[nodiscard]] Error&& error() && { return std::get<1>(std::move(state_)); }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const& { return *error_; }
  [[nodiscard]] Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace e4r

// Returns the Error of `expr` from the current function, or declares `decl` with its value.
#define E4R_CONCAT_INNER(a, b) a##b
#define E4R_CONCAT(a, b) E4R_CONCAT_INNER(a, b)
// `decl` is a declaration and `tmp` a name: NOLINTBEGIN(bugprone-macro-parentheses)
#define E4R_TRY_INNER(tmp, decl, expr)          \
  auto tmp = (expr);                            \
  if (!tmp.ok()) return std::move(tmp).error(); \
  decl = *std::move(tmp)
// NOLINTEND(bugprone-macro-parentheses)
#define E4R_TRY(decl, expr) E4R_TRY_INNER(E4R_CONCAT(e4r_try_, __LINE__), decl, expr)

// Returns the Error of the Status `expr` from the current function.
#define E4R_CHECK(expr)                                       \
  do {                                                        \
    auto e4r_check = (expr);                                  \
    if (!e4r_check.ok()) return std::move(e4r_check).error(); \
  } while (false)
