// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/merge.h"
#include "util/shell.h"

namespace e4r::sweep {
namespace {

// Job `$job` of all has the points $first to $last; shares differ by one at most.
std::string arithmetic(const Jobs& jobs) {
  return fmt::format("first=$(((job - 1) * {0} / {1} + 1))\nlast=$((job * {0} / {1}))\n",
                     jobs.points, jobs.jobs);
}

std::string heading(const Jobs& jobs, std::string_view how) {
  return fmt::format("# {} points of a sweep in {} jobs: {}\n", jobs.points, jobs.jobs, how);
}

std::string merge_command(const Jobs& jobs) {
  return fmt::format("\"${{E4REPLAY:-e4replay}}\" sweep --merge {}/part-* --best {} -o {}",
                     shell_quoted(jobs.directory), shell_quoted(jobs.best),
                     shell_quoted(jobs.directory + "/all"));
}

std::string run_part(const Jobs& jobs, std::string_view threads) {
  return fmt::format(
      "\"${{E4REPLAY:-e4replay}}\" {} --threads {} \\\n    --points \"$first-$last\" -o {}/part-"
      "\"$job\" --resume\n",
      jobs.command, threads, shell_quoted(jobs.directory));
}

}  // namespace

std::string slurm_script(const Jobs& jobs) {
  return "#!/bin/sh\n" +
         fmt::format("#SBATCH --job-name=e4replay-sweep\n#SBATCH --array=1-{}\n", jobs.jobs) +
         heading(jobs, "give this to sbatch; a job that is run again goes on.") +
         "# When all have ended: " + merge_command(jobs) + "\n" +
         "set -eu\njob=$SLURM_ARRAY_TASK_ID\n" + arithmetic(jobs) +
         fmt::format("mkdir -p {}\nexec ", shell_quoted(jobs.directory)) +
         run_part(jobs, "\"${SLURM_CPUS_PER_TASK:-1}\"");
}

std::string parallel_script(const Jobs& jobs) {
  return "#!/bin/sh\n" +
         heading(jobs, "runs them with GNU parallel and joins the parts; run again, it goes on.") +
         "set -eu\n" +
         fmt::format("if [ $# -eq 0 ]; then\n    mkdir -p {0}\n    seq {1} | parallel sh \"$0\"\n",
                     shell_quoted(jobs.directory), jobs.jobs) +
         "    exec " + merge_command(jobs) + "\nfi\njob=$1\n" + arithmetic(jobs) + "exec " +
         run_part(jobs, "1");
}

}  // namespace e4r::sweep
