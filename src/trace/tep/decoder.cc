// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/tep/decoder.h"

#include <event-parse.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include "util/text.h"

namespace e4r::trace {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";
constexpr std::string_view kCommon = "common_";

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

// Removes the text before `end` and `end` itself, and returns that text. Takes the whole text if
// `end` does not occur.
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

// Parses "4", "0x10" or "(1 << 3)". Returns nullopt for an enumerator's name.
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

namespace {

// Limits that no real value exceeds, on the size of a record (at most a page) and on the kernel's
// event numbers.
constexpr int kMaxSize = 1 << 16;
constexpr int kMaxId = 1 << 16;
constexpr std::size_t kMaxEvents = UINT16_MAX;
constexpr std::size_t kMaxSymbols = 256;

bool good_place(const EventFormat::Field& f) {
  return (f.size == 1 || f.size == 2 || f.size == 4 || f.size == 8) && f.offset >= 0 &&
         f.offset <= kMaxSize - f.size;
}
RecordPlace place_of(const EventFormat::Field& f) {
  return {static_cast<std::uint32_t>(f.offset), static_cast<std::uint32_t>(f.size)};
}

const EventFormat::Field* find(const std::vector<EventFormat::Field>& list, std::string_view name) {
  const auto it = std::ranges::find(list, name, &EventFormat::Field::name);
  return it == list.end() ? nullptr : &*it;
}

// The kernel's names of flags; empty if all of them mean the same bits in `ours`.
std::vector<RecordNames::Flag> flags_of(const EventFormat& format, std::span<const FlagName> ours) {
  std::vector<RecordNames::Flag> out;
  bool same = true;
  for (const EventFormat::Name& n : format.flags) {
    if (n.value.value_or(0) == 0) continue;
    RecordNames::Flag flag = {*n.value, 0};
    for (const FlagName& f : ours)
      if (f.name == n.name) flag.bits = f.bit;
    same &= flag.mask == flag.bits;
    out.push_back(flag);
  }
  if (same) out.clear();
  return out;
}

// The names of the criteria by number. An enumerator without a value gets its position in the list.
std::vector<std::string> symbols_of(const EventFormat& format) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < format.symbols.size(); ++i) {
    const std::uint64_t value = format.symbols[i].value.value_or(i);
    if (value >= kMaxSymbols) continue;
    if (out.size() <= value) out.resize(value + 1);
    out[value] = format.symbols[i].name;
  }
  return out;
}

}  // namespace

Result<RecordDecoder::Layout> RecordDecoder::layout_of(const EventFormat& format, EventKind kind) {
  Layout layout;
  layout.kind = kind;
  layout.name = format.name;
  const RecordBody& body = record_body(kind);
  const std::vector<RecordField> wanted = body.fields();
  for (const RecordField& w : wanted) {
    const EventFormat::Field* field = find(format.fields, w.name);
    if (field == nullptr && w.required)
      return error("the format of {} has no field {}", format.name, w.name);
    if (field != nullptr && !good_place(*field))
      return error("the format of {} has field {} at byte {}, {} long", format.name, w.name,
                   field->offset, field->size);
    layout.places.push_back(field == nullptr ? RecordPlace() : place_of(*field));
  }
  for (const EventFormat::Field& f : format.fields)
    layout.strangers |= std::ranges::find(wanted, f.name, &RecordField::name) == wanted.end();
  layout.names.flags = flags_of(format, body.flag_names());
  if (kind != EventKind::mballoc_alloc) return layout;
  // Without the print format the meaning of the criteria is unknown.
  if (!format.print_known) return error("the print format of {} cannot be read", format.name);
  layout.names.symbols = symbols_of(format);
  return layout;
}

Status RecordDecoder::add(const EventFormat& format, KindSet needed) {
  if (format.id < 0 || format.id >= kMaxId || layouts_.size() >= kMaxEvents) return {};
  const auto kind = kind_of(format.name);
  Layout layout;
  layout.name = format.name;
  // Ignores events of other systems, such as probes, that have the name of one of our events.
  const bool of_ldiskfs = is_of_ldiskfs(format.name) && format.system == "ldiskfs";
  if (kind && (of_ldiskfs || event_system(*kind) == format.system)) {
    auto read = layout_of(format, *kind);
    if (read.ok())
      layout = *std::move(read);
    else if (needed.contains(*kind))
      return std::move(read).error();
    else
      layout.problem = read.error().message;
    layout.kind = *kind;
    layout.of_ldiskfs = of_ldiskfs;
    known_[static_cast<std::size_t>(*kind)] = true;
  }
  const std::array<std::string_view, 2> names = {"common_type", "common_pid"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const EventFormat::Field* field = find(format.common, names[i]);
    if (field != nullptr && good_place(*field)) common_[i] = place_of(*field);
  }
  const auto id = static_cast<std::size_t>(format.id);
  if (by_id_.size() <= id) by_id_.resize(id + 1);
  layouts_.push_back(std::move(layout));
  by_id_[id] = static_cast<std::uint16_t>(layouts_.size());
  return {};
}

