// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/fd.h"
#include "util/status.h"

namespace e4r {

// The name of an unfinished file. A signal handler can remove all of these files before the program
// exits (remove_unfinished()). Needed only on file systems without O_TMPFILE. On others, an
// unfinished file has no name.
class Unfinished {
 public:
  Unfinished() = default;
  // Remembers the path for remove_unfinished(), which knows at most 64 paths, each no longer than
  // PATH_MAX. Any further file is removed only by its owner.
  explicit Unfinished(const std::string& path);
  Unfinished(Unfinished&& other) noexcept;
  Unfinished& operator=(Unfinished&& other) noexcept;
  ~Unfinished() { forget(); }
  // Must be called when the file has its final name or has been removed.
  void forget();

 private:
  std::size_t slot_ = 0;  // 1-based; 0 if the path has no slot
};

// Removes the files. Safe in a signal handler.
void remove_unfinished() noexcept;

// Everything that the programs write goes through this header. What happens to an output depends on
// what its name refers to:
//
//   nothing                        a file is created
//   a regular file                 it is replaced whole at the end, or it stays as it was; the new
//                                  file gets its mode and, if allowed, its owner
//   a symbolic link                its target is written, even if it does not exist yet
//   a character device, a FIFO     opened and written to directly
//   -, /dev/stdout, /dev/stderr,   written to directly, at the descriptor's current offset
//   /dev/fd/N, /proc/self/fd/N
//   a block device, a directory    refused
//   an input of the same command   refused, even through a hard link or a symbolic link
//   another output of the command
//   a file behind a loop device    refused

enum class OutputKind : std::uint8_t {
  stream,  // written from start to end
  file,    // needs a regular file: written at any offset, or reopened
};

// The name of an output, and the inputs that it must not be.
class OutputName {
 public:
  struct Input {
    std::string path;
    FileId id;
  };
  using Inputs = std::vector<Input>;

  OutputName(std::string path) : path_(std::move(path)) {}
  OutputName(const char* path) : path_(path) {}
  OutputName(std::string path, std::shared_ptr<const Inputs> inputs)
      : path_(std::move(path)), inputs_(std::move(inputs)) {}
  [[nodiscard]] const std::string& path() const { return path_; }
  // Returns the input that is the file with this identity, or null.
  [[nodiscard]] const Input* find_input(const FileId& id) const;

 private:
  std::string path_;
  std::shared_ptr<const Inputs> inputs_;
};

// The files that one command reads and writes. The command declares all of them before it begins to
// work, inputs first. So an output that cannot be written is refused at once.
class Outputs {
 public:
  // Declares a file that the command reads or may read. "-" is standard input. "" and missing files
  // are ignored.
  void reads(const std::string& path);
  // Declares a file that the command writes; "" is ignored. The Error is the one that
  // Output::create() would return, as far as that can be known in advance, or says that another
  // output has the same place.
  [[nodiscard]] Status writes(const std::string& path, OutputKind kind = OutputKind::stream);
  // The name of a declared output, for Output::create().
  [[nodiscard]] OutputName name_of(const std::string& path) const { return {path, inputs_}; }

 private:
  std::shared_ptr<OutputName::Inputs> inputs_ = std::make_shared<OutputName::Inputs>();
  std::vector<std::pair<std::string, std::string>> written_;  // identity, name
};

// How to create a file that does not exist.
struct NewFile {
  mode_t mode = 0666;  // before the umask
  // The file needs a real name from the start, because its writer opens it by name (SQLite).
  bool needs_name = false;
};

// An open output. Movable. Until commit() is called, no regular file is created or replaced, except
// by create_growing().
class Output {
 public:
  [[nodiscard]] static Result<Output> create(const OutputName& name,
                                             OutputKind kind = OutputKind::stream,
                                             const NewFile& file = {});
  // Creates a file that has its name from the start, so that others can read it while it grows. The
  // file is locked (flock) while it grows, and is kept even without commit(). Fails if a file of
  // that name exists. A stream is written to directly, without waiting for a FIFO's reader.
  [[nodiscard]] static Result<Output> create_growing(const OutputName& name);
  Output(Output&& other) noexcept;
  Output& operator=(Output&& other) noexcept;
  ~Output();

  [[nodiscard]] int fd() const { return fd_.get(); }
  // A path by which a regular file can be reopened before commit().
  [[nodiscard]] std::string open_path() const;
  // The name that the user gave.
  [[nodiscard]] const std::string& name() const { return name_.path(); }
  [[nodiscard]] Status write(std::string_view bytes);
  // Syncs a regular file to disk and gives it its name. First checks again what that name refers
  // to.
  [[nodiscard]] Status commit();
  // Like commit(), but does not sync. A crash may lose the content.
  [[nodiscard]] Status commit_unsynced();
  // Removes the file that create_growing() made. For a caller that has written nothing worth
  // keeping.
  void abandon();

 private:
  Output(OutputName name, std::string target)
      : name_(std::move(name)), target_(std::move(target)) {}
  [[nodiscard]] Status begin_file(const NewFile& file, OutputKind kind);
  [[nodiscard]] Status make_named();
  [[nodiscard]] Status link();
  [[nodiscard]] Status replace();
  [[nodiscard]] Error fail(int errnum) const;
  void remove_temporary();

  OutputName name_;
  std::string target_;     // with symbolic links followed
  std::string temporary_;  // the file's name until commit(); empty if it has none
  Unfinished unfinished_;
  Fd fd_;
  OutputKind kind_ = OutputKind::stream;
  bool to_be_named_ = false;  // commit() must give the file its name
  bool growing_ = false;      // create_growing() made the file
};

// Makes a nameless file in that directory. It disappears when its descriptor is closed, even if the
// program crashes. With `inherited`, child programs inherit the descriptor (/proc/self/fd/N).
[[nodiscard]] Result<Fd> anonymous_file(const std::string& directory, bool inherited = false);

// The directory for temporary files: $TMPDIR, or /tmp.
[[nodiscard]] std::string temporary_directory();

// The path that the name refers to after symbolic links are followed. The file need not exist. The
// Error says why it cannot be written.
[[nodiscard]] Result<std::string> output_target(const OutputName& name);

// The directory part of a path.
[[nodiscard]] std::string directory_of(const std::string& path);

// Internal to src/util: what the name of an output refers to.

struct OutputPlace {
  enum class Is : std::uint8_t {
    absent,      // a file will be created at `target`
    regular,     // the file at `target` will be replaced
    opened,      // a character device or a FIFO; `target` is opened
    descriptor,  // `descriptor` is written to
  };
  Is is = Is::absent;
  std::string target;
  int descriptor = -1;
  struct stat st = {};  // for an existing file

  [[nodiscard]] bool written_through() const { return is == Is::opened || is == Is::descriptor; }
  // A string that is equal for two names of the same place.
  [[nodiscard]] std::string identity() const;
};

// The Error says why the output cannot or must not be written.
[[nodiscard]] Result<OutputPlace> find_place(const OutputName& name, OutputKind kind);

}  // namespace e4r
