# Compiler flags of every target, and the sanitizer switch of the presets.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -gline-tables-only")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -gline-tables-only")

set(FAIRLEAD_SANITIZE "" CACHE STRING "empty, address (with undefined) or thread")
option(FAIRLEAD_FUZZ "build libFuzzer binaries instead of corpus replays" OFF)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Werror
                    -fno-omit-frame-pointer -fstack-protector-strong
                    -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
add_link_options(-fuse-ld=lld-16)
if(FAIRLEAD_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
elseif(FAIRLEAD_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
endif()
if(FAIRLEAD_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Precompiled headers are named by path and time; the compiler compares what they hold. What a file
  # includes is taken from the compiler: preprocessing it first costs a tenth where nothing is cached.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 ${CCACHE})
endif()
