// SPDX-License-Identifier: GPL-2.0-or-later
// Converts options that were declared with CLI11 to nodes for completion.
#include <CLI/CLI.hpp>

#include "common/completion.h"

namespace e4r::tools::completion {
namespace {

// The parts of CLI11's type name, such as "TEXT:{clear,zero}": a placeholder, and a validator's
// description.
struct TypeName {
  std::string placeholder;
  std::vector<Word> choices;
};

TypeName type_name(const CLI::Option& option) {
  const std::string text = option.get_type_name();
  const std::size_t open = text.find(":{");
  TypeName out = {text.substr(0, open), {}};
  if (open == std::string::npos) return out;
  const std::string choices = text.substr(open + 2, text.find('}', open) - open - 2);
  for (const std::string& choice : CLI::detail::split(choices, ','))
    out.choices.push_back({choice});
  return out;
}

ValueCompletion value_of_option(const TypeName& type, ValueOf value_of) {
  if (type.choices.empty()) return value_of(type.placeholder);
  return {ValueCompletion::Kind::words, type.choices};
}

bool is_many(const CLI::Option& option) {
  return option.get_items_expected_max() > 1 ||
         option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

Operand operand_of(const CLI::Option& option, ValueOf value_of) {
  TypeName type = type_name(option);
  // Without a placeholder, the option's name is used.
  if (type.placeholder == "TEXT") type.placeholder = option.get_name(true);
  return {type.placeholder, value_of_option(type, value_of), is_many(option)};
}

Option option_of(const CLI::Option& option, ValueOf value_of) {
  Option out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  out.meaning = option.get_description();
  const TypeName type = type_name(option);
  if (option.get_items_expected_max() > 0)
    out.takes = Option::Takes::value;
  else if (!type.choices.empty())
    out.takes = Option::Takes::maybe;
  if (out.takes == Option::Takes::nothing) return out;
  out.placeholder = type.placeholder;
  out.again = is_many(option);
  out.value = value_of_option(type, value_of);
  return out;
}

}  // namespace

Node node_of(const CLI::App& app, ValueOf value_of) {
  Node out = {app.get_name(), app.get_description(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (option->get_positional())
      out.operands.push_back(operand_of(*option, value_of));
    else
      out.options.push_back(option_of(*option, value_of));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    out.commands.push_back(node_of(*command, value_of));
  return out;
}

}  // namespace e4r::tools::completion
