// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

#include "trace/event.h"
#include "trace/text/body.h"
#include "trace/text/flags.h"
#include "trace/text/scan.h"

// The vocabulary in which body.cc writes down what each event's body looks like. Every field type
// has: key; required; read(), which scans a value; print(), which appends it.
namespace e4r::trace::fields {

template <std::size_t N>
struct Key {
  char text[N] = {};
  consteval Key(const char (&s)[N]) { std::copy_n(s, N, text); }
  [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
};

struct Printer {
  std::string& out;
  Generation generation;
  void number(auto value) { fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), value); }
};

template <Key K>
struct Required {
  static constexpr std::string_view key = K.view();
  static constexpr bool required = true;
  static bool present(const Event&, Generation) { return true; }
};

// "dev 8,1"
struct Device : Required<"dev"> {
  static bool read(Scan& s, Event& e, BodyContext&) {
    std::uint32_t major = 0, minor = 0;
    if (!s.number(major) || !s.ch(',') || !s.number(minor)) return false;
    if (major > 0xfff || minor > 0xfffff) return false;
    e.dev = make_dev(major, minor);
    return true;
  }
  static void print(Printer p, const Event& e) {
    p.number(dev_major(e.dev));
    p.out += ',';
    p.number(dev_minor(e.dev));
  }
};

// "KEY 123", into a member.
template <Key K, auto Member>
struct Number : Required<K> {
  static bool read(Scan& s, Event& e, BodyContext&) { return s.number(e.*Member); }
  static void print(Printer p, const Event& e) { p.number(e.*Member); }
};

// "KEY -3", into an unsigned member.
template <Key K, auto Member>
struct SignedNumber : Required<K> {
  static bool read(Scan& s, Event& e, BodyContext&) {
    std::int32_t value = 0;
    if (!s.number(value)) return false;
    e.*Member = static_cast<std::uint32_t>(value);
    return true;
  }
  static void print(Printer p, const Event& e) { p.number(static_cast<std::int32_t>(e.*Member)); }
};

// "KEY 123", of no interest.
template <Key K>
struct Ignored : Required<K> {
  static constexpr bool required = false;
  static bool read(Scan& s, Event&, BodyContext&) {
    std::int64_t value = 0;
    return s.number(value);
  }
  static void print(Printer p, const Event&) { p.out += '0'; }
};

// "mode 0100644"
struct Mode : Required<"mode"> {
  static bool read(Scan& s, Event& e, BodyContext&) { return s.octal(e.mode); }
  static void print(Printer p, const Event& e) {
    fmt::format_to(std::back_inserter(p.out), "0{:o}", e.mode);
  }
};

// "flags HINT_DATA|0x8000", from one of the tables.
template <auto Names>
struct Flags : Required<"flags"> {
  static bool read(Scan& s, Event& e, BodyContext& c) {
    return scan_flags(s, Names(), e.flags, c.unknown_flags);
  }
  static void print(Printer p, const Event& e) { print_flags(p.out, Names(), e.flags); }
};

// "cr 1" or "cr CR_GOAL_LEN_FAST"
struct Rung : Required<"cr"> {
  static bool read(Scan& s, Event& e, BodyContext& c) {
    if (!c.criterion.read(s, e.criterion)) return false;
    c.unknown_criteria += e.criterion == mb::Criterion::unknown;
    return true;
  }
  static void print(Printer p, const Event& e) {
    print_criterion(p.out, e.criterion, p.generation);
  }
};

// "KEY group/start/len@logical", without "@logical" when not Located.
template <Key K, auto Member, bool Located = true>
struct Extent : Required<K> {
  static bool read(Scan& s, Event& e, BodyContext&) {
    GroupExtent& x = e.*Member;
    if (!s.number(x.group) || !s.ch('/') || !s.number(x.start) || !s.ch('/')) return false;
    std::int64_t len = 0;  // some events print it signed, some unsigned
    if (!s.number(len) || len < INT32_MIN || len > UINT32_MAX) return false;
    x.len = static_cast<std::uint32_t>(len);
    return !Located || (s.ch('@') && s.number(x.logical));
  }
  static void print(Printer p, const Event& e) {
    const GroupExtent& x = e.*Member;
    p.number(x.group);
    p.out += '/';
    p.number(x.start);
    p.out += '/';
    p.number(x.len);
    if (!Located) return;
    p.out += '@';
    p.number(x.logical);
  }
};

