# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the completion scripts, which the programs print, in the directories where the shells
# look for them.
set(E4R_ZSH_COMPLETIONS ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
    CACHE STRING "where zsh's completions are installed (Debian: share/zsh/vendor-completions)")
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(STATUS "the programs cannot run here: no completions are made")
  return()
endif()

# e4r_completion(PROGRAM SHELL NAME DIRECTORY): installs PROGRAM's script for SHELL as
# DIRECTORY/NAME.
function(e4r_completion program shell name directory)
  set(file ${PROJECT_BINARY_DIR}/completion/${shell}/${name})
  add_custom_command(OUTPUT ${file}
    COMMAND ${program} --completion ${shell} > ${file}
    DEPENDS ${program} VERBATIM)
  set_property(GLOBAL APPEND PROPERTY e4r_completions ${file})
  install(FILES ${file} DESTINATION ${directory})
endfunction()

foreach(shell bash zsh fish)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/completion/${shell})
endforeach()
foreach(program e4replay mke2fs-lazy tune2fs-lazy)
  e4r_completion(${program} bash ${program} ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  e4r_completion(${program} zsh _${program} ${E4R_ZSH_COMPLETIONS})
  e4r_completion(${program} fish ${program}.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endforeach()
get_property(completions GLOBAL PROPERTY e4r_completions)
add_custom_target(e4r_completions ALL DEPENDS ${completions})
