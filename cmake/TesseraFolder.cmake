# tessera_folder(NAME [COLD] SOURCES ... [COLD_SOURCES ...] [PUBLIC header ...] [TESTS ...]
#                [TEST_SUPPORT ...] [DEPENDS folder ...] [PRIVATE_DEPENDS folder ...] [TEST_DEPENDS target ...]
#                [LIBRARIES target ...] [PRIVATE_LIBRARIES target ...])
#
# Declares the library tessera::NAME of src/tessera/NAME, and one test binary for its *_test.cc.
#   COLD               no loop of NAME is hot: it is optimised less and compiles faster
#   COLD_SOURCES       the same for single sources of a folder that is hot
#   PUBLIC             headers of include/tessera that NAME implements
#   TEST_SUPPORT       sources that only tests use (conformance libraries, toys): tessera::NAME_testing
#   DEPENDS            folders of TESSERA_FOLDERS before NAME that NAME's headers include
#   PRIVATE_DEPENDS    folders that only NAME's sources include
#   TEST_DEPENDS       targets that only NAME's tests need, such as tessera::space_testing
#   LIBRARIES          third-party targets that NAME's headers include
#   PRIVATE_LIBRARIES  third-party targets that only NAME's sources include
#
# Each folder's headers are reached through an include directory of its own, a link in the build
# tree, so that a folder that is not named is not on the include path. What comes with the headers of
# a named one is: scripts/check-tree, part of `make test`, refuses to include it unnamed.
function(tessera_folder name)
  cmake_parse_arguments(ARG "COLD" "" "SOURCES;COLD_SOURCES;PUBLIC;TESTS;TEST_SUPPORT;DEPENDS;PRIVATE_DEPENDS;\
TEST_DEPENDS;LIBRARIES;PRIVATE_LIBRARIES" ${ARGN})
  tessera_check_order(${name} ${ARG_DEPENDS} ${ARG_PRIVATE_DEPENDS})
  list(TRANSFORM ARG_DEPENDS PREPEND tessera::)
  list(TRANSFORM ARG_PRIVATE_DEPENDS PREPEND tessera::)

  set(view ${PROJECT_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${view}/tessera)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/tessera/${name} ${view}/tessera/${name} SYMBOLIC)

  foreach(header IN LISTS ARG_PUBLIC)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/tessera/${header} ${view}/tessera/${header} SYMBOLIC)
  endforeach()

  add_library(tessera_${name} STATIC ${ARG_SOURCES})
  add_library(tessera::${name} ALIAS tessera_${name})
  set_target_properties(tessera_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(tessera_${name} PUBLIC $<BUILD_INTERFACE:${view}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(tessera_${name} PUBLIC cxx_std_20)
  target_link_libraries(tessera_${name} PUBLIC ${ARG_DEPENDS} ${ARG_LIBRARIES}
                        PRIVATE ${ARG_PRIVATE_DEPENDS} ${ARG_PRIVATE_LIBRARIES})
  if(ARG_COLD)
    tessera_compile_cold(tessera_${name} "${ARG_LIBRARIES};${ARG_PRIVATE_LIBRARIES}")
  else()
    target_compile_options(tessera_${name} PRIVATE ${TESSERA_WARNINGS})
    target_precompile_headers(tessera_${name} REUSE_FROM tessera_precompiled)
  endif()
  if(ARG_COLD_SOURCES)
    # Options and precompiled headers belong to a target, so these sources are one of their own.
    add_library(tessera_${name}_cold OBJECT ${ARG_COLD_SOURCES})
    target_include_directories(tessera_${name}_cold PRIVATE ${view})
    target_link_libraries(tessera_${name}_cold PRIVATE ${ARG_DEPENDS} ${ARG_LIBRARIES}
                          ${ARG_PRIVATE_DEPENDS} ${ARG_PRIVATE_LIBRARIES})
    tessera_compile_cold(tessera_${name}_cold "${ARG_LIBRARIES};${ARG_PRIVATE_LIBRARIES}")
    target_sources(tessera_${name} PRIVATE $<TARGET_OBJECTS:tessera_${name}_cold>)
    tessera_unite(tessera_${name}_cold)
  endif()
  tessera_unite(tessera_${name})
  set_property(GLOBAL APPEND PROPERTY TESSERA_LIBRARIES tessera_${name})

  set(own tessera::${name})
  if(TESSERA_TESTS AND ARG_TEST_SUPPORT)
    add_library(tessera_${name}_testing STATIC EXCLUDE_FROM_ALL ${ARG_TEST_SUPPORT})
    add_library(tessera::${name}_testing ALIAS tessera_${name}_testing)
    target_link_libraries(tessera_${name}_testing PUBLIC tessera::${name}
                          PRIVATE ${ARG_PRIVATE_DEPENDS} ${ARG_PRIVATE_LIBRARIES})
    tessera_compile_cold(tessera_${name}_testing "")
    tessera_unite(tessera_${name}_testing)
    list(APPEND own tessera::${name}_testing)
  endif()
  if(TESSERA_TESTS AND ARG_TESTS)
    tessera_test(tessera_${name}_test SOURCES ${ARG_TESTS}
                 LIBRARIES ${own} ${ARG_PRIVATE_DEPENDS} ${ARG_TEST_DEPENDS} ${ARG_PRIVATE_LIBRARIES})
  endif()
endfunction()

# Compiles the target's sources in the units that scripts/unity wrote, if make asked it to.
include(${PROJECT_BINARY_DIR}/unity.cmake OPTIONAL RESULT_VARIABLE TESSERA_UNITY)
if(TESSERA_UNITY)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TESSERA_UNITY})
endif()
function(tessera_unite target)
  if(NOT TESSERA_UNITS_${target})
    return()
  endif()
  set_property(SOURCE ${TESSERA_UNITED_${target}} PROPERTY HEADER_FILE_ONLY ON)
  target_sources(${target} PRIVATE ${TESSERA_UNITS_${target}})
  # A class of a header may have members of a local type of its source, which g++ takes for a header now.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# Stops the configuration where folder NAME depends on one that does not come before it.
