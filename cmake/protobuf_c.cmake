# Messages of protobuf as C structures, generated at build time by protobuf-c.
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c>=1.4)
find_program(PROTOC_C protoc-c REQUIRED)

# sliced_messages(TARGET proto/file.proto ...): FILE of the folder FOLDER is included as "FOLDER/proto/FILE.pb-c.h", in the
# .cpp files of that folder only (kubelet/README.md).
function(sliced_messages target)
  set(root ${PROJECT_BINARY_DIR}/generated/${target})
  set(sources)
  foreach(file ${ARGN})
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    string(REGEX REPLACE "[.]proto$" ".pb-c" generated ${root}/${path})
    add_custom_command(OUTPUT ${generated}.c ${generated}.h
      COMMAND ${CMAKE_COMMAND} -E make_directory ${root}
      COMMAND ${PROTOC_C} --proto_path=${PROJECT_SOURCE_DIR} --c_out=${root} ${PROJECT_SOURCE_DIR}/${path}
      DEPENDS ${PROJECT_SOURCE_DIR}/${path} VERBATIM)
    list(APPEND sources ${generated}.c ${generated}.h)
  endforeach()
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} SYSTEM PUBLIC ${root})
  target_link_libraries(${target} PUBLIC PkgConfig::PROTOBUF_C PRIVATE sliced_flags)
  target_compile_options(${target} PRIVATE -w)  # not our words
endfunction()
