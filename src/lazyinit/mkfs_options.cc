// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/mkfs_options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "util/units.h"

namespace e4r::lazyinit {
namespace {

constexpr const char* kLetters = "b:cd:e:g:i:jl:m:no:qr:s:t:vC:DE:FG:I:J:KL:M:N:O:R:ST:U:Vz:";
constexpr unsigned kMaxThreads = 64;

constexpr std::array<std::pair<std::string_view, TableInit>, 6> kInits = {{
    {"lazy", TableInit::lazy},
    {"zero", TableInit::zero},
    {"discard", TableInit::discard},
    {"write", TableInit::write},
    {"probe", TableInit::probe},
    {"prezeroed", TableInit::prezeroed},
}};

struct Option {
  char letter = 0;
  std::string value;
  bool has_value = false;
};

struct CommandLine {
  std::vector<Option> options;
  std::vector<std::string> operands;
};

// Returns nothing if getopt finds an error: mke2fs will report it.
std::optional<CommandLine> split(std::span<const std::string> arguments) {
  std::vector<std::string> words = {"mke2fs"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(words.size());
  CommandLine line;
  opterr = 0;
  optind = 0;  // makes glibc's getopt start again
  for (int c = 0; (c = ::getopt(argc, argv.data(), kLetters)) != -1;) {
    if (c == '?') return std::nullopt;
    line.options.push_back(
        {static_cast<char>(c), optarg == nullptr ? "" : optarg, optarg != nullptr});
  }
  for (int i = optind; i < argc; ++i) line.operands.emplace_back(argv[static_cast<std::size_t>(i)]);
  return line;
}

// "NAME=VALUE", or "NAME" without one.
struct Token {
  std::string whole;
  std::string name;
  std::optional<std::string> value;
};

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> tokens;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    tokens.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return tokens;
}

std::vector<Token> tokens_of(const std::string& list) {
  std::vector<Token> tokens;
  for (const std::string& word : split_list(list)) {
    const std::size_t equals = word.find('=');
    Token token{word, word.substr(0, equals), std::nullopt};
    if (equals != std::string::npos) token.value = word.substr(equals + 1);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

// Parses a string that contains only a number, as mke2fs does (strtoull with any base).
std::optional<std::uint64_t> number_of(const std::optional<std::string>& text) {
  if (!text || text->empty()) return std::nullopt;
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text->c_str(), &end, 0);
  if (*end != 0) return std::nullopt;
  return number;
}

bool is_extended(const Option& option) {
  return option.letter == 'E' || option.letter == 'R';
}

// Whether the mode trusts zeros that this program has not written.
bool believes_zeros(const MkfsOptions& options) {
  return options.init == TableInit::probe || options.init == TableInit::prezeroed;
}

class Parser {
 public:
  Result<MkfsOptions> parse(CommandLine line) {
    for (const Option& option : line.options)
      if (is_extended(option)) E4R_CHECK(take_keys(option.value));
    if (!result_.ours) return result_;
    E4R_CHECK(check_keys());
    for (const Option& option : line.options) E4R_CHECK(look_at(option));
    E4R_CHECK(look_at_rest());
    if (journal_dev_)
      return error("a journal device (-O journal_dev) has no inode tables: leave out {}", first_);
    E4R_CHECK(check_write_unreadable(line));
    if (result_.offset != 0 && !result_.undo_file.empty())
      return error("-z and -E offset: libext2fs cannot continue such an undo file: leave out {}",
                   first_);
    join_extended(line.options);
    assemble(line);
    return result_;
  }

 private:
  // Parses our keys, and adds all other keys to rest_.
  Status take_keys(const std::string& list) {
    for (Token& token : tokens_of(list)) {
      E4R_TRY(const bool taken, take(token));
      if (!taken && !token.whole.empty()) rest_.push_back(std::move(token));
    }
    return {};
  }

  Result<bool> take(const Token& token) {
    const std::string value = token.value.value_or("");
    if (token.name == "itable_init") {
      E4R_CHECK(set_init(value));
    } else if (token.name == "itable_threads") {
      E4R_CHECK(set_threads(value));
    } else if (token.name == "verify") {
      if (value != "full" && value != "sample")
        return error("verify={}: give verify=full or verify=sample", value);
      result_.verify_all = value == "full";
      verify_given_ = true;
    } else if (token.name == "trust_discard") {
      if (token.value) return error("trust_discard={}: it takes no value", value);
      result_.trust_discard = true;
    } else if (token.name == "write_unreadable") {
      if (token.value) return error("write_unreadable={}: it takes no value", value);
      result_.write_unreadable = true;
    } else if (token.name == "init_itable" || token.name == "noinit_itable") {
      E4R_CHECK(set_init_itable(token.whole));
    } else if (token.name.starts_with("itable_")) {
      return error("unknown extended option '{}': choose from itable_init and itable_threads",
                   token.whole);
    } else {
      return false;
    }
    if (!result_.ours) first_ = token.whole;
    result_.ours = true;
    return true;
  }

  Status set_init(const std::string& value) {
    for (const auto& [name, init] : kInits) {
      if (value != name) continue;
      if (result_.changes_tables() && result_.init != init)
        return error("itable_init={} and itable_init={} contradict each other: give one",
                     name_of(result_.init), name);
      result_.init = init;
      return {};
    }
    return error("itable_init={}: give lazy, zero, discard, write, probe or prezeroed", value);
  }

  Status set_threads(const std::string& value) {
    const auto threads = parse_u64(value);
    if (!threads.ok() || *threads == 0 || *threads > kMaxThreads)
      return error("itable_threads={}: give a number from 1 to {}", value, kMaxThreads);
    result_.threads = static_cast<unsigned>(*threads);
    return {};
  }

  Status set_init_itable(const std::string& token) {
    E4R_TRY(const InitItable wanted, parse_init_itable(token));
    if (result_.init_itable && *result_.init_itable != wanted)
      return error("{} and {} contradict each other: give one", result_.init_itable->text(),
                   wanted.text());
    result_.init_itable = wanted;
    return {};
  }

  Status check_keys() const {
    const bool works = result_.changes_tables() && result_.init != TableInit::lazy;
    if (result_.threads != 0 && !works)
      return error("itable_threads needs itable_init=zero, discard, write, probe or prezeroed");
    if (verify_given_ && result_.init != TableInit::prezeroed)
      return error("verify needs itable_init=prezeroed");
    if (result_.trust_discard && !believes_zeros(result_))
      return error("trust_discard needs itable_init=probe or prezeroed");
    return {};
  }

  Status check_write_unreadable(const CommandLine& line) const {
    if (!result_.write_unreadable) return {};
    const bool writes = result_.init == TableInit::zero || result_.init == TableInit::write ||
                        result_.init == TableInit::probe;
    if (!writes) return error("write_unreadable needs itable_init=zero, write or probe");
    if (result_.trust_discard || result_.discard_word == true)
      return error(
          "write_unreadable and {}: discarded blocks may become unreadable again: leave out one of "
          "them",
          result_.trust_discard ? "trust_discard" : "discard");
    if (result_.journal_word == true)
      return error(
          "lazy_journal_init=1 and write_unreadable contradict each other: the journal would be "
          "unreadable: give one");
    for (const Option& option : line.options) {
      if (option.letter == 'c')
        return error(
            "-c and write_unreadable: every block that was never written would count as bad: leave "
            "out one of them");
      if (option.letter == 'z')
        return error(
            "-z and write_unreadable: an undo file cannot keep what cannot be read: leave out one "
            "of them");
    }
    return {};
  }

  // Examines those options of mke2fs that matter here.
  Status look_at(const Option& option) {
    switch (option.letter) {
      case 'q':
        result_.quiet = true;
        break;
      case 'n':
        result_.dry_run = true;
        break;
      case 'V':
        result_.version = true;
        break;
      case 'S':
        return error(
            "-S rewrites only the superblock and descriptors, and inodes may be in use anywhere: "
            "leave out {}",
            first_);
      case 'z':
        result_.undo_file = option.value;
        break;
      case 'K':
        result_.discard_word = false;
        break;
      case 'O':
        look_at_features(option.value);
        break;
      default:
        break;
    }
    return {};
  }

  void look_at_features(const std::string& list) {
    for (const std::string& token : split_list(list)) {
      const bool cleared = token.starts_with('^') || token.starts_with('-');
      const std::string name = cleared || token.starts_with('+') ? token.substr(1) : token;
      if (name == "journal_dev") journal_dev_ = !cleared;
    }
  }

  // Examines mke2fs's own keys of -E.
  Status look_at_rest() {
    for (const Token& token : rest_) {
      if (token.name == "android_sparse")
        return error(
            "-E android_sparse: the file would not be laid out like a disk, which {} needs: leave "
            "out one of them",
            first_);
      if (token.name == "offset") result_.offset = number_of(token.value).value_or(0);
      if (token.name == "discard") result_.discard_word = true;
      if (token.name == "nodiscard") result_.discard_word = false;
      if (token.name == "lazy_journal_init")
        result_.journal_word = !token.value || number_of(token.value) != 0;
    }
    return result_.changes_tables() ? drop_mke2fss_word() : Status();
  }

  // Drops mke2fs's own key for the tables if it agrees with itable_init, and refuses it otherwise.
  Status drop_mke2fss_word() {
    for (const Token& token : rest_) {
      const bool on = !token.value || number_of(token.value) != 0;
      const bool zeroes = result_.init == TableInit::zero || result_.init == TableInit::discard ||
                          result_.init == TableInit::write;
      if ((token.name == "lazy_itable_init" && !on && !zeroes) ||
          (token.name == "assume_storage_prezeroed" && on))
        return error("{} and itable_init={} contradict each other: give one", token.whole,
                     name_of(result_.init));
    }
    std::erase_if(rest_, [](const Token& token) {
      return token.name == "lazy_itable_init" && (!token.value || number_of(token.value));
    });
    return {};
  }

  // Joins all -E lists, at the position of the last one.
  void join_extended(std::vector<Option>& options) const {
    std::string words;
    for (const Token& token : rest_) words += (words.empty() ? "" : ",") + token.whole;
    const auto last = std::find_if(options.rbegin(), options.rend(), is_extended);
    last->value = words;
    const auto keep = &*last;
    std::vector<Option> joined;
    for (Option& option : options)
      if (!is_extended(option) || (&option == keep && (!words.empty() || result_.changes_tables())))
        joined.push_back(std::move(option));
    options = std::move(joined);
  }

  void assemble(const CommandLine& line) {
    for (const Option& option : line.options) {
      result_.arguments.push_back({'-', option.letter});
      if (is_extended(option)) result_.extended = result_.arguments.size();
      if (option.letter == 'd') result_.root_at = result_.arguments.size();
      if (option.has_value) result_.arguments.push_back(option.value);
    }
    result_.options_end = result_.arguments.size();
    const bool dashed = std::ranges::any_of(
        line.operands, [](const std::string& word) { return word.starts_with('-'); });
    if (dashed) result_.arguments.emplace_back("--");
    if (!line.operands.empty()) {
      result_.device = line.operands.front();
      result_.device_at = result_.arguments.size();
    }
    result_.arguments.insert(result_.arguments.end(), line.operands.begin(), line.operands.end());
  }

  MkfsOptions result_;
  std::vector<Token> rest_;  // keys that are not ours
  std::string first_;        // the first key of ours, for messages
  bool verify_given_ = false;
  bool journal_dev_ = false;
};

}  // namespace

std::string_view name_of(TableInit init) {
  for (const auto& [name, value] : kInits)
    if (value == init) return name;
  return "";
}

std::vector<std::string> mkfs_keys() {
  std::vector<std::string> out;
  out.reserve(std::size(kInits) + 6);
  for (const auto& [name, init] : kInits) out.push_back("itable_init=" + std::string(name));
  for (const char* key : {"itable_threads=", "verify=full", "verify=sample", "trust_discard",
                          "write_unreadable", "init_itable=", "noinit_itable"})
    out.emplace_back(key);
  return out;
}

std::string_view mkfs_letters() {
  return kLetters;
}

Result<MkfsOptions> parse_mkfs_options(std::span<const std::string> arguments) {
  MkfsOptions as_it_is;
  as_it_is.arguments.assign(arguments.begin(), arguments.end());
  std::optional<CommandLine> line = split(arguments);
  if (!line) return as_it_is;
  E4R_TRY(MkfsOptions options, Parser().parse(std::move(*line)));
  return options.ours ? options : as_it_is;
}

namespace {

// The Error for `discard` on storage where zeros may not last, in a mode that trusts zeros.
Status refuse_discard(const MkfsOptions& options) {
  if (options.discard_word != true) return {};
  return error(
      "discard and itable_init={}: what {} discards may read as zeros now and as old data later: "
      "leave out discard, or add trust_discard if zeros last on this device",
      name_of(options.init), options.device);
}

// Adds words to the list of extended options. The command line must already have such a list.
void add_words(MkfsOptions& options, const std::string& words) {
  std::string& list = options.arguments.at(options.extended.value());
  list += (list.empty() ? "" : ",") + words;
}

}  // namespace

Status add_for_storage(MkfsOptions& options, const Storage& storage) {
  if (!options.changes_tables()) return {};
  std::string words = "lazy_itable_init=1";
  if (!options.journal_word) {
    options.journal = storage.reads_as_zeros;
    words += fmt::format(",lazy_journal_init={}", options.journal ? 1 : 0);
  }
  if (believes_zeros(options) && !storage.zeros_last && !options.trust_discard) {
    E4R_CHECK(refuse_discard(options));
    if (!options.discard_word) words += ",nodiscard";
  } else if (options.write_unreadable && !options.discard_word) {
    words += ",nodiscard";
  }
  add_words(options, words);
  return {};
}

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
