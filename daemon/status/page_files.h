#pragma once
// The page's three files (status/page/), as the build has embedded them (cmake/embed.cmake).
// UTF-8, and part of the program: they last as long as it does.
#include <string_view>

namespace sliced::status {

extern const std::string_view kPageHtml;  // with {{names}} for what is filled in
extern const std::string_view kPageCss, kPageJs;

}  // namespace sliced::status
