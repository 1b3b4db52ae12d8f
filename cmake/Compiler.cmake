# Flags that every target of the project shares.
add_library(presence_flags INTERFACE)
target_include_directories(presence_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(presence_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
    -Wold-style-cast -Woverloaded-virtual -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 reports these inside libstdc++ at -O2; the same code is clean elsewhere.
    target_compile_options(presence_flags INTERFACE
        -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds
        -Wno-dangling-pointer)
endif()
target_compile_definitions(presence_flags INTERFACE
    PRESENCED_VERSION="${PROJECT_VERSION}" FMT_HEADER_ONLY=0)

if(PRESENCED_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Asio's fences, which ThreadSanitizer does not model; the queues beside them hold locks.
    target_compile_options(presence_flags INTERFACE -Wno-tsan)
endif()
if(PRESENCED_SANITIZE)
    add_compile_options(-fsanitize=${PRESENCED_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${PRESENCED_SANITIZE})
endif()

if(PRESENCED_FUZZ)
    # What is fuzzed has to be watched too, not only the target.
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_program(CCACHE ccache)
if(CCACHE)
    # Without this (and -fpch-preprocess) ccache passes by every file with a precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()