// "WR": a letter for each of es::, none for none.
inline constexpr std::string_view kStatusLetters = "WUDHR";
inline bool scan_status(Scan& s, std::uint32_t& flags) {
  flags = 0;
  for (; !s.at_end() && *s.p != ' '; ++s.p) {
    const std::size_t bit = kStatusLetters.find(*s.p);
    if (bit == std::string_view::npos) return false;
    flags |= 1U << bit;
  }
  return true;
}
inline void print_status(std::string& out, std::uint32_t flags) {
  for (std::size_t bit = 0; bit < kStatusLetters.size(); ++bit)
    if ((flags >> bit & 1) != 0) out += kStatusLetters[bit];
}

// "[12/8)": logical block and length.
struct Range {
  static bool read(Scan& s, Event& e, BodyContext&) {
    return s.ch('[') && s.number(e.logical) && s.ch('/') && s.number(e.count) && s.ch(')');
  }
  static void print(Printer p, const Event& e) {
    fmt::format_to(std::back_inserter(p.out), FMT_COMPILE("[{}/{})"), e.logical, e.count);
  }
};
// "es [12/8)"
struct StatusRange : Required<"es">, Range {};

struct StatusLetters : Required<"status"> {
  static bool read(Scan& s, Event& e, BodyContext&) { return scan_status(s, e.flags); }
  static void print(Printer p, const Event& e) { print_status(p.out, e.flags); }
};

// "found 1 [12/8) 34304 WR": all of it after one key.
struct Answer : Required<"found"> {
  static bool read(Scan& s, Event& e, BodyContext& c) {
    return s.number(e.found) && s.ch(' ') && Range::read(s, e, c) && s.ch(' ') &&
           s.number(e.block) && (s.at_end() || s.ch(' ')) && scan_status(s, e.flags);
  }
  static void print(Printer p, const Event& e) {
    p.number(e.found);
    p.out += ' ';
    Range::print(p, e);
    p.out += ' ';
    p.number(e.block);
    p.out += ' ';
    print_status(p.out, e.flags);
  }
};

// "nr_shrunk 3," of ext4_es_shrink: with a comma.
template <Key K, auto Member>
struct NumberAndComma : Number<K, Member> {
  static bool read(Scan& s, Event& e, BodyContext& c) {
    return Number<K, Member>::read(s, e, c) && s.ch(',');
  }
  static void print(Printer p, const Event& e) {
    Number<K, Member>::print(p, e);
    p.out += ',';
  }
};

// A field that not every kernel prints. The event keeps its default without it.
template <class Field>
struct Optional : Field {
  static constexpr bool required = false;
};

// "needed 0" of ext4_discard_preallocations, gone in later kernels.
struct Needed : Optional<Number<"needed", &Event::needed>> {
  static bool present(const Event& e, Generation g) {
    return g != Generation::v6_5 || e.needed != 0;
  }
};

// "orig_goal_len 512" of ext4_mballoc_alloc on kernels with the CR1.5 series.
struct OrigGoalLen : Optional<Number<"orig_goal_len", &Event::orig_goal_len>> {
  static bool present(const Event& e, Generation) { return e.orig_goal_len != 0; }
};

// "i_size 4096 i_writecount 1" of trace-inputs kernels: has_inputs when both are there.
struct InputSize : Optional<Number<"i_size", &Event::i_size>> {
  static bool present(const Event& e, Generation) { return e.has_inputs; }
};
struct InputWriters : Optional<Number<"i_writecount", &Event::i_writecount>> {
  static bool read(Scan& s, Event& e, BodyContext&) {
    e.has_inputs = true;
    return s.number(e.i_writecount);
  }
  static bool present(const Event& e, Generation) { return e.has_inputs; }
};

