// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/kernel_log.h"

#include "common/command.h"
#include "guest/guest.h"
#include "util/file.h"

namespace e4r::tools {

void declare_kernel_log(CommandLine& app, std::string& file) {
  app.add_option("--kernel-log", file,
                 "write what kernel:FILE printed, with warnings and backtraces")
      .type_name("FILE");
}

Result<int> with_kernel_log(const std::string& file, const std::function<Result<int>()>& run) {
  if (file.empty()) return run();
  guest::keep_consoles();
  Result<int> done = run();
  const std::string consoles = guest::kept_consoles();
  if (!consoles.empty()) {
    const Status written = write_output(consoles, file);
    if (!written.ok() && !done.ok())
      warn(written.error().message);
    else
      E4R_CHECK(written);
  } else if (done.ok()) {
    warn("--kernel-log: no kernel was started, so " + file + " was not written");
  }
  return done;
}

}  // namespace e4r::tools
