// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/fd.h"
#include "util/file_id.h"
#include "util/status.h"
#include "util/unfinished.h"

// The one door for what the programs write. What becomes of an output depends on what has its name:
//
//   nothing                        a file is made
//   a regular file                 it is replaced whole at the end, or it stays as it was; the new
//                                  one has its mode, and its owner where that is allowed
//   a symbolic link                its target is written; there need not be one yet
//   a character device, a FIFO,    written through, as the kernel opens it
//   -, /dev/stdout, /dev/stderr,   written through, where the descriptor stands
//   /dev/fd/N, /proc/self/fd/N
//   a block device, a directory    refused
//   what the command reads too,    refused, under whatever name (hard links, symbolic links)
//   another output of the command
//   a file behind a loop device    refused
namespace e4r {

enum class OutputKind : std::uint8_t {
  stream,  // written from start to end
  file,    // needs a regular file: written here and there, or opened again
};

// The name of an output, and what it must not be.
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
  // The input that the file is; null: none.
  [[nodiscard]] const Input* input_that_is(const FileId& id) const;

 private:
  std::string path_;
  std::shared_ptr<const Inputs> inputs_;
};

// What one command reads and writes. It declares all of it before it begins to work, inputs first,
// so that what cannot be written is refused at once.
class Outputs {
 public:
  // A file that the command reads, or may read; "-": standard input. "" and what is not there:
  // nothing.
  void reads(const std::string& path);
  // A file that it writes; "": none. The Error is the one that Output::create() would end with, as
  // far as it shows beforehand, or says which other output has the same place.
  [[nodiscard]] Status writes(const std::string& path, OutputKind kind = OutputKind::stream);
  // Of an output, for who writes it.
  [[nodiscard]] OutputName named(const std::string& path) const { return {path, inputs_}; }

 private:
  std::shared_ptr<OutputName::Inputs> inputs_ = std::make_shared<OutputName::Inputs>();
  std::vector<std::pair<std::string, std::string>> written_;  // what it is, the name
};

// How a file is made that was not there.
struct NewFile {
  mode_t mode = 0666;  // less the umask
  // For who can open a file by a real name only (SQLite): it has one from the start.
  bool needs_name = false;
};

// An output that is open. Movable; without commit() a regular file is as if it had not been begun.
class Output {
 public:
  [[nodiscard]] static Result<Output> create(const OutputName& name,
                                             OutputKind kind = OutputKind::stream,
                                             const NewFile& file = {});
  // A file that has its name from the beginning, for a reader of what was never finished. It is
  // locked (flock) for as long as it grows, and stays without commit(). There must be none of that
  // name, but what is written through can be; a FIFO's reader is not waited for.
  [[nodiscard]] static Result<Output> create_growing(const OutputName& name);
  Output(Output&& other) noexcept;
  Output& operator=(Output&& other) noexcept;
  ~Output();

  [[nodiscard]] int fd() const { return fd_.get(); }
  // Where a regular file can be opened again before commit().
  [[nodiscard]] std::string open_path() const;
  // What the user calls it.
  [[nodiscard]] const std::string& name() const { return name_.path(); }
  [[nodiscard]] Status write(std::string_view bytes);
  // Puts a regular file on disk and gives it its name, after looking once more what has that name.
  [[nodiscard]] Status commit();
  // Removes what create_growing() has made: there is nothing in it to keep.
  void abandon();

 private:
  Output(OutputName name, std::string target)
      : name_(std::move(name)), target_(std::move(target)) {}
  [[nodiscard]] Status begin_file(const NewFile& file, OutputKind kind);
  [[nodiscard]] Status make_named();
  [[nodiscard]] Status link();
  [[nodiscard]] Status replace();
  [[nodiscard]] Error failed(int errnum) const;
  void remove_temporary();

  OutputName name_;
  std::string target_;     // behind symbolic links
  std::string temporary_;  // the name until commit(); empty: none
  Unfinished unfinished_;
  Fd fd_;
  OutputKind kind_ = OutputKind::stream;
  bool to_be_named_ = false;  // by commit()
  bool growing_ = false;      // made here under its own name
};

// A file without a name in that directory: gone with the descriptor, whatever ends the program.
// With `inherited`, programs that are started have it too (/proc/self/fd/N).
[[nodiscard]] Result<Fd> anonymous_file(const std::string& directory, bool inherited = false);

// Where temporary files go: $TMPDIR, or /tmp.
[[nodiscard]] std::string temporary_directory();

// The name behind symbolic links; there need not be a file yet. The Error: it cannot be written.
[[nodiscard]] Result<std::string> output_target(const OutputName& name);

// The directory that a file of that name is in.
[[nodiscard]] std::string directory_of(const std::string& path);

}  // namespace e4r
