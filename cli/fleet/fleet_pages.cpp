#include <csignal>
#include <ctime>
#include <optional>

#include "cli/commands.h"
#include "cli/fleet/fleet_page.h"
#include "cli/fleet/followed_fleet.h"
#include "cli/process.h"
#include "http/server.h"
#include "kube/names.h"
#include "reactor/base/text.h"
#include "reactor/child.h"
#include "reactor/net/listener.h"
#include "reactor/signal.h"
#include "status/guard.h"
#include "status/page_files.h"
#include "status/pages.h"

namespace sliced::cli {
namespace {

constexpr size_t kConnectionsMax = 32, kQuestionsMax = 2;
constexpr Millis kWhyMax{60'000};

bool is_pod(std::string_view text) {
  const size_t slash = text.find('/');
  return slash != std::string_view::npos && kube::is_dns_label(text.substr(0, slash)) &&
         kube::is_dns_subdomain(text.substr(slash + 1));
}

class FleetPages {
 public:
  FleetPages(Process& process, const config::Options& options, const FollowedFleet& fleet)
      : process_(process), options_(options), fleet_(fleet) {}

  status::Pages pages() {
    status::Pages out;
    out["/"] = [this](std::string_view query) { return page(facts(query)); };
    out["/nodes"] = [this](std::string_view query) { return json(page_rows(rows(), filter_of(query))); };
    out["/moment"] = [this](std::string_view) {
      return json(page_moment(rows(), fleet_.moment(), fleet_.note()));
    };
    out["/page.css"] = [](std::string_view) {
      return status::Answer{.body = std::string(status::kPageCss) + std::string(kFleetCss),
                            .content_type = "text/css; charset=utf-8",
                            .headers = fleet_page_headers()};
    };
    out["/page.js"] = [](std::string_view) {
      return status::Answer{.body = std::string(kFleetJs),
                            .content_type = "text/javascript; charset=utf-8",
                            .headers = fleet_page_headers()};
    };
    out["/why"] = [this](std::string_view query, http::Response& response) { return why(query, response); };
    return out;
  }

 private:
  // A question goes on as long as somebody waits for its answer.
  struct Question final : http::Call {
    explicit Question(size_t& open) : open(open) { ++open; }
    ~Question() override { --open; }
    size_t& open;
    std::unique_ptr<reactor::Child> child;
  };

  static FleetFilter filter_of(std::string_view query) {
    return {status::query_value(query, "health"), status::query_value(query, "policy")};
  }
  // Made once a moment: counting a large fleet takes some 100 ms.
  const std::vector<NodeRow>& rows() {
    if (counted_ != fleet_.moment()) {
      rows_ = fleet_.fleet().rows();
      counted_ = fleet_.moment();
    }
    return rows_;
  }
  FleetPageFacts facts(std::string_view query) {
    FleetPageFacts out{.rows = rows(),
                       .filter = filter_of(query),
                       .moment = fleet_.moment(),
                       .version = SLICED_VERSION,
                       .cluster = process_.cluster->describe(),
                       .note = fleet_.note(),
                       .node = status::query_value(query, "node"),
                       .devices = {},
                       .pod = {},
                       .why = {}};
    if (!out.node.empty()) out.devices = device_lines(fleet_.fleet(), out.node);
    return out;
  }
  static status::Answer page(const FleetPageFacts& facts) {
    return {.body = fleet_page(facts),
            .content_type = "text/html; charset=utf-8",
            .headers = fleet_page_headers()};
  }
  static status::Answer json(const kube::Json& value) {
    return {.body = kube::encode_json(value), .content_type = "application/json", .headers = {}};
  }

  std::unique_ptr<http::Call> why(std::string_view query, http::Response& response) {
    FleetPageFacts told = facts("");
    told.pod = status::query_value(query, "pod");
    const auto refuse = [&](std::string what) -> std::unique_ptr<http::Call> {
      told.why = std::move(what);
      if (told.pod.empty()) told.pod = "?";
      send(response, page(told));
      return nullptr;
    };
    if (!is_pod(told.pod)) return refuse("name it as namespace/pod");
    if (questions_ >= kQuestionsMax) return refuse("other questions are being answered; ask again");
    auto question = std::make_unique<Question>(questions_);
    auto child = reactor::Child::start(
        process_.loop, {.argv = why_program(options_, told.pod), .env = {}, .input = {}, .deadline = kWhyMax},
        [told, &response](const reactor::ChildResult& result) mutable {
          told.why = result.timed_out ? "no answer after a minute" : result.out + result.err;
          send(response, page(told));
        });
    if (!child) return refuse(child.error().what);
    question->child = std::move(*child);
    return question;
  }

  Process& process_;
  const config::Options& options_;
  const FollowedFleet& fleet_;
  std::vector<NodeRow> rows_;
  uint64_t counted_ = 0;
  size_t questions_ = 0;
};

Result<Unit> serve_fleet(Process& process, const config::Options& options, const FollowedFleet& followed,
                         const bool& is_over) {
  FleetPages pages(process, options, followed);
  http::Server server(
      process.loop.scheduler(), status::guarded(status::serve_pages(pages.pages()), {}, {}),
      {.bounds = {.request = {.head_bytes_max = 8u << 10, .body_bytes_max = 1u << 10}, .streams_max = 8},
       .clock = [] { return static_cast<int64_t>(std::time(nullptr)); }});
  auto listener = reactor::net::listen_tcp(
      process.loop, *endpoint_of(options.page_address),
      {.connections_max = kConnectionsMax, .make_room = [&] { return server.make_room(); }},
      [&](auto stream, auto peer) { server.take(std::move(stream), std::move(peer)); });
  if (!listener) return std::move(listener.error()).in("--page-address " + options.page_address);
  const std::string host = options.page_address.substr(0, options.page_address.rfind(':'));
  if (!print("http://" + host + ":" + std::to_string((*listener)->port()) + "/\n"))
    return Error{Errc::kIo, "page ends"};
  while (!is_over) process.run_until([&] { return is_over; }, Millis{60'000});
  return Unit{};
}

}  // namespace

int page(const config::Options& options) {
  return follow_fleet(options, [&](Process& process, const FollowedFleet& followed, const bool& is_over) {
    return serve_fleet(process, options, followed, is_over);
  });
}

}  // namespace sliced::cli
