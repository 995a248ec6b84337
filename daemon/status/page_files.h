#pragma once
// The page's three files (status/page/), embedded by the build (cmake/embed.cmake). UTF-8, valid during the
// whole process.
#include <string_view>

namespace sliced::status {

extern const std::string_view kPageHtml;  // with {{names}} of placeholders
extern const std::string_view kPageCss, kPageJs;

}  // namespace sliced::status