function(tessera_check_order name)
  list(FIND TESSERA_FOLDERS ${name} own_rank)
  if(own_rank LESS 0)
    message(FATAL_ERROR "folder '${name}' is not in TESSERA_FOLDERS")
  endif()
  foreach(dependency IN LISTS ARGN)
    list(FIND TESSERA_FOLDERS ${dependency} rank)
    if(rank LESS 0 OR NOT rank LESS own_rank)
      message(FATAL_ERROR "folder '${name}' may not depend on '${dependency}': "
                          "TESSERA_FOLDERS lists it later, or not at all")
    endif()
  endforeach()
endfunction()

# Code that runs once per command or per file: most of its price is compiling it. Of all levels -Og takes
# the least: -O1 a quarter more, and -O0 a fifth, because it has to write out what others inline.
set(TESSERA_COLD $<$<CONFIG:Release>:-Og> $<$<CONFIG:Sanitized>:-O0>)
function(tessera_compile_cold target libraries)
  target_compile_options(${target} PRIVATE ${TESSERA_WARNINGS} ${TESSERA_COLD})
  if("nlohmann_json::nlohmann_json" IN_LIST libraries)
    target_precompile_headers(${target} REUSE_FROM tessera_precompiled_json)
  else()
    target_precompile_headers(${target} REUSE_FROM tessera_precompiled_cold)
  endif()
endfunction()

