#include <csignal>
#include <ctime>
#include <optional>
#include <utility>

#include "daemon/process.h"
#include "daemon/status/guard.h"
#include "daemon/status/page_files.h"
#include "daemon/status/pages.h"
#include "http/server.h"
#include "kube/objects/kinds.h"
#include "kube/objects/names.h"
#include "kubectl/commands.h"
#include "kubectl/fleet/fleet_reading.h"
#include "kubectl/fleet/followed_fleet.h"
#include "kubectl/page/fleet_page.h"
#include "kubectl/page/followed_edit.h"
#include "kubectl/page/questions.h"
#include "reactor/base/text.h"
#include "reactor/net/listener.h"
#include "reactor/signal.h"

namespace sliced::kubectl {
namespace {

constexpr size_t kConnectionsMax = 32, kNodesAskedMax = 8;
// Workers for answers; one of the executor's four stays free for the connections' work.
constexpr size_t kWhysMax = 2, kEditsMax = 1;
constexpr size_t kAnswerMax = 1u << 20;
constexpr Millis kWhyMax{60'000};

bool is_pod(std::string_view text) {
  const size_t slash = text.find('/');
  return slash != std::string_view::npos && kube::is_dns_label(text.substr(0, slash)) &&
         kube::is_dns_subdomain(text.substr(slash + 1));
}

// Returns the output of the command.
std::string text_of(const CommandResult& result, std::string_view pod) {
  if (result.timed_out) return "no answer after a minute";
  std::string out = result.out + result.err;
  if (out.size() <= kAnswerMax) return out;
  return out.substr(0, kAnswerMax) + "\noutput truncated: run kubectl sliced why pod " + std::string(pod);
}

class FleetPages {
 public:
  FleetPages(daemon::Process& process, const config::Options& options, const FollowedFleet& fleet)
      : process_(process),
        options_(options),
        fleet_(fleet),
        whys_(*process.executor, kWhysMax),
        edits_(*process.executor, kEditsMax) {
    if (!options.diff_file.empty()) edit_.emplace(edit_world(process.loop.scheduler(), edits_, options));
  }

  status::Pages pages() {
    status::Pages out;
    if (edit_) {
      out["/"] = html([this](std::string_view query, http::Response& response) {
        return edit_->when_current(
            [this, query = std::string(query), &response] { send(response, page(with_edit(facts(query)))); });
      });
      out["/edit"] = [this](std::string_view) {
        kube::Json effect = json_of(edit_->look());
        effect.set("moment", std::to_string(edit_->moment()));
        return json(effect);
      };
    } else {
      out["/"] = [this](std::string_view query) { return page(facts(query)); };
    }
    out["/node"] =
        html([this](std::string_view query, http::Response& response) { return node(query, response); });
    out["/nodes"] = [this](std::string_view query) { return json(page_rows(rows(), filter_of(query))); };
    out["/moment"] = [this](std::string_view query) {
      const std::vector<NodeRow>& now = rows();
      // A client that shows the edit keeps the file watched.
      if (edit_ && !status::query_value(query, "edit").empty()) edit_->look();
      return json(
          page_moment(now, shown_, fleet_.note(), edit_ ? std::optional(edit_->moment()) : std::nullopt));
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
    out["/why"] =
        html([this](std::string_view query, http::Response& response) { return why(query, response); });
    return out;
  }

 private:
  // A question continues while its client may still read the answer (http::kHalfClosedMax).
  struct Question final : http::Call {
    std::unique_ptr<Questions::Question> asked;
  };

  // One node's slices and report, read on request, because the fleet only has counts.
  struct NodeQuestion final : http::Call {
    explicit NodeQuestion(size_t& open) : open(open) { ++open; }
    ~NodeQuestion() override { --open; }
    size_t& open;
    std::vector<kube::ResourceSlice> slices;
    std::optional<reports::NodeReport> report;
    std::string problem;
    size_t answers = 0;
    kube::CallPtr list, get;
  };

  static FleetFilter filter_of(std::string_view query) {
    return {status::query_value(query, "health"), status::query_value(query, "policy")};
  }
  // Computed once per moment: counting a large fleet takes about 100 ms. Most changes (node heartbeats)
  // affect nothing that is shown.
  const std::vector<NodeRow>& rows() {
    if (std::exchange(counted_, fleet_.moment()) == fleet_.moment()) return rows_;
    auto now = fleet_.fleet().rows();
    if (now != rows_) {
      rows_ = std::move(now);
      ++shown_;
    }
    return rows_;
  }
  FleetPageFacts facts(std::string_view query) {
    return FleetPageFacts{.rows = rows(),
                          .filter = filter_of(query),
                          .moment = shown_,
                          .version = SLICED_VERSION,
                          .cluster = process_.cluster->describe(),
                          .note = fleet_.note(),
                          .gaps = fleet_.gaps(),
                          .node = {},
                          .devices = {},
                          .problem = {},
                          .pod = {},
                          .why = {}};
  }
  // The pages of a node and of a pod do not depend on anything else, and do not wait.
  FleetPageFacts with_edit(FleetPageFacts facts) {
    facts.edit = &edit_->look();
    facts.edit_moment = edit_->moment();
    return facts;
  }
  static status::Answer html(std::string text) {
    return {
        .body = std::move(text), .content_type = "text/html; charset=utf-8", .headers = fleet_page_headers()};
  }
  static status::LongPage html(decltype(status::LongPage::serve) serve) {
    return {.serve = std::move(serve), .head = [](std::string_view) { return html(std::string()); }};
  }
  static status::Answer page(const FleetPageFacts& facts) { return html(fleet_page(facts)); }
  static status::Answer json(const kube::Json& value) {
    return {.body = kube::encode_json(value), .content_type = "application/json", .headers = {}};
  }

  std::unique_ptr<http::Call> node(std::string_view query, http::Response& response) {
    const std::string name = status::query_value(query, "name");
    const auto tell = [this, name, &response](std::vector<DeviceLine> devices, std::string problem) {
      FleetPageFacts told = facts("");
      told.node = name.empty() ? "?" : name;
      told.devices = std::move(devices);
      told.problem = std::move(problem);
      send(response, page(told));
    };
    if (!kube::is_dns_subdomain(name)) {
      tell({}, "this is not a node's name");
      return nullptr;
    }
    if (nodes_asked_ >= kNodesAskedMax) {
      tell({}, "other nodes are being read; ask again");
      return nullptr;
    }
    auto question = std::make_unique<NodeQuestion>(nodes_asked_);
    NodeQuestion& its = *question;
    const auto answered = [this, name, tell, &its] {
      if (++its.answers < 2) return;
      auto lines = device_lines(name, its.slices, fleet_.fleet(),
                                {options_.sriov_driver_name, options_.exposure_driver_name});
      if (its.report) add_hidden(*its.report, lines);
      tell(std::move(lines), std::move(its.problem));
    };
    its.list = process_.cluster->list(
        {.scope = slices_of(name)},
        {.on_item =
             [&its, name](std::string_view text) {
               const auto object = kube::decode_json(text, kube::kSliceLimits);
               auto slice = object ? kube::decode_resource_slice(*object)
                                   : Result<kube::ResourceSlice>(object.error());
               if (!slice)
                 its.problem = "a slice cannot be read: " + slice.error().what;
               else if (slice->node_name == name)  // a proxy may have dropped the selector
                 its.slices.push_back(*std::move(slice));
             },
         .on_done = [answered](const std::string&) { answered(); },
         .on_failure = [answered, &its](const kube::Failure& why) { its.problem = why.what, answered(); }});
    its.get = process_.cluster->get(
        {.resource = kube::kNodeDeviceReports, .namespace_ = "", .name = name},
        {.on_done =
             [answered, &its](std::string_view text) {
               if (const auto object = kube::decode_json(text, kube::kSliceLimits))
                 if (auto report = reports::decode_node_report(*object)) its.report = *std::move(report);
               answered();
             },
         .on_failure =
             [answered, &its](const kube::Failure& why) {
               if (why.code != Errc::kNotFound && its.problem.empty())
                 its.problem = "the devices that the node does not offer are unknown: " + why.what;
               answered();
             }});
    return question;
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
    auto question = std::make_unique<Question>();
    question->asked =
        whys_.ask([options = options_, pod = told.pod](
                      const IsCancelled& is_cancelled) { return answer_why(options, pod, is_cancelled); },
                  kWhyMax,
                  [told, &response](const CommandResult& result) mutable {
                    told.why = text_of(result, told.pod);
                    send(response, page(told));
                  });
    if (question->asked == nullptr) return refuse("other questions are being answered; ask again");
    return question;
  }

  daemon::Process& process_;
  const config::Options& options_;
  const FollowedFleet& fleet_;
  Questions whys_, edits_;
  std::optional<FollowedEdit> edit_;
  std::vector<NodeRow> rows_;
  uint64_t counted_ = 0;  // the fleet's moment
  uint64_t shown_ = 0;    // number of changes of the shown content
  size_t nodes_asked_ = 0;
};

Result<Unit> serve_fleet(daemon::Process& process, const config::Options& options,
                         const FollowedFleet& followed, const bool& is_over) {
  FleetPages pages(process, options, followed);
  http::Server server(
      process.loop.scheduler(), status::guarded(status::serve_pages(pages.pages()), {}, {}),
      {.bounds = {.request = {.head_bytes_max = 8u << 10, .body_bytes_max = 1u << 10}, .streams_max = 8},
       .clock = [] { return static_cast<int64_t>(std::time(nullptr)); }});
  auto listener = reactor::net::listen_tcp(
      process.loop, *daemon::endpoint_of(options.page_address),
      {.connections_max = kConnectionsMax, .make_room = [&] { return server.make_room(); }},
      [&](auto stream, auto peer) { server.take(std::move(stream), std::move(peer)); });
  if (!listener) return std::move(listener.error()).in("--page-address " + options.page_address);
  const std::string host = options.page_address.substr(0, options.page_address.rfind(':'));
  if (!daemon::print("http://" + host + ":" + std::to_string((*listener)->port()) + "/\n"))
    return Error{Errc::kIo, "page ends"};
  while (!is_over) process.run_until([&] { return is_over; }, Millis{60'000});
  return Unit{};
}

}  // namespace

int page(const config::Options& options) {
  return follow_fleet(options,
                      [&](daemon::Process& process, const FollowedFleet& followed, const bool& is_over) {
                        return serve_fleet(process, options, followed, is_over);
                      });
}

}  // namespace sliced::kubectl
