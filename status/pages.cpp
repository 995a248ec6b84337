#include "status/pages.h"

#include <utility>

namespace sliced::status {
namespace {

void send(http::Response& response, Answer answer, http::Headers more = {}) {
  http::Head head{.status = answer.status,
                  .headers = {{"content-type", std::move(answer.content_type)},
                              {"cache-control", "no-store"},
                              {"x-content-type-options", "nosniff"}}};
  for (http::Header& header : more) head.headers.push_back(std::move(header));
  response.send_head(std::move(head));
  response.send_body(std::move(answer.body));
  response.finish();
}

std::string list_of(const Pages& pages) {
  std::string out;
  for (const auto& [path, page] : pages) out += (out.empty() ? "" : ", ") + path;
  return out;
}

}  // namespace

http::Serve serve_pages(Pages pages) {
  return [pages = std::move(pages)](const http::RequestHead& request,
                                    http::Response& response) -> std::unique_ptr<http::Call> {
    const std::string_view target = request.target;
    const size_t mark = target.find('?');
    const auto page = pages.find(std::string(target.substr(0, mark)));
    if (page == pages.end())
      send(response, {.status = 404, .body = "there is no such page; there are: " + list_of(pages) + "\n"});
    else if (request.method != "GET" && request.method != "HEAD")
      send(response, {.status = 405, .body = "only GET and HEAD: nothing can be written here\n"},
           {{"allow", "GET, HEAD"}});
    else
      send(response, page->second(mark == std::string_view::npos ? "" : target.substr(mark + 1)));
    return nullptr;
  };
}

}  // namespace sliced::status
