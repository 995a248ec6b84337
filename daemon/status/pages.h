#pragma once
// The pages that may be read, as a handler of requests. Nothing can be written: every method but GET and HEAD is
// refused, and nobody looks at a body.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "http/service.h"

namespace sliced::status {

/// body: whole, in memory; what may be long is a LongPage's.
struct Answer {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
  http::Headers headers = {};  // beside those that every answer has
};

/// What is answered at once. query: behind the '?', as it came.
/// Runs on the loop, within the turn in which the request's head came: it must not wait for anything.
using Page = std::function<Answer(std::string_view query)>;
/// What takes longer, or goes on. serve hears of GET alone, and sends everything itself, its head with begin(); head answers
/// a HEAD, at once and without a body.
struct LongPage {
  std::function<std::unique_ptr<http::Call>(std::string_view query, http::Response& response)> serve;
  Page head;
};
using Pages = std::map<std::string, std::variant<Page, LongPage>>;  // by path
using ShortPages = std::map<std::string, Page>;

/// 405 for other methods (with Allow), 404 for other paths (with those that there are); nothing is to be cached.
/// Known paths are listed to whoever asks for another one: nothing here is secret.
http::Serve serve_pages(Pages pages);

/// A whole answer, with the headers that every page has: not cached, not sniffed, not for pages of other origins.
void send(http::Response& response, Answer answer);
/// The head of one that is sent piece by piece. answer.body is not looked at.
void begin(http::Response& response, const Answer& answer);

/// The value of a query's item ("device=0000%3A3b"), decoded; "" where there is none. '+' is a space, and of
/// several items of that name the first counts. Bytes are as they come: whoever shows or compares them checks them.
std::string query_value(std::string_view query, std::string_view key);

}  // namespace sliced::status
