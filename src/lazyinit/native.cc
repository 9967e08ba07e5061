// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/native.h"

#include <algorithm>

namespace e4r::lazyinit {
namespace {

// Characters that a value may contain.
constexpr std::string_view kWord = "abcdefghijklmnopqrstuvwxyz0123456789_-";

}  // namespace

std::vector<std::string> values_of_key(std::string_view text, std::string_view key) {
  const std::string wanted = std::string(key) + "=<";
  std::size_t at = text.find(wanted);
  // Skips a match that is only the end of a longer key.
  while (at != std::string_view::npos && at != 0 &&
         kWord.find(text[at - 1]) != std::string_view::npos)
    at = text.find(wanted, at + 1);
  if (at == std::string_view::npos) return {};
  at += wanted.size();
  std::string_view list = text.substr(at, text.find_first_of(">\n", at) - at);
  std::vector<std::string> values;
  while (!list.empty()) {
    const std::size_t bar = std::min(list.find('|'), list.size());
    const std::string_view value = list.substr(0, bar);
    values.emplace_back(value.substr(0, value.find_first_not_of(kWord)));
    list.remove_prefix(std::min(bar + 1, list.size()));
  }
  return values;
}

bool mke2fs_can(const MkfsOptions& options,
                const std::function<std::vector<std::string>()>& methods) {
  if (!options.changes_tables() || options.init == TableInit::prezeroed) return false;
  if (options.threads != 0 || options.write_unreadable) return false;
  const std::vector<std::string> has = methods();
  return std::ranges::find(has, name_of(options.init)) != has.end();
}

Status add_for_native(MkfsOptions& options, const Storage& storage) {
  if (!options.changes_tables()) return {};
  std::string words = fmt::format("itable_init={}", name_of(options.init));
  if (!options.journal_word) {
    const bool leave = options.init == TableInit::lazy && storage.reads_as_zeros;
    words += fmt::format(",lazy_journal_init={}", leave ? 1 : 0);
  }
  if (options.init == TableInit::probe) {
    const bool zeros_last = storage.zeros_last || options.trust_discard;
    if (!zeros_last) E4R_CHECK(refuse_discard(options));
    if (zeros_last && !options.discard_word) words += ",discard";
  }
  add_words(options, words);
  return {};
}

}  // namespace e4r::lazyinit
