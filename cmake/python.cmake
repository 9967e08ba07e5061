# SPDX-License-Identifier: GPL-2.0-or-later
# Finds the interpreter and the directory for the Python package (python/). Prefers the system's
# interpreter, because it has the distribution's packages. The directory is relative to the prefix.
# On Debian, all versions of Python share one directory under /usr.
function(e4r_python_directory out)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c "import sys, sysconfig
debian = 'deb_system' in sysconfig.get_scheme_names()
if debian and sys.argv[1] == '/usr':
    print('lib/python3/dist-packages')
elif debian:
    print('lib/python%d.%d/dist-packages' % sys.version_info[:2])
else:
    print(sysconfig.get_path('platlib', vars={'base': '.', 'platbase': '.'}).removeprefix('./'))"
      ${CMAKE_INSTALL_PREFIX}
    OUTPUT_VARIABLE directory OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${out} ${directory} PARENT_SCOPE)
endfunction()

if(E4R_SANITIZE AND E4R_PYTHON STREQUAL ON)
  message(FATAL_ERROR "E4R_PYTHON: an interpreter without sanitizers cannot load what E4R_SANITIZE makes")
elseif(NOT E4R_SANITIZE)
  if(NOT E4R_PYTHON STREQUAL OFF)
    if(NOT Python3_EXECUTABLE AND EXISTS /usr/bin/python3)
      set(Python3_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "the interpreter of the Python package")
    endif()
    find_package(Python3 3.9 QUIET COMPONENTS Interpreter Development.Module)
    if(Python3_FOUND)
      find_package(pybind11 2.10 CONFIG QUIET)
    endif()
  endif()
  e4r_optional(PYTHON "the Python package" "python3-dev, pybind11-dev" Python3_FOUND AND pybind11_FOUND)
  if(E4R_HAVE_PYTHON AND NOT E4R_PYTHON_DIR)
    e4r_python_directory(directory)
    set(E4R_PYTHON_DIR ${directory} CACHE STRING "where the Python package goes, below the prefix" FORCE)
  endif()
endif()
