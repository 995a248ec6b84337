# cmake -DOUT=x.cpp -DNAMES="kA;kB" -DFILES="a.html;b.css" -P embed.cmake: files as texts of a program, with no other tool.
# HEADER declares them, in NAMESPACE; without them it is daemon/status/page_files.h.
if(NOT HEADER)
  set(HEADER daemon/status/page_files.h)
  set(NAMESPACE sliced::status)
endif()
set(code "// Made by cmake/embed.cmake.\n#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n\n")
foreach(name file IN ZIP_LISTS NAMES FILES)
  file(READ "${file}" text)
  string(APPEND code "const std::string_view ${name} = R\"embedded(${text})embedded\";\n")
endforeach()
string(APPEND code "\n}  // namespace ${NAMESPACE}\n")
file(WRITE "${OUT}" "${code}")
