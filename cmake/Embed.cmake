# Puts protocol.json, openapi.yaml and the built demo and operator pages into the binary.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(embedded ${CMAKE_BINARY_DIR}/generated/embedded_files.cc)
file(GLOB_RECURSE page_files CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/web/demo/dist/* ${CMAKE_SOURCE_DIR}/web/admin/dist/*)
add_custom_command(
    OUTPUT ${embedded}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/embed_files.py ${embedded}
            protocol.json=${CMAKE_SOURCE_DIR}/protocol/protocol.json
            openapi.yaml=${CMAKE_SOURCE_DIR}/api/openapi.yaml
            demo:${CMAKE_SOURCE_DIR}/web/demo/dist admin:${CMAKE_SOURCE_DIR}/web/admin/dist
    DEPENDS ${CMAKE_SOURCE_DIR}/tools/embed_files.py ${CMAKE_SOURCE_DIR}/protocol/protocol.json
            ${CMAKE_SOURCE_DIR}/api/openapi.yaml ${page_files}
    COMMENT "Embedding pages and documents")
target_sources(presence_app PRIVATE ${embedded})
