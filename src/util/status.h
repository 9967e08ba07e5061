// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <fmt/format.h>

#include <e4replay/result.h>
#include <string>
#include <utility>

namespace e4r {

// Error, Status and Result are the types of the installed headers. Libraries return them; only
// tools print and choose an exit status.
using e4replay::Error;
using e4replay::Result;
using e4replay::Status;

// Builds an Error from a fmt format string.
template <class... Args>
[[nodiscard]] Error error(fmt::format_string<Args...> format, Args&&... args) {
  return Error{fmt::format(format, std::forward<Args>(args)...)};
}

// The text for an errno value, as the end of a message.
[[nodiscard]] std::string errno_text(int errnum);

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