Result<RecordDecoder> RecordDecoder::create(tep_handle& tep, Generation declared) {
  std::vector<EventFormat> formats;
  const int count = tep_get_events_count(&tep);
  for (int i = 0; i < count; ++i)
    if (const tep_event* event = tep_get_event(&tep, i)) formats.push_back(event_format(*event));
  return create(formats, tep_is_file_bigendian(&tep), declared);
}

Result<RecordDecoder> RecordDecoder::create(std::span<const EventFormat> formats, bool big_endian,
                                            Generation declared, KindSet needed) {
  RecordDecoder decoder;
  decoder.context_.criterion = CriterionReader(declared);
  decoder.swapped_ = big_endian != (std::endian::native == std::endian::big);
  for (const EventFormat& format : formats) E4R_CHECK(decoder.add(format, needed));
  std::size_t common = 0;
  for (const RecordPlace& p : decoder.common_) {
    if (p.size == 0 && !formats.empty())
      return error("the events' formats lack common_type or common_pid");
    common = std::max<std::size_t>(common, p.offset + p.size);
  }
  for (Layout& layout : decoder.layouts_) {
    layout.size = common;
    for (const RecordPlace& p : layout.places)
      layout.size = std::max<std::size_t>(layout.size, p.offset + p.size);
  }
  return decoder;
}

RecordDecoder::Outcome RecordDecoder::decode(const tep_record& record, Event& out) {
  const auto size = static_cast<std::size_t>(record.data == nullptr ? 0 : std::max(record.size, 0));
  return decode(
      RawRecord{record.cpu, record.ts, {static_cast<const std::byte*>(record.data), size}}, out);
}

RecordDecoder::Outcome RecordDecoder::report_malformed(const Layout& layout,
                                                       std::string_view what) {
  problem_ = fmt::format("malformed {} event: {}", layout.name, what);
  malformed_kind_ = layout.kind;
  return Outcome::malformed;
}

RecordDecoder::Outcome RecordDecoder::decode(const RawRecord& record, Event& out) {
  static const RecordNames kNoNames;
  const std::size_t size = record.data.size();
  const Record common(record.data.data(), common_.data(), swapped_, kNoNames);
  std::uint32_t id = 0;
  if (common_[0].size == 0 || size < std::size_t{common_[0].offset} + common_[0].size ||
      !common.number(0, id)) {
    problem_ = "malformed record: too short for an event's number";
    malformed_kind_ = std::nullopt;
    return Outcome::malformed;
  }
  const std::size_t index = id < by_id_.size() ? by_id_[id] : 0;
  if (index == 0 || layouts_[index - 1].kind == EventKind::lost_events) {
    other_name_ = index == 0 ? std::string_view() : layouts_[index - 1].name;
    return Outcome::other;
  }
  const Layout& layout = layouts_[index - 1];
  if (!layout.problem.empty()) return report_malformed(layout, layout.problem);
  if (size < layout.size) return report_malformed(layout, "shorter than its format says");
  if (record.cpu < 0 || record.cpu > UINT16_MAX)
    return report_malformed(layout, "its CPU number is impossible");
  context_.of_ldiskfs |= layout.of_ldiskfs;
  out = Event{};
  out.kind = layout.kind;
  out.cpu = static_cast<std::uint16_t>(record.cpu);
  out.time_ns = record.time_ns;
  std::int32_t pid = 0;
  if (!common.number(1, pid) ||
      !record_body(layout.kind)
           .take(Record(record.data.data(), layout.places.data(), swapped_, layout.names), out,
                 context_))
    return report_malformed(layout, "a value is out of range");
  out.pid = static_cast<std::uint32_t>(pid);
  unknown_fields(context_, out) += layout.strangers;
  return Outcome::event;
}

bool RecordDecoder::knows(EventKind kind) const {
  return known_[static_cast<std::size_t>(kind)];
}

}  // namespace e4r::trace