// What some kernels print and nobody here reads; it is not printed.
template <Key K>
struct Absent : Ignored<K> {
  static bool present(const Event&, Generation) { return false; }
};

// "nr_visited 16" of ext4_es_shrink on kernels with the series es-shrinker.
struct Visited : Optional<Number<"nr_visited", &Event::groups>> {
  static bool read(Scan& s, Event& e, BodyContext&) {
    e.has_inputs = true;
    return s.number(e.groups);
  }
  static bool present(const Event& e, Generation) { return e.has_inputs; }
};

// An event's body: fields in the kernel's order, optional ones last, and whether a space follows.
enum class Ending { plain, space };
template <Ending E, class... Fields>
struct Body {
  // In this order, with exactly one space between; false to have read_by_key() decide.
  static bool read_in_order(Scan& s, Event& e, BodyContext& c) {
    if (!(read_next<Fields>(s, e, c) && ...)) return false;
    s.spaces();
    return s.at_end();
  }

  static bool read_by_key(Scan& s, Event& e, BodyContext& c) {
    std::uint32_t seen = 0;
    bool strangers = false;
    for (s.spaces(); !s.at_end(); s.spaces()) {
      std::string_view word = s.word();
      s.ch(' ');
      const int field = index_of(word);
      if (field < 0 || (seen >> field & 1) != 0) {
        strangers = true;
        continue;
      }
      seen |= 1U << field;
      if (!read_field(field, s, e, c) || !(s.at_end() || *s.p == ' '))
        return fail(c, word, "has no proper value");
    }
    c.unknown_fields += strangers;
    for (std::size_t i = 0; i < sizeof...(Fields); ++i)
      if (kRequired[i] && (seen >> i & 1) == 0) return fail(c, kKeys[i], "is missing");
    return true;
  }

  static void print(std::string& out, const Event& e, Generation g) {
    bool first = true;
    (print_field<Fields>(out, e, g, first), ...);
    if (E == Ending::space) out += ' ';
  }

 private:
  static constexpr std::array<std::string_view, sizeof...(Fields)> kKeys = {Fields::key...};
  static constexpr std::array<bool, sizeof...(Fields)> kRequired = {Fields::required...};

  template <class Field>
  static bool read_next(Scan& s, Event& e, BodyContext& c) {
    if constexpr (!Field::required) {
      s.spaces();
      if (s.at_end()) return true;
      return s.literal(Field::key) && s.ch(' ') && Field::read(s, e, c);
    } else {
      if constexpr (Field::key != std::string_view("dev"))
        if (!s.ch(' ')) return false;
      return s.literal(Field::key) && s.ch(' ') && Field::read(s, e, c);
    }
  }

  static int index_of(std::string_view word) {
    for (std::size_t i = 0; i < kKeys.size(); ++i)
      if (word == kKeys[i]) return static_cast<int>(i);
    return -1;
  }

  static bool read_field(int field, Scan& s, Event& e, BodyContext& c) {
    int i = 0;
    bool good = false;
    ((i++ == field && (good = Fields::read(s, e, c))), ...);
    return good;
  }

  static bool fail(BodyContext& c, std::string_view key, std::string_view what) {
    for (const std::string_view k : kKeys)
      if (k == key) c.problem_key = k;  // static text, unlike a word of the line
    c.problem = what;
    return false;
  }

  template <class Field>
  static void print_field(std::string& out, const Event& e, Generation g, bool& first) {
    if (!Field::present(e, g)) return;
    if (!first && !out.ends_with(' ')) out += ' ';
    first = false;
    out += Field::key;
    out += ' ';
    const std::size_t before = out.size();
    Field::print(Printer{out, g}, e);
    if (out.size() == before) out += ' ';  // an empty value keeps its place between two spaces
  }
};

}  // namespace e4r::trace::fields
