// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace e4r::tools {

DeclaredOption DeclaredOption::type_name(const std::string& placeholder) {
  option_->type_name(placeholder);
  return *this;
}

DeclaredOption DeclaredOption::required() {
  option_->required();
  return *this;
}

DeclaredOption DeclaredOption::may_repeat() {
  option_->expected(1)->take_all();
  return *this;
}

DeclaredOption DeclaredOption::may_lack_value() {
  option_->expected(0, 1);
  return *this;
}

DeclaredOption DeclaredOption::takes_the_rest() {
  option_->expected(1, 1 << 20);
  return *this;
}

DeclaredOption DeclaredOption::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

DeclaredOption DeclaredOption::excludes(DeclaredOption other) {
  option_->excludes(other.option_);
  return *this;
}

DeclaredOption DeclaredOption::needs(DeclaredOption other) {
  option_->needs(other.option_);
  return *this;
}

DeclaredOption DeclaredOption::show_default() {
  option_->capture_default_str();
  return *this;
}

template <class T>
DeclaredOption CommandLine::add_option(const std::string& names, T& value,
                                       const std::string& meaning) {
  CLI::Option* option = app_->add_option(names, value, meaning);
  // CLI11 parses -1 as the largest unsigned number.
  if constexpr (std::is_unsigned_v<T>)
    option->check(CLI::Validator(
        [](const std::string& text) {
          return text.starts_with('-') ? fmt::format("{}: give a number without a sign", text)
                                       : std::string();
        },
        "", "unsigned"));
  return DeclaredOption(option);
}

DeclaredOption CommandLine::add_option(const std::string& names,
                                       std::function<Status(const std::string&)> take,
                                       const std::string& meaning) {
  const auto checked = [take = std::move(take)](const std::string& text) {
    // CLI11 passes "true" for a missing value.
    const Status status = take(text == "true" ? std::string() : text);
    if (!status.ok()) throw CLI::ValidationError(status.error().message);
  };
  return DeclaredOption(app_->add_option_function<std::string>(names, checked, meaning));
}

DeclaredOption CommandLine::add_flag(const std::string& names, bool& value,
                                     const std::string& meaning) {
  return DeclaredOption(app_->add_flag(names, value, meaning));
}

DeclaredOption CommandLine::add_flag(const std::string& names, std::string& value,
                                     const std::string& meaning) {
  return DeclaredOption(app_->add_flag(names, value, meaning));
}

CommandLine CommandLine::add_subcommand(const std::string& name, const std::string& summary,
                                        const std::string& examples) {
  CLI::App* app = app_->add_subcommand(name, summary);
  app->footer("Examples:\n" + examples);
  return CommandLine(*app);
}

void CommandLine::require_subcommand() {
  app_->require_subcommand(1);
}

bool CommandLine::parsed() const {
  return app_->parsed();
}

using Text = const std::string&;
template DeclaredOption CommandLine::add_option(Text, std::string&, Text);
template DeclaredOption CommandLine::add_option(Text, std::optional<std::string>&, Text);
template DeclaredOption CommandLine::add_option(Text, std::vector<std::string>&, Text);
template DeclaredOption CommandLine::add_option(Text, std::uint32_t&, Text);
template DeclaredOption CommandLine::add_option(Text, std::uint64_t&, Text);
template DeclaredOption CommandLine::add_option(Text, double&, Text);

}  // namespace e4r::tools
