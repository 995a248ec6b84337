#pragma once
// The pages that may be read, as a handler of requests. Nothing can be written: every method but GET and HEAD is
// refused, and nobody looks at a body.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "http/service.h"

namespace sliced::status {

struct Answer {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

/// What is answered at once. query: behind the '?', as it came.
/// Runs on the loop, within the turn in which the request's head came: it must not wait for anything.
using Page = std::function<Answer(std::string_view query)>;
using Pages = std::map<std::string, Page>;  // by path

/// 405 for other methods (with Allow), 404 for other paths (with those that there are); nothing is to be cached.
/// Known paths are listed to whoever asks for another one: nothing here is secret.
http::Serve serve_pages(Pages pages);

}  // namespace sliced::status
