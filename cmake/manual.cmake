# SPDX-License-Identifier: MIT
# A manual page from what a program says of itself: its --help as it stands, between a heading and a list of the others.
# Called with PROGRAM (path), NAME, SUMMARY (one line), VERSION, TO (file).
cmake_minimum_required(VERSION 3.25)

set(ENV{ASAN_OPTIONS} detect_leaks=0)
execute_process(COMMAND ${PROGRAM} --help OUTPUT_VARIABLE help RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --help ended with ${code}")
endif()
# What roff would take for its own: a backslash, a hyphen that is to stay one, a dot or an apostrophe at the start of a line.
string(REPLACE "\\" "\\e" help "${help}")
string(REPLACE "-" "\\-" help "${help}")
string(REGEX REPLACE "\n([.'])" "\n\\\\&\\1" help "${help}")
string(REPLACE "-" "\\-" name "${NAME}")
string(TOUPPER "${name}" title)
set(others "")
foreach(other landfall landfall-worker landfall-reconciler)
  if(NOT other STREQUAL NAME)
    string(REPLACE "-" "\\-" other "${other}")
    string(APPEND others ".BR ${other} (1)\n")
  endif()
endforeach()
file(WRITE ${TO}
  ".TH ${title} 1 \"\" \"landfall ${VERSION}\" \"User Commands\"\n.SH NAME\n${name} \\- ${SUMMARY}\n"
  ".SH DESCRIPTION\n.nf\n${help}.fi\n.SH SEE ALSO\n${others}")
