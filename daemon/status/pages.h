#pragma once
// Read-only pages, as a handler of requests: every method but GET and HEAD is refused, and bodies are
// ignored.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "http/service.h"

namespace sliced::status {

/// body: complete, in memory; long ones are a LongPage's.
struct Answer {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
  http::Headers headers = {};  // in addition to the common ones
};

/// An immediate answer. query: after the '?', undecoded. Runs on the loop, in the turn of the request's head:
/// it must not block.
using Page = std::function<Answer(std::string_view query)>;
/// A long or continuous answer. serve is called for GET only, and sends everything itself, its head with
/// begin(); head answers a HEAD immediately, without a body.
struct LongPage {
  std::function<std::unique_ptr<http::Call>(std::string_view query, http::Response& response)> serve;
  Page head;
};
using Pages = std::map<std::string, std::variant<Page, LongPage>>;  // by path
using ShortPages = std::map<std::string, Page>;

/// Answers 405 for other methods (with Allow), 404 for other paths (with the known ones, which are not
/// secret); caching is disabled.
http::Serve serve_pages(Pages pages);

/// Sends a complete answer with the common headers: no caching, no sniffing, not readable by other origins.
void send(http::Response& response, Answer answer);
/// Sends the head of an answer in pieces. Ignores answer.body.
void begin(http::Response& response, const Answer& answer);

/// Returns the decoded value of a query's item ("device=0000%3A3b"); "" if missing. '+' is a space; the first
/// of several items counts. The bytes are unvalidated.
std::string query_value(std::string_view query, std::string_view key);

}  // namespace sliced::status
