# SPDX-License-Identifier: MIT
# What every folder's CMakeLists.txt uses: one warning set, one way to name a library, one way to find what the distribution ships.
find_package(PkgConfig REQUIRED)
foreach(lib hiredis libcurl libcrypto jansson libsodium libmicrohttpd libidn2)
  pkg_check_modules(${lib} REQUIRED IMPORTED_TARGET ${lib})
endforeach()
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)

# libjq has no pkg-config file in Debian 12.
find_library(JQ_LIBRARY jq REQUIRED)
find_path(JQ_INCLUDE_DIR jq.h REQUIRED)
add_library(jq INTERFACE)
target_link_libraries(jq INTERFACE ${JQ_LIBRARY})
target_include_directories(jq SYSTEM INTERFACE ${JQ_INCLUDE_DIR})

add_library(landfall_flags INTERFACE)
target_compile_definitions(landfall_flags INTERFACE _GNU_SOURCE LANDFALL_VERSION="${PROJECT_VERSION}")
target_include_directories(landfall_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(landfall_flags INTERFACE
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings
  -Wformat=2 -Wswitch-enum -Wvla -Wundef -Wpointer-arith -fno-common
  -fstack-protector-strong
  $<$<BOOL:${LANDFALL_WERROR}>:-Werror>)
if(LANDFALL_SANITIZE)
  target_compile_options(landfall_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(landfall_flags INTERFACE -fsanitize=address,undefined)
endif()

if(LANDFALL_FUZZ)
  target_compile_options(landfall_flags INTERFACE
    -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1)
  target_link_options(landfall_flags INTERFACE -fsanitize=address,undefined)
endif()

# landfall_library(NAME SOURCES a.c b.c USES target...): one static library of ours.
# Includes are written from the top of the tree ("keys/identity.h"), so that each line says which folder it reaches into.
function(landfall_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC landfall_flags ${arg_USES})
endfunction()

# landfall_program(NAME SOURCES a.c USES target...): one of the three programs.
function(landfall_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE landfall_flags ${arg_USES})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# landfall_manual(NAME SUMMARY): the manual page of a program, made from its --help, and installed. The built program is run
# for it, which a cross build cannot do: there it is left out.
function(landfall_manual name summary)
  if(CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(page ${CMAKE_BINARY_DIR}/man/${name}.1)
  add_custom_command(OUTPUT ${page}
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${name}> -DNAME=${name} "-DSUMMARY=${summary}" -DVERSION=${PROJECT_VERSION}
            -DTO=${page} -P ${CMAKE_SOURCE_DIR}/cmake/manual.cmake
    DEPENDS ${name} ${CMAKE_SOURCE_DIR}/cmake/manual.cmake VERBATIM)
  add_custom_target(${name}_manual ALL DEPENDS ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endfunction()

# landfall_unit_test(NAME SOURCES a.c USES target...): a cmocka program that ctest runs; DATA_DIR is the top of the tree.
# Who only builds need not have cmocka; tests/run installs it.
pkg_check_modules(cmocka IMPORTED_TARGET cmocka)
if(LANDFALL_TESTS AND NOT cmocka_FOUND)
  message(WARNING "cmocka is missing: no tests are built (deploy/install-packages --for test)")
  set(LANDFALL_TESTS OFF)
endif()
function(landfall_unit_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE landfall_flags ${arg_USES} PkgConfig::cmocka)
  target_compile_definitions(${name} PRIVATE TREE="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
endfunction()
