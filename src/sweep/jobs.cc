// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/merge.h"
#include "util/shell.h"

namespace e4r::sweep {
namespace {

// Assigns the points $first to $last to job `$job`. The shares differ by at most one point.
std::string arithmetic(const Jobs& jobs) {
  return fmt::format("first=$(((job - 1) * {0} / {1} + 1))\nlast=$((job * {0} / {1}))\n",
                     jobs.points, jobs.jobs);
}

std::string heading(const Jobs& jobs, std::string_view how) {
  return fmt::format("# {} points of a sweep in {} jobs: {}\n", jobs.points, jobs.jobs, how);
}

std::string merge_command(const Jobs& jobs) {
  return fmt::format("\"${{E4REPLAY:-e4replay}}\" sweep --merge {}/part-* --best {} -o {} --resume",
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

// When a node fails, Slurm requeues a job only if JobRequeue of the cluster or the job itself says
// so. Slurm opens --output before the job runs, and fails the job if the directory is missing, so
// the job opens its own log.
std::string slurm_script(const Jobs& jobs) {
  return "#!/bin/sh\n#SBATCH --job-name=e4replay-sweep\n" +
         fmt::format("#SBATCH --array=1-{}\n", jobs.jobs) +
         "#SBATCH --requeue\n#SBATCH --output=/dev/null\n" +
         heading(jobs, "give this to sbatch; a job that is run again goes on.") +
         "# What a job says is in log-N beside its part-N. When all have ended, sh with this file\n"
         "# joins the parts, or says what is missing.\nset -eu\n" +
         fmt::format("if [ -z \"${{SLURM_ARRAY_TASK_ID:-}}\" ]; then\n    exec {}\nfi\n",
                     merge_command(jobs)) +
         "job=$SLURM_ARRAY_TASK_ID\n" + arithmetic(jobs) +
         fmt::format("mkdir -p {0}\nexec >>{0}/log-\"$job\" 2>&1\nexec ",
                     shell_quoted(jobs.directory)) +
         run_part(jobs, "\"${SLURM_CPUS_PER_TASK:-1}\"");
}

// -q: parallel passes words to a shell, and the script's name may contain blanks.
std::string parallel_script(const Jobs& jobs) {
  return "#!/bin/sh\n" +
         heading(jobs, "runs them with GNU parallel and joins the parts; run again, it goes on.") +
         "set -eu\n" +
         fmt::format(
             "if [ $# -eq 0 ]; then\n    mkdir -p {0}\n    seq {1} | parallel -q sh \"$0\"\n",
             shell_quoted(jobs.directory), jobs.jobs) +
         "    exec " + merge_command(jobs) + "\nfi\njob=$1\n" + arithmetic(jobs) + "exec " +
         run_part(jobs, "1");
}

}  // namespace e4r::sweep
