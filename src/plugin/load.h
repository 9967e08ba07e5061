// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <e4replay/plugin.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/policy.h"
#include "util/status.h"

namespace e4r::plugin {

// The functions that every policy file receives.
[[nodiscard]] const e4replay::plugin::Host& host();

// Whether the string is a valid name for a policy or a rung.
[[nodiscard]] bool is_name(std::string_view name);

// Converts a file's rung for the allocator. The strings of `rung` must outlive the result. Errors:
// a missing function; an unknown criterion or tunable.
[[nodiscard]] Result<allocator::Rung> own_rung(const e4replay::plugin::Rung& rung);

// A policy and everything that it refers to.
struct KeptPolicy {
  using Members = std::vector<std::uint64_t allocator::Tunables::*>;

  KeptPolicy(std::string its_name, std::string its_summary, std::string its_source,
             std::vector<allocator::Rung> rungs, Members members, const allocator::Kernel& kernel)
      : name(std::move(its_name)),
        summary(std::move(its_summary)),
        source(std::move(its_source)),
        ladder(std::move(rungs)),
        tunables(std::move(members)),
        policy{.name = name,
               .summary = summary,
               .source = source,
               .ladder = ladder,
               .kernel = kernel,
               .own_tunables = tunables} {}
  KeptPolicy(const KeptPolicy&) = delete;
  KeptPolicy& operator=(const KeptPolicy&) = delete;

  const std::string name, summary, source;
  const std::vector<allocator::Rung> ladder;
  const Members tunables;
  const allocator::Policy policy;
};

// Whether a policy's name denotes a file: it contains a slash or ends in ".so".
[[nodiscard]] bool is_file_name(std::string_view policy);

// Opens the file and returns its policy, under the name that the file gives it. Runs code of the
// file. The file stays open and is opened only once; the policy is valid until the program ends.
// Thread-safe. Errors: a file that cannot be opened, is not a policy, or was made for another
// interface; a description that breaks a rule of include/e4replay/plugin.h; a name in use.
[[nodiscard]] Result<const allocator::Policy*> load(const std::string& path);

// Adds a policy that the program itself defines, without a file. Returns "program:N", the name
// under which find_policy() finds it. Reports show the policy's own name. Errors: as for load().
[[nodiscard]] Result<std::string> add(const e4replay::plugin::Policy& policy);
// Removes the name. Holders of the policy may continue to use it.
void remove(std::string_view name);

// Finds a policy by its name: a built-in one, one that the program added, or one from a file. A
// file is named by its path, or by its name in a directory of E4REPLAY_POLICY_PATH. Returns null if
// the name is unknown. Errors: as for load().
[[nodiscard]] Result<const allocator::Policy*> find_policy(const std::string& name);

// The path of the file that holds the policy; empty for a built-in policy or a kernel's code.
[[nodiscard]] std::string file_of(const allocator::Policy& policy);

// The facts that a plan of replays needs about a policy from a file.
struct Description {
  struct Rung {
    std::string name;     // the name of its criterion
    std::string tunable;  // the tunable that only this rung reads; empty: no tunable
  };
  struct Tunable {
    std::string name, meaning;
    std::uint64_t fallback = 0, max = 0;
  };
  std::string name;
  std::string kernel;  // the built-in policy with the same kernel
  std::vector<Rung> rungs;
  std::vector<Tunable> tunables;  // the tunables that the file adds
};
[[nodiscard]] Description describe(const allocator::Policy& policy);
// Makes a policy with this description that cannot decide, because its code is not loaded. Errors:
// an invalid description.
[[nodiscard]] Result<const allocator::Policy*> restore_policy(const Description& description);

// find_file() returns the path of NAME.so in E4REPLAY_POLICY_PATH, a colon-separated list of
// directories, or an empty string if it is in none of them. files() returns all .so files in these
// directories, by directory and then by name.
[[nodiscard]] std::string find_file(std::string_view name);
[[nodiscard]] std::vector<std::string> files();

// A shared library that the dynamic linker has opened. Closed by the destructor unless kept.
class Library {
 public:
  // Errors, whose messages do not contain the path: the dynamic linker cannot open the file; this
  // program has no dynamic linker.
  [[nodiscard]] static Result<Library> open(const std::string& path);

  // Null if the file has no such function.
  template <class Function>
  [[nodiscard]] Function* find(const char* name) const {
    return reinterpret_cast<Function*>(address_of(name));
  }
  void keep() { static_cast<void>(handle_.release()); }

 private:
  using Handle = std::unique_ptr<void, void (*)(void*)>;
  explicit Library(Handle handle) : handle_(std::move(handle)) {}
  [[nodiscard]] void* address_of(const char* name) const;

  Handle handle_;
};

// Whether this program can open shared libraries at all.
[[nodiscard]] bool opens_files();

}  // namespace e4r::plugin
