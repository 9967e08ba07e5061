# SPDX-License-Identifier: GPL-2.0-or-later
# cmake -DSOURCE=DIR -DOUTPUT=FILE [-DCOMMIT=TEXT] -P commit.cmake: writes a header with the commit
# checked out in DIR, followed by -dirty if files have been changed. The commit is empty if DIR is
# not a checkout. TEXT, if given, replaces it. The header is rewritten only if its content changes.
if(NOT DEFINED COMMIT)
  set(COMMIT "")
  # Without this check, git could find another project's checkout that contains the unpacked
  # tarball.
  if(EXISTS ${SOURCE}/.git)
    execute_process(
      COMMAND git --no-optional-locks -C ${SOURCE} describe --always --dirty --exclude *
      OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define E4R_COMMIT \"${COMMIT}\"\n")
