// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/mkfs_options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "util/units.h"

namespace e4r::lazyinit {
namespace {

constexpr const char* kLetters = "b:cd:e:g:i:jl:m:no:qr:s:t:vC:DE:FG:I:J:KL:M:N:O:R:ST:U:Vz:";
constexpr unsigned kMaxThreads = 64;

constexpr std::array<std::pair<std::string_view, TableInit>, 4> kInits = {{
    {"lazy", TableInit::lazy},
    {"zero", TableInit::zero},
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

// Nothing when getopt finds fault: then mke2fs shall say so.
std::optional<CommandLine> split(std::span<const std::string> arguments) {
  std::vector<std::string> words = {"mke2fs"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(words.size());
  CommandLine line;
  opterr = 0;
  optind = 0;  // glibc: start anew
  for (int c = 0; (c = ::getopt(argc, argv.data(), kLetters)) != -1;) {
    if (c == '?') return std::nullopt;
    line.options.push_back(
        {static_cast<char>(c), optarg == nullptr ? "" : optarg, optarg != nullptr});
  }
  for (int i = optind; i < argc; ++i) line.operands.emplace_back(argv[static_cast<std::size_t>(i)]);
  return line;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> tokens;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    tokens.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return tokens;
}

bool is_extended(const Option& option) {
  return option.letter == 'E' || option.letter == 'R';
}

class Parser {
 public:
  Result<MkfsOptions> parse(CommandLine line) {
    for (Option& option : line.options)
      if (is_extended(option)) E4R_CHECK(take_keys(option));
    if (!result_.ours) return result_;
    E4R_CHECK(check_keys());
    std::erase_if(line.options, [](const Option& o) { return is_extended(o) && o.value.empty(); });
    result_.journal = result_.changes_tables();
    for (const Option& option : line.options) E4R_CHECK(look_at(option));
    if (journal_dev_)
      return error("a journal device (-O journal_dev) has no inode tables: leave out {}", first_);
    if (mmp_)
      return error("with -O mmp only the machine that mounted it may write: leave out {}", first_);
    if (result_.changes_tables()) add_lazy(line.options);
    assemble(line);
    return result_;
  }

 private:
  Status take_keys(Option& option) {
    std::string rest;
    for (const std::string& token : split_list(option.value)) {
      const std::size_t equals = token.find('=');
      const std::string name = token.substr(0, equals);
      const bool has_value = equals != std::string::npos;
      E4R_TRY(const bool taken, take(name, has_value ? token.substr(equals + 1) : "", token));
      if (!taken) rest += (rest.empty() ? "" : ",") + token;
    }
    if (result_.ours) option.value = rest;
    return {};
  }

  Result<bool> take(const std::string& name, const std::string& value, const std::string& token) {
    if (name == "itable_init") {
      E4R_CHECK(set_init(value));
    } else if (name == "itable_threads") {
      E4R_CHECK(set_threads(value));
    } else if (name == "verify") {
      if (value != "full" && value != "sample")
        return error("verify={}: give verify=full or verify=sample", value);
      result_.verify_all = value == "full";
      verify_given_ = true;
    } else if (name == "init_itable" || name == "noinit_itable") {
      E4R_CHECK(set_init_itable(token));
    } else if (name.starts_with("itable_")) {
      return error("unknown extended option '{}': there are itable_init and itable_threads", token);
    } else {
      return false;
    }
    if (!result_.ours) first_ = token;
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
    return error("itable_init={}: give lazy, zero, probe or prezeroed", value);
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
      return error("itable_threads needs itable_init=zero, probe or prezeroed");
    if (verify_given_ && result_.init != TableInit::prezeroed)
      return error("verify needs itable_init=prezeroed");
    return {};
  }

  // What mke2fs is asked for besides.
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
            "-S writes only superblock and descriptors anew, and inodes may be "
            "in use anywhere: leave out {}",
            first_);
      case 'z':
        return error(
            "-z: an undo file would not have what {} writes: leave out one of "
            "them",
            first_);
      case 'O':
        look_at_features(option.value);
        break;
      case 'E':
      case 'R':
        return look_at_extended(option.value);
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
      if (name == "mmp") mmp_ = !cleared;
    }
  }

  Status look_at_extended(const std::string& list) {
    for (const std::string& token : split_list(list)) {
      const std::string name = token.substr(0, token.find('='));
      if (name == "offset" || name == "android_sparse")
        return error(
            "-E {}: the file system would not start where the file does, which {} needs: "
            "leave out one of them",
            name, first_);
      if (name == "lazy_journal_init") result_.journal = false;
      if (!result_.changes_tables()) continue;
      if (name == "lazy_itable_init" || name == "assume_storage_prezeroed")
        return error("{} and itable_init={} both say what becomes of the tables: give one", name,
                     name_of(result_.init));
    }
    return {};
  }

  // To the last -E, since mke2fs heeds no other.
  void add_lazy(std::vector<Option>& options) const {
    std::string words = "lazy_itable_init=1";
    if (result_.journal) words += ",lazy_journal_init=1";
    const auto last = std::find_if(options.rbegin(), options.rend(), is_extended);
    if (last == options.rend())
      options.push_back({'E', words, true});
    else
      last->value += "," + words;
  }

  void assemble(const CommandLine& line) {
    for (const Option& option : line.options) {
      result_.arguments.push_back({'-', option.letter});
      if (option.has_value) result_.arguments.push_back(option.value);
    }
    if (!line.operands.empty()) result_.device = line.operands.front();
    const bool dashed = std::ranges::any_of(
        line.operands, [](const std::string& word) { return word.starts_with('-'); });
    if (dashed) result_.arguments.emplace_back("--");
    result_.arguments.insert(result_.arguments.end(), line.operands.begin(), line.operands.end());
  }

  MkfsOptions result_;
  std::string first_;  // the first key of ours, for messages
  bool verify_given_ = false;
  bool journal_dev_ = false;
  bool mmp_ = false;
};

}  // namespace

std::string_view name_of(TableInit init) {
  for (const auto& [name, value] : kInits)
    if (value == init) return name;
  return "";
}

std::vector<std::string> mkfs_keys() {
  std::vector<std::string> out;
  for (const auto& [name, init] : kInits) out.push_back("itable_init=" + std::string(name));
  for (const char* key :
       {"itable_threads=", "verify=full", "verify=sample", "init_itable=", "noinit_itable"})
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

}  // namespace e4r::lazyinit
