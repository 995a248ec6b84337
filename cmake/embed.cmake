# cmake -DOUT=x.cpp -DNAMES="kA;kB" -DFILES="a.html;b.css" -P embed.cmake: files as texts of a program, with no other tool.
set(code "// Made by cmake/embed.cmake.\n#include \"status/page_files.h\"\n\nnamespace sliced::status {\n\n")
foreach(name file IN ZIP_LISTS NAMES FILES)
  file(READ "${file}" text)
  string(APPEND code "const std::string_view ${name} = R\"embedded(${text})embedded\";\n")
endforeach()
string(APPEND code "\n}  // namespace sliced::status\n")
file(WRITE "${OUT}" "${code}")
