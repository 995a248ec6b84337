#include "daemon/status/pages.h"

#include <utility>

#include "reactor/base/text.h"

namespace sliced::status {
namespace {

std::string list_of(const Pages& pages) {
  std::string out;
  for (const auto& [path, page] : pages) out += (out.empty() ? "" : ", ") + path;
  return out;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = text[i] == '%' && i + 2 < text.size() ? parse_hex(text.substr(i + 1, 2)) : std::nullopt;
    out += byte ? static_cast<char>(*byte) : text[i] == '+' ? ' ' : text[i];
    if (byte) i += 2;
  }
  return out;
}

}  // namespace

void begin(http::Response& response, const Answer& answer) {
  http::Head head{.status = answer.status,
                  .headers = {{"content-type", answer.content_type},
                              {"cache-control", "no-store"},
                              {"x-content-type-options", "nosniff"},
                              {"cross-origin-resource-policy", "same-origin"}}};
  for (const http::Header& header : answer.headers) head.headers.push_back(header);
  response.send_head(std::move(head));
}

void send(http::Response& response, Answer answer) {
  begin(response, answer);
  response.send_body(std::move(answer.body));
  response.finish();
}

http::Serve serve_pages(Pages pages) {
  return [pages = std::move(pages)](const http::RequestHead& request,
                                    http::Response& response) -> std::unique_ptr<http::Call> {
    const std::string_view target = request.target;
    const size_t mark = target.find('?');
    const std::string_view query = mark == std::string_view::npos ? "" : target.substr(mark + 1);
    const auto page = pages.find(std::string(target.substr(0, mark)));
    if (page == pages.end())
      send(response, {.status = 404, .body = "unknown page; the pages are: " + list_of(pages) + "\n"});
    else if (request.method != "GET" && request.method != "HEAD")
      send(response,
           {.status = 405, .body = "only GET and HEAD are allowed\n", .headers = {{"allow", "GET, HEAD"}}});
    else if (const auto* at_once = std::get_if<Page>(&page->second))
      send(response, (*at_once)(query));
    else if (request.method == "GET")
      return std::get<LongPage>(page->second).serve(query, response);
    else
      send(response, std::get<LongPage>(page->second).head(query));
    return nullptr;
  };
}

std::string query_value(std::string_view query, std::string_view key) {
  for (const std::string_view item : split(query, '&')) {
    const size_t mark = item.find('=');
    if (mark != std::string_view::npos && item.substr(0, mark) == key)
      return percent_decoded(item.substr(mark + 1));
  }
  return {};
}

}  // namespace sliced::status
