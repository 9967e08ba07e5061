// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/output.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "util/file.h"
#include "util/units.h"

namespace e4r {
namespace {

constexpr int kMostLinks = 40;  // the kernel's own limit

Error cannot_write(const std::string& name, int errnum) {
  return error("cannot write {}: {}", name, errno_text(errnum));
}

// The descriptor that the name refers to, such as N for /dev/fd/N.
std::optional<int> descriptor_named(std::string_view path) {
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view in : {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"}) {
    if (!path.starts_with(in)) continue;
    const auto number = parse_u64(path.substr(in.size()));
    if (number.ok() && *number <= INT_MAX) return static_cast<int>(*number);
  }
  return std::nullopt;
}

// The target of a symbolic link, relative to the link's own directory.
std::string link_target(const std::string& path) {
  std::array<char, PATH_MAX> text = {};
  const ssize_t n = ::readlink(path.c_str(), text.data(), text.size());
  if (n <= 0) return {};
  const std::string target(text.data(), static_cast<std::size_t>(n));
  return target.starts_with('/') ? target : directory_of(path) + "/" + target;
}

// Follows links itself instead of leaving that to the kernel, because a link's target need not
// exist, and because the temporary file must be in the target's directory. First asks the kernel
// whether it would follow the links (fs.protected_symlinks).
Result<OutputPlace> follow(const std::string& name) {
  OutputPlace place;
  place.target = name;
  struct stat behind = {};
  const bool there = ::stat(name.c_str(), &behind) == 0;
  if (!there && errno != ENOENT) return cannot_write(name, errno);
  for (int links = 0;; ++links) {
    if (const auto fd = descriptor_named(place.target)) {
      place.is = OutputPlace::Is::descriptor;
      place.descriptor = *fd;
      if (::fstat(*fd, &place.st) != 0) return cannot_write(name, errno);
      return place;
    }
    if (::lstat(place.target.c_str(), &place.st) != 0) {
      if (errno != ENOENT) return cannot_write(name, errno);
      if (there) break;  // only the kernel can follow this link: another process's descriptor
      place.is = OutputPlace::Is::absent;
      return place;
    }
    if (!S_ISLNK(place.st.st_mode)) break;
    if (links == kMostLinks) return cannot_write(name, ELOOP);
    place.target = link_target(place.target);
    if (place.target.empty()) return cannot_write(name, ENOENT);
  }
  if (!there) return cannot_write(name, EAGAIN);  // the file was created since stat()
  const bool found = file_id(place.st) == file_id(behind);
  place.st = behind;
  place.is = S_ISREG(behind.st_mode) ? OutputPlace::Is::regular : OutputPlace::Is::opened;
  if (found) return place;
  if (place.is == OutputPlace::Is::regular)
    return error("{}: is a link that leads to no file name: give the file's own name", name);
  place.target = name;
  return place;
}

std::string kind_of(mode_t mode) {
  if (S_ISBLK(mode)) return "a block device";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "not a regular file";
}

Status check_type(const std::string& name, const OutputPlace& place, OutputKind kind) {
  if (place.is == OutputPlace::Is::absent) return {};
  const mode_t mode = place.st.st_mode;
  const bool socket = S_ISSOCK(mode) && place.is != OutputPlace::Is::descriptor;
  if (S_ISDIR(mode)) return cannot_write(name, EISDIR);
  if (S_ISBLK(mode) || socket)
    return error("{}: is {}, which is not written to: give the name of a file", name,
                 kind_of(mode));
  if (kind != OutputKind::file || place.is == OutputPlace::Is::regular) return {};
  if (place.is == OutputPlace::Is::descriptor)
    return error("{}: this output needs a regular file: give the name of one", name);
  return error("{}: is {}, and this output needs a regular file: give the name of one", name,
               kind_of(mode));
}

Status check_identity(const OutputName& name, const OutputPlace& place) {
  const bool keeps_data = S_ISREG(place.st.st_mode) || S_ISFIFO(place.st.st_mode);
  if (place.is == OutputPlace::Is::absent || !keeps_data) return {};
  const FileId id = file_id(place.st);
  if (const OutputName::Input* input = name.find_input(id))
    return input->path == name.path()
               ? error("{}: is read by the same command: give another name to write to",
                       name.path())
               : error("{}: is {}, which the same command reads: give another name to write to",
                       name.path(), input->path);
  if (const auto loops = loop_devices_of(id); !loops.empty())
    return error("{}: is the backing file of /dev/{}: give another name to write to", name.path(),
                 loops.front());
  return {};
}

Status check_access(const std::string& name, const OutputPlace& place) {
  if (place.is == OutputPlace::Is::descriptor) {
    const int flags = ::fcntl(place.descriptor, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) return cannot_write(name, EBADF);
    return {};
  }
  if (place.is != OutputPlace::Is::absent && ::access(place.target.c_str(), W_OK) != 0)
    return cannot_write(name, errno);
  if (place.is == OutputPlace::Is::opened) return {};
  if (place.target.ends_with('/')) return cannot_write(name, EISDIR);
  const std::string directory = directory_of(place.target);
  struct stat st = {};
  if (::stat(directory.c_str(), &st) != 0) return cannot_write(name, errno);
  if (!S_ISDIR(st.st_mode)) return cannot_write(name, ENOTDIR);
  if (::access(directory.c_str(), W_OK | X_OK) != 0) return cannot_write(name, errno);
  return {};
}

}  // namespace

std::string OutputPlace::identity() const {
  if (is == Is::absent) {
    const auto directory = file_id(directory_of(target));
    return fmt::format("{}:{}/{}", directory ? directory->device : 0,
                       directory ? directory->inode : 0,
                       target.substr(target.find_last_of('/') + 1));
  }
  return fmt::format("{}:{}", st.st_dev, st.st_ino);
}

Result<OutputPlace> find_place(const OutputName& name, OutputKind kind) {
  E4R_TRY(OutputPlace place, follow(name.path()));
  E4R_CHECK(check_type(name.path(), place, kind));
  E4R_CHECK(check_identity(name, place));
  E4R_CHECK(check_access(name.path(), place));
  return place;
}

std::string directory_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

const OutputName::Input* OutputName::find_input(const FileId& id) const {
  if (inputs_ == nullptr) return nullptr;
  const auto found = std::ranges::find(*inputs_, id, &Input::id);
  return found == inputs_->end() ? nullptr : &*found;
}

namespace {

enum class State : int { free, changing, used };

struct Slot {
  std::atomic<State> state{State::free};
  std::array<char, PATH_MAX> path = {};
};
static_assert(std::atomic<State>::is_always_lock_free, "read in a signal handler");

std::array<Slot, 64> slots;

}  // namespace

Unfinished::Unfinished(const std::string& path) {
  if (path.size() >= PATH_MAX) return;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    State expected = State::free;
    if (!slots[i].state.compare_exchange_strong(expected, State::changing)) continue;
    std::memcpy(slots[i].path.data(), path.c_str(), path.size() + 1);
    slots[i].state = State::used;
    slot_ = i + 1;
    return;
  }
}