# tessera_test(NAME SOURCES ... LIBRARIES ...): a GoogleTest binary whose cases ctest runs one by one. Its
# sources are cold: at -Og they compile as fast as at -O0, and slow twins of what is tested run as fast as
# at -O1.
function(tessera_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${TESSERA_WARNINGS} ${TESSERA_COLD})
  tessera_unite(${name})
  # Those of tests/ all read golden data, and a unit may hold anything. Otherwise only sources that mention
  # a path get it: with a path on its command line, an object in ccache serves no other checkout.
  set(paths TESSERA_SOURCE_DIR="${PROJECT_SOURCE_DIR}" TESSERA_BINARY="${PROJECT_BINARY_DIR}/tessera")
  if(TESSERA_UNITY OR CMAKE_CURRENT_SOURCE_DIR STREQUAL "${PROJECT_SOURCE_DIR}/tests")
    target_compile_definitions(${name} PRIVATE ${paths})
  else()
    foreach(source IN LISTS ARG_SOURCES)
      file(STRINGS ${source} mentions REGEX "TESSERA_(SOURCE_DIR|BINARY)")
      if(mentions)
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS ${paths})
      endif()
    endforeach()
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} fmt::fmt GTest::gtest GTest::gtest_main)
  if("nlohmann_json::nlohmann_json" IN_LIST ARG_LIBRARIES)
    target_precompile_headers(${name} REUSE_FROM tessera_precompiled_test_json)
  else()
    target_precompile_headers(${name} REUSE_FROM tessera_precompiled_test)
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 600 LABELS ${name})
endfunction()

set(TESSERA_WARNINGS -Wall -Wextra -Wconversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of g++ 12 at -O2 and above: std::variant's destructor (GCC bug 105562), and
  # concatenation of std::string (GCC bugs 105651, 105329). clang checks the same code without them.
  list(APPEND TESSERA_WARNINGS -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow
       -Wno-array-bounds)
endif()

# Half of a source's compilation would be reading the same headers again. They are compiled once for
# every set of options, because g++ takes a precompiled header only under the options it was made with.
function(tessera_precompile name)
  cmake_parse_arguments(ARG "PROGRAM" "" "HEADERS;OPTIONS;LIBRARIES" ${ARGN})
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cc CONTENT "int main() {}\n")
  if(ARG_PROGRAM)  # -fPIE instead of -fPIC
    add_executable(${name} EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/${name}.cc)
  else()
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/${name}.cc)
  endif()
  target_compile_options(${name} PRIVATE ${TESSERA_WARNINGS} ${ARG_OPTIONS})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  # g++ never writes the same bytes twice, so ccache is told what a precompiled header holds: then an object
  # serves every checkout. (The compiler and its options are among what ccache looks at anyway.)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.gch.sum
       CONTENT "${name} ${ARG_HEADERS} ${CMAKE_CXX_COMPILER_VERSION} \
${fmt_VERSION} ${nlohmann_json_VERSION} ${GTest_VERSION}\n")
endfunction()

set(standard_headers <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <limits> <map> <memory>
    <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
tessera_precompile(tessera_precompiled HEADERS ${standard_headers} LIBRARIES fmt::fmt)
# JSON is apart: what it adds to every source is more than a small source takes.
tessera_precompile(tessera_precompiled_cold HEADERS ${standard_headers}
                   OPTIONS ${TESSERA_COLD} LIBRARIES fmt::fmt)
tessera_precompile(tessera_precompiled_json HEADERS ${standard_headers} <nlohmann/json.hpp>
                   OPTIONS ${TESSERA_COLD} LIBRARIES fmt::fmt nlohmann_json::nlohmann_json)
if(TESSERA_TESTS)
  tessera_precompile(tessera_precompiled_test PROGRAM HEADERS ${standard_headers} <gtest/gtest.h>
                     OPTIONS ${TESSERA_COLD} LIBRARIES fmt::fmt GTest::gtest)
  tessera_precompile(tessera_precompiled_test_json PROGRAM
                     HEADERS ${standard_headers} <gtest/gtest.h> <nlohmann/json.hpp>
                     OPTIONS ${TESSERA_COLD}
                     LIBRARIES fmt::fmt GTest::gtest nlohmann_json::nlohmann_json)
endif()
