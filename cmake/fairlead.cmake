# fairlead_library(NAME base HDRS ... SRCS ... DEPS ... LIBS ... TESTS ... FUZZ ... BENCHES ... DATA)
#
# One folder under src/ is one static library. DEPS are other folders (tools/tidy compares them with
# the #includes and the layer list), LIBS are third-party targets. TESTS become one <NAME>_test
# program; each FUZZ file becomes a program that replays testdata/<file name without .cc>/ as a test
# (with FAIRLEAD_FUZZ a libFuzzer target, in build/fuzz/); BENCHES become one <NAME>_bench program.
# What only measures is built by the target `benches`, not with the tests.
find_package(GTest REQUIRED)
find_package(benchmark QUIET)
find_package(fmt REQUIRED)
find_package(Threads REQUIRED)
add_custom_target(benches)

# What most files include is compiled once, for the libraries and for the tests. Nothing may rely on
# it: `make tidy` reads each changed file of the libraries without it.
set(precompiled <algorithm> <chrono> <coroutine> <cstdint> <functional> <map> <memory> <optional>
    <span> <string> <string_view> <unordered_map> <variant> <vector> <fmt/format.h>)
set(empty ${CMAKE_BINARY_DIR}/precompiled.cc)
file(CONFIGURE OUTPUT ${empty} CONTENT "")
add_library(fairlead_precompiled OBJECT ${empty})
target_link_libraries(fairlead_precompiled PRIVATE fmt::fmt)
target_precompile_headers(fairlead_precompiled PRIVATE ${precompiled})
add_library(fairlead_test_precompiled OBJECT ${empty})
target_link_libraries(fairlead_test_precompiled PRIVATE fmt::fmt GTest::gtest GTest::gmock)
target_compile_options(fairlead_test_precompiled PRIVATE -O0)
target_precompile_headers(fairlead_test_precompiled PRIVATE
  ${precompiled} <sstream> <gmock/gmock.h> <gtest/gtest.h>)

# A program of tests. Their own code is not worth optimizing: it costs more to compile than to run.
function(fairlead_test NAME PROGRAM)
  target_link_libraries(${PROGRAM} PRIVATE GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_options(${PROGRAM} PRIVATE -O0)
  target_precompile_headers(${PROGRAM} REUSE_FROM fairlead_test_precompiled)
  add_test(NAME ${NAME} COMMAND ${PROGRAM})
endfunction()

function(fairlead_library)
  cmake_parse_arguments(A "" "NAME" "HDRS;SRCS;DEPS;LIBS;TESTS;TEST_DEPS;FUZZ;BENCHES" ${ARGN})
  if(A_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fairlead_library(${A_NAME}): unknown ${A_UNPARSED_ARGUMENTS}")
  endif()
  set(deps ${A_DEPS})
  list(TRANSFORM deps PREPEND fairlead_)
  set(test_deps ${A_TEST_DEPS})
  list(TRANSFORM test_deps PREPEND fairlead_)

  add_library(fairlead_${A_NAME} STATIC ${A_SRCS} ${A_HDRS})
  set_target_properties(fairlead_${A_NAME} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(fairlead_${A_NAME} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(fairlead_${A_NAME} PUBLIC ${deps} ${A_LIBS} fmt::fmt)
  target_precompile_headers(fairlead_${A_NAME} REUSE_FROM fairlead_precompiled)

  if(A_TESTS)
    add_executable(${A_NAME}_test ${A_TESTS})
    target_link_libraries(${A_NAME}_test PRIVATE fairlead_${A_NAME} ${test_deps})
    target_compile_definitions(${A_NAME}_test PRIVATE
      FAIRLEAD_TESTDATA="${CMAKE_CURRENT_SOURCE_DIR}/testdata" FAIRLEAD_SOURCE="${CMAKE_SOURCE_DIR}")
    fairlead_test(${A_NAME} ${A_NAME}_test)
  endif()

  foreach(file ${A_FUZZ})
    get_filename_component(fuzz ${file} NAME_WE)
    if(FAIRLEAD_FUZZ)
      add_executable(${fuzz} ${file})
      set_target_properties(${fuzz} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
      target_link_options(${fuzz} PRIVATE -fsanitize=fuzzer)
      add_test(NAME ${fuzz} COMMAND ${fuzz} -runs=0 ${CMAKE_CURRENT_SOURCE_DIR}/testdata/${fuzz})
    else()
      add_executable(${fuzz} ${file} ${CMAKE_SOURCE_DIR}/cmake/replay_corpus.cc)
      add_test(NAME ${fuzz} COMMAND ${fuzz} ${CMAKE_CURRENT_SOURCE_DIR}/testdata/${fuzz})
    endif()
    target_link_libraries(${fuzz} PRIVATE fairlead_${A_NAME} ${test_deps})
  endforeach()

  if(A_BENCHES AND benchmark_FOUND)
    add_executable(${A_NAME}_bench EXCLUDE_FROM_ALL ${A_BENCHES})
    add_dependencies(benches ${A_NAME}_bench)
    target_link_libraries(${A_NAME}_bench PRIVATE fairlead_${A_NAME} ${test_deps} benchmark::benchmark_main)
  endif()
endfunction()
