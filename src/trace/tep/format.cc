// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/tep/format.h"

#include <event-parse.h>

#include <charconv>

#include "util/printable.h"

namespace e4r::trace {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";
constexpr std::string_view kCommon = "common_";

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

// Cuts off and returns the text before `end`; all of it if `end` does not occur. Drops `end`
// itself.
std::string_view cut(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  const std::string_view out = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
  return out;
}

template <class T>
std::optional<T> number(std::string_view text) {
  text = trim(text);
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  T value = 0;
  const auto [end, ec] =
      std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Parses "4", "0x10" or "(1 << 3)". Returns nothing for an enumerator's name.
std::optional<std::uint64_t> value_of(std::string_view text) {
  text = trim(text);
  while (text.size() > 1 && text.front() == '(' && text.back() == ')')
    text = trim(text.substr(1, text.size() - 2));
  if (text.find("<<") == std::string_view::npos) return number<std::uint64_t>(text);
  const auto left = value_of(cut(text, "<<"));
  const auto shift = number<std::uint64_t>(text);
  if (!left || !shift || *shift > 63) return std::nullopt;
  return *left << *shift;
}

// Finds "offset:8" in "field:int a;\toffset:8;\tsize:4;\tsigned:1;".
std::optional<std::int64_t> attribute(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + key.size());
  return number<std::int64_t>(cut(line, ";"));
}

std::optional<EventFormat::Field> parse_field(std::string_view line) {
  line = trim(line);
  if (!line.starts_with("field:")) return std::nullopt;
  const auto offset = attribute(line, ";\toffset:"), size = attribute(line, ";\tsize:");
  std::string_view declaration = trim(cut(line, ";"));
  declaration = trim(cut(declaration, "["));
  const std::size_t name = declaration.find_last_of(" \t*:");
  if (!offset || !size || name == std::string_view::npos) return std::nullopt;
  return EventFormat::Field{std::string(declaration.substr(name + 1)), *offset, *size};
}

// Parses the "{ 0x1, "NAME" }, ..." in the first call of `function`.
std::vector<EventFormat::Name> names_in(std::string_view print, std::string_view function) {
  std::vector<EventFormat::Name> out;
  const std::size_t at = print.find(function);
  if (at == std::string_view::npos) return out;
  print.remove_prefix(at);
  const std::size_t first = print.find('{');
  if (first == std::string_view::npos) return out;
  print.remove_prefix(first);
  while (print.starts_with('{')) {
    print.remove_prefix(1);
    std::string_view pair = cut(print, "}");
    const std::string_view value = cut(pair, ",");
    cut(pair, "\"");
    out.push_back({std::string(cut(pair, "\"")), value_of(value)});
    print = trim(print);
    if (!print.starts_with(',')) break;
    print = trim(print.substr(1));
  }
  return out;
}

std::optional<std::uint64_t> value_of(const tep_print_flag_sym& s) {
  return s.value == nullptr ? std::nullopt : value_of(std::string_view(s.value));
}
std::vector<EventFormat::Name> names_in(const tep_print_flag_sym* list) {
  std::vector<EventFormat::Name> out;
  for (; list != nullptr; list = list->next)
    out.push_back({list->str == nullptr ? "" : list->str, value_of(*list)});
  return out;
}
std::vector<EventFormat::Field> fields_in(const tep_format_field* list) {
  std::vector<EventFormat::Field> out;
  for (; list != nullptr; list = list->next)
    out.push_back({list->name == nullptr ? "" : list->name, list->offset, list->size});
  return out;
}

}  // namespace

std::vector<EventFormat::Field> parse_format_fields(std::string_view text) {
  std::vector<EventFormat::Field> out;
  while (!text.empty())
    if (auto field = parse_field(cut(text, "\n"))) out.push_back(std::move(*field));
  return out;
}

std::optional<EventFormat> parse_event_format(std::string_view text, std::string_view system) {
  EventFormat out;
  out.system = system;
  std::string_view head = cut(text, "format:");
  for (std::string_view line; !head.empty();) {
    line = cut(head, "\n");
    const std::string_view key = cut(line, ":");
    if (key == "name") out.name = printable(trim(line));
    if (key == "ID") out.id = number<std::int64_t>(line).value_or(-1);
  }
  const std::string_view fields = cut(text, "print fmt:");
  for (auto& field : parse_format_fields(fields))
    (field.name.starts_with(kCommon) ? out.common : out.fields).push_back(std::move(field));
  out.flags = names_in(text, "__print_flags(");
  out.symbols = names_in(text, "__print_symbolic(");
  if (out.name.empty() || out.id < 0 || out.common.empty()) return std::nullopt;
  return out;
}

EventFormat event_format(const tep_event& event) {
  EventFormat out;
  out.system = event.system == nullptr ? "" : event.system;
  out.name = event.name == nullptr ? "" : event.name;
  out.id = event.id;
  out.common = fields_in(event.format.common_fields);
  out.fields = fields_in(event.format.fields);
  out.print_known = (static_cast<unsigned>(event.flags) & TEP_EVENT_FL_FAILED) == 0;
  for (const tep_print_arg* arg = event.print_fmt.args; arg != nullptr; arg = arg->next) {
    if (arg->type == TEP_PRINT_FLAGS && out.flags.empty()) out.flags = names_in(arg->flags.flags);
    if (arg->type == TEP_PRINT_SYMBOL && out.symbols.empty())
      out.symbols = names_in(arg->symbol.symbols);
  }
  return out;
}

}  // namespace e4r::trace