Unfinished::Unfinished(Unfinished&& other) noexcept : slot_(std::exchange(other.slot_, 0)) {}

Unfinished& Unfinished::operator=(Unfinished&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

void Unfinished::forget() {
  if (slot_ != 0) slots[slot_ - 1].state = State::free;
  slot_ = 0;
}

void remove_unfinished() noexcept {
  for (const Slot& slot : slots)
    if (slot.state == State::used) ::unlink(slot.path.data());
}

namespace {

using Is = OutputPlace::Is;

mode_t current_umask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

// Opens a new file such as "OUT.Xy12Ab" for writing, and stores that name in `name`.
Fd make_temporary(std::string& name) {
  name += ".XXXXXX";
  return Fd(::mkostemp(name.data(), O_CLOEXEC));
}

// Whether the error means that the file system or the kernel cannot make nameless files.
bool lacks_anonymous_files(int errnum) {
  return errnum == EOPNOTSUPP || errnum == EISDIR || errnum == ENOENT || errnum == EINVAL;
}

// Passes O_CREAT although the file exists: this makes the kernel refuse files that others have put
// into a shared directory (fs.protected_fifos). `more` holds additional flags, such as O_NONBLOCK
// to avoid waiting for a FIFO's reader.
Result<Fd> open_through(const OutputName& name, const OutputPlace& place, int more = 0) {
  if (place.is == Is::descriptor) {
    std::fflush(stdout);
    Fd fd(::fcntl(place.descriptor, F_DUPFD_CLOEXEC, 0));
    if (!fd.is_open()) return error("cannot write {}: {}", name.path(), errno_text(errno));
    return fd;
  }
  Fd fd(::open(place.target.c_str(), O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC | more, 0600));
  if (!fd.is_open() && errno == ENXIO && more != 0)
    return error("{}: has no reader: start its reader first", name.path());
  struct stat st = {};
  if (!fd.is_open() || ::fstat(fd.get(), &st) != 0)
    return error("cannot write {}: {}", name.path(), errno_text(errno));
  if ((st.st_mode & S_IFMT) != (place.st.st_mode & S_IFMT) || st.st_rdev != place.st.st_rdev)
    return error("{}: has become another file meanwhile: nothing was written", name.path());
  return fd;
}

}  // namespace

void Outputs::reads(const std::string& path) {
  if (path.empty()) return;
  struct stat st = {};
  if (path == "-" ? ::fstat(STDIN_FILENO, &st) != 0 : ::stat(path.c_str(), &st) != 0) return;
  inputs_->push_back({path == "-" ? "standard input" : path, file_id(st)});
}

Status Outputs::writes(const std::string& path, OutputKind kind) {
  if (path.empty()) return {};
  E4R_TRY(const OutputPlace place, find_place(name_of(path), kind));
  // An output that accepts everything, such as /dev/null, may be given more than once.
  if (place.is == Is::opened && S_ISCHR(place.st.st_mode)) return {};
  const std::string identity = place.identity();
  const auto other =
      std::ranges::find(written_, identity, &std::pair<std::string, std::string>::first);
  if (other != written_.end())
    return error("{} and {} are the same file: give each output a name of its own", other->second,
                 path);
  written_.emplace_back(identity, path);
  return {};
}

Result<Output> Output::create(const OutputName& name, OutputKind kind, const NewFile& file) {
  E4R_TRY(const OutputPlace place, find_place(name, kind));
  Output out(name, place.target);
  if (place.written_through()) {
    E4R_TRY(out.fd_, open_through(name, place));
    return out;
  }
  E4R_CHECK(out.begin_file(file, kind));
  if (place.is == Is::regular) {
    // A failure is ignored: some file systems have no owners, and only root may change an owner.
    if (::fchown(out.fd(), place.st.st_uid, place.st.st_gid) != 0) errno = 0;
    ::fchmod(out.fd(), place.st.st_mode & 0777);
  }
  return out;
}

Result<Output> Output::create_growing(const OutputName& name) {
  E4R_TRY(const OutputPlace place, find_place(name, OutputKind::stream));
  Output out(name, place.target);
  if (place.written_through()) {
    E4R_TRY(out.fd_, open_through(name, place, O_NONBLOCK));
    if (place.is == Is::opened) ::fcntl(out.fd(), F_SETFL, O_WRONLY);
    return out;
  }
  out.fd_ = Fd(::open(place.target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!out.fd_.is_open() && errno == EEXIST)
    return error("{}: exists already: remove it, or give another name with -o", name.path());
  if (!out.fd_.is_open()) return out.fail(errno);
  // A failure is ignored: if the file system has no locks, readers take the unfinished file for a
  // truncated one.
  (void)::flock(out.fd(), LOCK_EX | LOCK_NB);
  out.growing_ = true;
  return out;
}

Output::Output(Output&& other) noexcept
    : name_(std::move(other.name_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      unfinished_(std::move(other.unfinished_)),
      fd_(std::move(other.fd_)),
      kind_(other.kind_),
      to_be_named_(other.to_be_named_),
      growing_(other.growing_) {}

Output& Output::operator=(Output&& other) noexcept {
  if (this == &other) return *this;
  remove_temporary();
  name_ = std::move(other.name_);
  target_ = std::move(other.target_);
  temporary_ = std::exchange(other.temporary_, {});
  unfinished_ = std::move(other.unfinished_);
  fd_ = std::move(other.fd_);
  kind_ = other.kind_;
  to_be_named_ = other.to_be_named_;
  growing_ = other.growing_;
  return *this;
}

Output::~Output() {
  remove_temporary();
}

void Output::remove_temporary() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
  unfinished_.forget();
}

Error Output::fail(int errnum) const {
  return error("cannot write {}: {}", name(), errno_text(errnum));
}

Status Output::begin_file(const NewFile& file, OutputKind kind) {
  kind_ = kind;
  to_be_named_ = true;
  if (!file.needs_name) {
    fd_ = Fd(::open(directory_of(target_).c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, file.mode));
    if (!fd_.is_open() && !lacks_anonymous_files(errno)) return fail(errno);
    // commit() names the file through /proc, which may be missing in a chroot.
    if (fd_.is_open() && ::access(fd_.path().c_str(), F_OK) == 0) return {};
  }
  temporary_ = target_;
  fd_ = make_temporary(temporary_);
  if (!fd_.is_open()) {
    temporary_.clear();
    return fail(errno);
  }
  unfinished_ = Unfinished(temporary_);
  ::fchmod(fd_.get(), file.mode & ~current_umask());  // mkostemp() creates files with mode 0600
  return {};
}

std::string Output::open_path() const {
  return temporary_.empty() ? fd_.path() : temporary_;
}

Status Output::write(std::string_view bytes) {
  const int done = write_all(fd_.get(), bytes);
  return done == 0 ? Status() : Status(fail(done));
}

// Gives the nameless file a unique name.
Status Output::make_named() {
  for (unsigned attempt = 0; temporary_.empty(); ++attempt) {
    const std::string name = fmt::format("{}.{}-{}", target_, ::getpid(), attempt);
    unfinished_ = Unfinished(name);
    if (::linkat(AT_FDCWD, fd_.path().c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
      temporary_ = name;
    else if (errno != EEXIST || attempt > 1000)
      return fail(errno);
  }
  return {};
}

Status Output::replace() {
  E4R_CHECK(make_named());
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return fail(errno);
  temporary_.clear();
  unfinished_.forget();
  return {};
}

Status Output::link() {
  for (;;) {
    E4R_TRY(const OutputPlace place, find_place(name_, kind_));
    if (place.written_through() || place.target != target_)
      return error("{}: has become another file meanwhile: nothing was written", name());
    if (place.is == Is::regular || !temporary_.empty()) return replace();
    if (::linkat(AT_FDCWD, fd_.path().c_str(), AT_FDCWD, target_.c_str(), AT_SYMLINK_FOLLOW) == 0)
      return {};
    if (errno != EEXIST) return fail(errno);  // EEXIST: try the next name
  }
}

Status Output::commit() {
  // EINVAL: fsync() does not apply to a pipe or a socket.
  if (::fsync(fd_.get()) != 0 && errno != EINVAL) return fail(errno);
  return commit_unsynced();
}

Status Output::commit_unsynced() {
  if (to_be_named_) E4R_CHECK(link());
  to_be_named_ = false;
  const int closed = fd_.close();
  return closed == 0 ? Status() : Status(fail(closed));
}

void Output::abandon() {
  if (std::exchange(growing_, false)) ::unlink(target_.c_str());
}

Result<std::string> output_target(const OutputName& name) {
  E4R_TRY(OutputPlace place, find_place(name, OutputKind::stream));
  return std::move(place.target);
}

Result<Fd> anonymous_file(const std::string& directory, bool inherited) {
  const int flags = inherited ? 0 : O_CLOEXEC;
  Fd fd(::open(directory.c_str(), O_RDWR | O_TMPFILE | O_EXCL | flags, 0600));
  if (!fd.is_open() && lacks_anonymous_files(errno)) {
    std::string name = directory + "/e4replay";
    fd = make_temporary(name);
    if (fd.is_open()) ::unlink(name.c_str());
    if (fd.is_open() && inherited) ::fcntl(fd.get(), F_SETFD, 0);
  }
  if (!fd.is_open()) return error("{}: cannot make a file in it: {}", directory, errno_text(errno));
  return fd;
}

std::string temporary_directory() {
  const char* const chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

}  // namespace e4r
