// SPDX-License-Identifier: GPL-2.0-or-later
#include "mke2fs-lazy/completion.h"

#include "lazyinit/mkfs_options.h"

namespace e4r::tools {
namespace {

using completion::ValueCompletion;

// Returns how to complete the value of mke2fs's own option `letter`: with files, or with file
// system types.
ValueCompletion value_of(char letter) {
  ValueCompletion out;
  switch (letter) {
    case 'E':
    case 'R':  // the old name of -E
      out = {ValueCompletion::Kind::words, {}, true};
      for (const std::string& key : lazyinit::mkfs_keys()) out.words.push_back({key});
      break;
    case 't':
      out = {ValueCompletion::Kind::words, {{"ext2"}, {"ext3"}, {"ext4"}}};
      break;
    case 'd':
    case 'l':
    case 'z':
      out = {ValueCompletion::Kind::file};
      break;
    default:
      break;
  }
  return out;
}

completion::Option flag(std::string name, std::string meaning) {
  completion::Option out;
  out.names = {std::move(name)};
  out.meaning = std::move(meaning);
  return out;
}

}  // namespace

completion::Node mkfs_options_node() {
  completion::Node out;
  out.name = "mke2fs-lazy";
  out.options = {flag("--help", "list the options in addition to mke2fs's"),
                 flag("--version", "version and commit")};
  const std::string_view letters = lazyinit::mkfs_letters();
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (letters[i] == ':') continue;
    completion::Option option =
        flag(std::string("-") + letters[i],
             letters[i] == 'E' ? "extended options, mke2fs's and ours" : "as in mke2fs(8)");
    if (i + 1 < letters.size() && letters[i + 1] == ':') {
      option.takes = completion::Option::Takes::value;
      option.placeholder = "VALUE";
      option.value = value_of(letters[i]);
    }
    out.options.push_back(std::move(option));
  }
  out.operands = {{"DEVICE", {ValueCompletion::Kind::file}}, {"SIZE", {}}};
  return out;
}

}  // namespace e4r::tools
