#include "kube/client/api_cluster.h"

#include <stdlib.h>

#include <filesystem>

#include "reactor/durable_file.h"
#include "t/fake/memory_log.h"
#include "t/unit/http/client_fixture.h"

namespace sliced::kube {
namespace {

using namespace std::chrono_literals;

using fake::chunk;
using fake::http_response;
using fake::SeenRequest;
using Connection = fake::TcpServer::Connection;

const Resource kNodes{"", "v1", "nodes", "Node", false};
const Resource kSlices{"resource.k8s.io", "v1", "resourceslices", "ResourceSlice", false};

/// Yields the credentials of the test, in the next turn.
class ScriptedCredentials final : public CredentialSource {
 public:
  explicit ScriptedCredentials(reactor::Scheduler& scheduler) : scheduler_(scheduler) {}
  CallPtr get(std::function<void(Result<Credentials>)> on_ready) override {
    struct Pending final : Call {
      reactor::Ticket ticket;
    };
    auto pending = std::make_unique<Pending>();
    ++asked;
    pending->ticket = scheduler_.after(Millis{0}, [this, on_ready = std::move(on_ready)] { on_ready(next); });
    return pending;
  }
  void invalidate(const Credentials& refused) override {
    invalidated.push_back(refused.token);
    if (after_refusal) next = *after_refusal;
  }
  std::string describe() const override { return "a test"; }

  Result<Credentials> next = Credentials{};
  std::optional<Result<Credentials>> after_refusal;
  std::vector<std::string> invalidated;
  int asked = 0;

 private:
  reactor::Scheduler& scheduler_;
};

/// What a call brought, in the order it came: "item {...}", "event 0 {...}", "done 7", "end", "failed 3 404
/// ...".
struct Heard {
  std::vector<std::string> words;
  std::optional<Failure> failure;
  bool over = false;
  std::string what() const { return failure ? failure->what : ""; }
  std::function<void(const Failure&)> on_failure() {
    return [this](const Failure& told) {
      failure = told;
      words.push_back("failed");
      over = true;
    };
  }
  std::function<void(std::string_view)> on_object() {
    return [this](std::string_view object) {
      words.push_back("done " + std::string(object));
      over = true;
    };
  }
  ListHandlers list() {
    return {[this](std::string_view object) { words.push_back("item " + std::string(object)); },
            [this](const std::string& version) {
              words.push_back("done " + version);
              over = true;
            },
            on_failure()};
  }
  WatchHandlers watch() {
    return {[this](const WatchEvent& event) {
              words.push_back("event " + std::to_string(static_cast<int>(event.type)) + ' ' +
                              std::string(event.object));
            },
            [this] {
              words.emplace_back("end");
              over = true;
            },
            on_failure()};
  }
  WriteHandlers write() { return {on_object(), on_failure()}; }
};

using Words = std::vector<std::string>;

struct ApiWorld : http::ClientWorld {
  ApiWorld(fixture::LoopTest& test_in, fake::RudeServer::OnRequest on_request,
           http::Wire wire = http::Wire::kPlain)
      : ClientWorld(test_in, wire, std::move(on_request)) {
    auto made = std::make_unique<ScriptedCredentials>(time);
    credentials = made.get();
    credentials->next =
        Credentials{{.server = target->url, .ca_pem = http::authority().cert_pem()}, "secret"};
    connect(std::move(made), std::nullopt);
  }
  // Another process.
  void remake(std::optional<SchemaCache> cache) {
    auto made = std::make_unique<ScriptedCredentials>(time);
    made->next = credentials->next;
    credentials = made.get();
    connect(std::move(made), std::move(cache));
  }
  void connect(std::unique_ptr<CredentialSource> made, std::optional<SchemaCache> cache) {
    cluster = std::make_unique<ApiCluster>(ApiPorts{
        time, log, std::move(made),
        [this](reactor::net::Endpoint endpoint, Millis deadline, reactor::net::OnConnected on_connected) {
          return reactor::net::connect_tcp(test.loop, executor, std::move(endpoint), deadline,
                                           std::move(on_connected));
        },
        [] { return 0.5; }, "sliced/1.2.3", std::move(cache)});
  }
  Heard list(ListRequest request = {{kNodes}}) {
    Heard heard;
    const CallPtr call = cluster->list(std::move(request), heard.list());
    EXPECT_TRUE(run_until([&] { return heard.over; }));
    return heard;
  }
  Heard watch(WatchRequest request = {{kNodes}, "5"}) {
    Heard heard;
    const CallPtr call = cluster->watch(std::move(request), heard.watch());
    EXPECT_TRUE(run_until([&] { return heard.over; }));
    return heard;
  }
  Heard write(WriteRequest request) {
    Heard heard;
    const CallPtr call = cluster->write(std::move(request), heard.write());
    EXPECT_TRUE(run_until([&] { return heard.over; }));
    return heard;
  }

  fake::MemoryLog log;
  ScriptedCredentials* credentials = nullptr;
  std::unique_ptr<ApiCluster> cluster;
};

struct ApiClusterTest : fixture::LoopTest {};

std::string page(const std::string& items, const std::string& next, const std::string& version = "7") {
  return R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":")" + version +
         R"(","continue":")" + next + R"("},"items":[)" + items + "]}";
}

TEST_F(ApiClusterTest, ReadsAListInPages) {
  ApiWorld world(*this, [](const SeenRequest& request, Connection& to) {
    const bool first = request.target.find("continue") == std::string::npos;
    to.send(http_response(200, first ? page(R"({"a":1},{"b":[2]})", "tok/1") : page(R"({"c":3})", "")));
  });
  const Heard heard = world.list();
  EXPECT_EQ(heard.words, (Words{R"(item {"a":1})", R"(item {"b":[2]})", R"(item {"c":3})", "done 7"}));
  ASSERT_EQ(world.server.requests.size(), 2u);
  const SeenRequest& first = world.server.requests[0];
  EXPECT_EQ(first.target, "/api/v1/nodes?limit=500");
  EXPECT_EQ(first.header("authorization"), "Bearer secret");
  EXPECT_EQ(first.header("user-agent"), "sliced/1.2.3");
  EXPECT_EQ(world.server.requests[1].target, "/api/v1/nodes?limit=500&continue=tok%2F1");
  EXPECT_EQ(world.server.connections(), 1u);
  EXPECT_EQ(world.cluster->describe(), http::encode_url(world.target->url));
}

TEST_F(ApiClusterTest, ReportsAnExpiredPageAsGone) {
  ApiWorld world(*this, [](const SeenRequest& request, Connection& to) {
    const bool first = request.target.find("continue") == std::string::npos;
    to.send(first ? http_response(200, page("{}", "tok"))
                  : http_response(410, R"({"kind":"Status","reason":"Expired","message":"old"})"));
  });
  const Heard heard = world.list();
  EXPECT_EQ(heard.words, (Words{"item {}", "failed"}));
  EXPECT_EQ(heard.failure->code, Errc::kGone);
  EXPECT_EQ(heard.failure->reason, "Expired");
  EXPECT_EQ(heard.what(), "list nodes: the server said 410 Expired: old");
}

TEST_F(ApiClusterTest, ABrokenItemAffectsNoOther) {
  ApiWorld world(*this, [](const SeenRequest&, Connection& to) {
    to.send(http_response(200, page(R"({"a":1},{x: y},{"b":2})", "")));
  });
  EXPECT_EQ(world.list().words, (Words{R"(item {"a":1})", "item {x: y}", R"(item {"b":2})", "done 7"}));
}

TEST_F(ApiClusterTest, RefusesAnAnswerOtherThanAList) {
  for (const std::string& body :
       {std::string("{}"), std::string("<html>please log in</html>"), std::string("[]"),
        std::string(R"({"kind":"Status","metadata":{}})"),
        std::string(R"({"kind":"NodeList","metadata":{},"items":[]})"),
        std::string(R"({"kind":"Node","metadata":{"resourceVersion":"1"}})"),
        std::string(R"({"kind":"List","metadata":{"resourceVersion":"1"},"items":[]})"),
        std::string(R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[]})"),
        std::string(R"({"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"1"},"items":[]})"),
        std::string(R"({"kind":"NodeList","metadata":{"resourceVersion":"1"},"items":[{})"),
        page("{}", "") + "x", std::string()}) {
    ApiWorld world(*this, [&](const SeenRequest&, Connection& to) { to.send(http_response(200, body)); });
    const Heard heard = world.list();
    ASSERT_TRUE(heard.failure) << body;
    EXPECT_EQ(heard.failure->code, Errc::kIo) << body;
    EXPECT_EQ(heard.what().find("list nodes: "), 0u) << heard.what();
  }
}

// Red when another list is taken for this one: of ours it has nothing, and all of it would be gone.
TEST_F(ApiClusterTest, AcceptsBothKindsForAMetadataList) {
  for (const char* const kind : {"PartialObjectMetadataList", "NodeList"}) {
    ApiWorld world(*this, [&](const SeenRequest&, Connection& to) {
      to.send(http_response(
          200, R"({"kind":")" + std::string(kind) + R"(","metadata":{"resourceVersion":"1"},"items":[]})"));
    });
    EXPECT_EQ(world.list({{.resource = kNodes, .metadata_only = true}}).words, Words{"done 1"}) << kind;
  }
}

// Red when a list of pages of two versions is accepted: objects may have been deleted or created in between.
TEST_F(ApiClusterTest, RefusesPagesOfDifferentVersions) {
  ApiWorld world(*this, [](const SeenRequest& request, Connection& to) {
    const bool first = request.target.find("continue") == std::string::npos;
    to.send(http_response(200, first ? page("{}", "more", "7") : page("{}", "", "5")));
  });
  const Heard heard = world.list();
  ASSERT_TRUE(heard.failure);
  EXPECT_EQ(heard.failure->code, Errc::kIo);
  EXPECT_NE(heard.what().find("of two moments"), std::string::npos) << heard.what();
}

// Red when objects of another watch are taken for ours.
TEST_F(ApiClusterTest, AnEventAboutAnotherKindEndsTheWatch) {
  const auto policy_reports_of = [this](const std::string& kind, bool metadata_only) {
    ApiWorld world(*this, [&](const SeenRequest&, Connection& to) {
      to.send(fake::chunked_head() + chunk(R"({"type":"ADDED","object":{"kind":")" + kind + "\"}}\n") +
              fake::last_chunk());
    });
    const Heard heard = world.watch({{.resource = kNodes, .metadata_only = metadata_only}, "5"});
    if (heard.failure) {
      EXPECT_EQ(heard.failure->code, Errc::kIo) << heard.what();
    }
    return heard.words.size();  // an event and its end
  };
  EXPECT_EQ(policy_reports_of("Node", false), 2u);
  EXPECT_EQ(policy_reports_of("Pod", false), 1u);
  EXPECT_EQ(policy_reports_of("PartialObjectMetadata", false), 1u);
  EXPECT_EQ(policy_reports_of("PartialObjectMetadata", true), 2u);
  EXPECT_EQ(policy_reports_of("Node", true), 2u);
}

// Red when an object is taken for another that was asked for.
TEST_F(ApiClusterTest, RefusesAnAnswerAboutAnotherObject) {
  const struct {
    const char* body;
    bool is_it;
  } rows[] = {{R"({"metadata":{"name":"a","namespace":"n"}})", true},
              {R"({"metadata":{"name":"\u0061","namespace":"n"}})", true},
              {R"({"metadata":{"name":"b","namespace":"n"}})", false},
              {R"({"metadata":{"name":"a","namespace":"m"}})", false},
              {R"({"metadata":{"name":"a"}})", false},
              {R"({"kind":"Status"})", false},
              {"ok", false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.body);
    ApiWorld world(*this, [&](const SeenRequest&, Connection& to) { to.send(http_response(200, row.body)); });
    Heard heard;
    const CallPtr call = world.cluster->get(
        {.resource = {"a.io", "v1", "xs", "X", true}, .namespace_ = "n", .name = "a"}, heard.write());
    ASSERT_TRUE(world.run_until([&] { return heard.over; }));
    EXPECT_EQ(!heard.failure, row.is_it) << heard.what();
    if (heard.failure) {
      EXPECT_EQ(heard.failure->code, Errc::kIo);
    }
  }
}

TEST_F(ApiClusterTest, ListsAreBounded) {
  ApiWorld world(*this, [](const SeenRequest&, Connection& to) {
    to.send(http_response(200, page("\"" + std::string(9 << 20, 'x') + "\"", "")));
  });
  Heard heard = world.list();
  ASSERT_FALSE(heard.failure) << "one item that is too large is not fatal to the list: " << heard.what();
  ASSERT_EQ(heard.words.size(), 2u);
  EXPECT_LT(heard.words[0].size(), (2u << 20) + 100) << "its end is missing";
  const std::string body = page("\"" + std::string(4 << 20, 'x') + "\"", "more");
  size_t pages = 0;
  world.server.on_request_ = [&](const SeenRequest&, Connection& to) {
    ++pages;
    to.send(http_response(200, body));
  };
  heard = world.list();
  ASSERT_TRUE(heard.failure);
  EXPECT_EQ(heard.failure->code, Errc::kTooLarge) << heard.what();
  EXPECT_EQ(pages, 16u) << "64 MiB over all pages";
  // Pages without end, and with next to nothing on them: red when all thousand are asked for.
  for (const char* items : {"", "{}"}) {
    pages = 0;
    world.server.on_request_ = [&](const SeenRequest&, Connection& to) {
      ++pages;
      to.send(http_response(200, page(items, "more")));
    };
    heard = world.list();
    ASSERT_TRUE(heard.failure);
    EXPECT_EQ(heard.failure->code, Errc::kIo) << heard.what();
    EXPECT_LE(pages, 10u);
  }
}

// Whatever is answered, a call makes a few requests and ends. Red when anything below the port tries again
// and again.
TEST_F(ApiClusterTest, BoundsTheRequestsOfACall) {
  uint32_t dice = 1;
  const auto below = [&](uint32_t bound) {
    dice = dice * 1'664'525 + 1'013'904'223;
    return (dice >> 16) % bound;
  };
  const int statuses[] = {200, 200, 200, 204, 301, 302, 307, 400, 401, 401, 403,
                          404, 404, 408, 409, 410, 422, 429, 500, 502, 503, 504};
  const std::string bodies[] = {"",
                                "{}",
                                "5",
                                "<html>",
                                page("", "more"),
                                page("{}", "more"),
                                page("{},{}", ""),
                                R"({"kind":"APIGroupList","groups":[{"name":"a","versions":[]}]})",
                                R"({"kind":"Status","code":410,"reason":"Expired"})",
                                "{\"type\":\"BOOKMARK\",\"object\":{}}\n",
                                "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n",
                                "{\"type\":\"ADD"};
  const char* headers[] = {"", "Retry-After: 0\r\n", "Location: /again\r\n", "Connection: close\r\n"};
  size_t requests = 0;
  ApiWorld world(*this, [&](const SeenRequest&, Connection& to) {
    ++requests;
    if (below(16) == 0) return to.reset();
    const std::string whole =
        http_response(statuses[below(std::size(statuses))], bodies[below(std::size(bodies))],
                      headers[below(std::size(headers))]);
    if (below(16) != 0) return to.send(whole);
    to.send(whole.substr(0, whole.size() - std::min<size_t>(whole.size(), 3)));
    to.reset();
  });
  for (int round = 0; round < 300; ++round) {
    Heard heard;
    requests = 0;
    const int asked_before = world.credentials->asked;
    CallPtr call;
    const auto on_object = heard.on_object();
    const auto on_failure = heard.on_failure();
    switch (round % 5) {
      case 0:
        call = world.cluster->list({{kNodes}}, heard.list());
        break;
      case 1:
        call = world.cluster->watch({{kNodes}, "1"}, heard.watch());
        break;
      case 2:
        call = world.cluster->write({.verb = Verb::kUpdate, .resource = kSlices, .name = "s", .body = "{}"},
                                    heard.write());
        break;
      case 3:
        call = world.cluster->get({kSlices, "", "s"}, heard.write());
        break;
      default:
        call = world.cluster->discover("a.io", "v1", [&](const Words&) { on_object(""); }, on_failure);
    }
    ASSERT_TRUE(world.run_until([&] { return heard.over; })) << round;
    EXPECT_LE(requests, round % 5 == 0 ? 40u : 8u) << round;
    EXPECT_LE(world.credentials->asked - asked_before, round % 5 == 0 ? 20 : 4) << round;
  }
}

TEST_F(ApiClusterTest, DecodesTheSameEventsHoweverBytesAreCut) {
  const std::string lines =
      "{\"type\":\"ADDED\",\"object\":{\"a\":1}}\n{\"type\":\"MODIFIED\",\"object\":{\"a\":2}}\n\n"
      "{\"type\":\"DELETED\",\"object\":{}}\n{\"type\":\"BOOKMARK\",\"object\":{\"b\":0}}\n";
  size_t cut = 0;
  ApiWorld world(*this, [&](const SeenRequest&, Connection& to) {
    to.send(fake::chunked_head());
    if (cut > 0) to.send(chunk(lines.substr(0, cut)));
    if (cut < lines.size()) to.send(chunk(lines.substr(cut)));
    to.send(fake::last_chunk());
  });
  for (; cut <= lines.size(); ++cut)
    EXPECT_EQ(world.watch().words,
              (Words{R"(event 0 {"a":1})", R"(event 1 {"a":2})", "event 2 {}", R"(event 3 {"b":0})", "end"}))
        << "cut at " << cut;
  EXPECT_EQ(world.server.requests[0].target,
            "/api/v1/nodes?watch=1&allowWatchBookmarks=true&resourceVersion=5");
}

TEST_F(ApiClusterTest, ReportsAnOversizedEventWithoutItsEnd) {
  ApiWorld world(*this, [&](const SeenRequest&, Connection& to) {
    to.send(fake::chunked_head() +
            chunk("{\"type\":\"ADDED\",\"object\":{\"a\":\"" + std::string(9 << 20, 'x') + "\"}}\n") +
            chunk("{\"type\":\"DELETED\",\"object\":{}}\n") + fake::last_chunk());
  });
  const Heard heard = world.watch();
  ASSERT_EQ(heard.words.size(), 3u) << heard.what();
  EXPECT_TRUE(heard.words[0].starts_with("event 0 {\"a\":\"xxx")) << heard.words[0].substr(0, 40);
  EXPECT_LT(heard.words[0].size(), (2u << 20) + 100);
  EXPECT_EQ(heard.words[1], "event 2 {}");
}

TEST_F(ApiClusterTest, AWatchTruncatedAtAnyByteIsAFailure) {
  const std::string event = chunk("{\"type\":\"ADDED\",\"object\":{}}\n");
  const std::string stream = fake::chunked_head() + event + fake::last_chunk();
  for (size_t cut = 0; cut < stream.size(); ++cut) {
    ApiWorld world(*this, [&](const SeenRequest&, Connection& to) {
      to.send(stream.substr(0, cut));
      to.close();
    });
    const Heard heard = world.watch();
    ASSERT_TRUE(heard.failure) << "cut at " << cut;
    EXPECT_EQ(heard.failure->code, Errc::kIo) << "cut at " << cut << ": " << heard.what();
    EXPECT_LE(heard.words.size(), 2u);
  }
}

TEST_F(ApiClusterTest, ReportsFailuresOfAWatch) {
  const struct {
    std::string stream;  // pieces of the body
    Errc code;
    int http_status;
    const char* words;
  } rows[] = {
      {R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}})"
       "\n",
       Errc::kGone, 410, "watch nodes: the server said 410 Expired: too old"},
      {R"({"type":"ERROR","object":{"kind":"Status","code":500,"reason":"InternalError"}})"
       "\n",
       Errc::kBusy, 500, "500 InternalError"},
      {"garbage\n", Errc::kIo, 0, "watch event"},
      {R"({"type":"WHAT","object":{}})"
       "\n",
       Errc::kIo, 0, "\"\\x22WHAT\\x22\" is not known"},
      {R"({"type":"ADDED","obj)", Errc::kIo, 0, "in the middle of an event"},
      {std::string(9 << 20, 'x') + "\n", Errc::kTooLarge, 0, "a line of more than 2097153"},
  };
  for (const auto& row : rows) {
    ApiWorld world(*this, [&](const SeenRequest&, Connection& to) {
      to.send(fake::chunked_head() + chunk("{\"type\":\"ADDED\",\"object\":{}}\n") + chunk(row.stream) +
              fake::last_chunk());
    });
    const Heard heard = world.watch();
    ASSERT_TRUE(heard.failure) << row.words;
    EXPECT_EQ(heard.words, (Words{"event 0 {}", "failed"}));
    EXPECT_EQ(heard.failure->code, row.code) << heard.what();
    EXPECT_EQ(heard.failure->http_status, row.http_status);
    EXPECT_NE(heard.what().find(row.words), std::string::npos) << heard.what();
  }
}

// Red when a server or a proxy delays a write without end by a byte now and then.
TEST_F(ApiClusterTest, TimesOutOnAnAnswerThatDrips) {
  for (const bool is_list : {false, true}) {
    SCOPED_TRACE(is_list);
    ApiWorld world(*this,
                   [](const SeenRequest&, Connection& to) { to.send(fake::chunked_head() + chunk("{")); });
    Heard heard;
    const CallPtr call = is_list ? world.cluster->list({{kNodes}}, heard.list())
                                 : world.cluster->get({.resource = kSlices, .name = "a"}, heard.write());
    ASSERT_TRUE(world.run_until([&] { return world.server.requests.size() == 1; }));
    world.settle();
    for (int second = 0; second < (is_list ? 280 : 40); second += 20) {
      world.time.advance(20s);
      world.server.tcp().connection(0).send(chunk(" "));
      world.settle();
    }
    EXPECT_FALSE(heard.over) << heard.what();
    world.time.advance(20s);
    ASSERT_TRUE(heard.over);
    EXPECT_EQ(heard.failure->code, Errc::kTimeout) << heard.what();
    EXPECT_NE(heard.what().find("no end of the response within"), std::string::npos) << heard.what();
  }
}

TEST_F(ApiClusterTest, TimesOutOnASilentWatch) {
  ApiWorld world(*this, [](const SeenRequest&, Connection& to) {
    to.send(fake::chunked_head() + chunk("{\"type\":\"ADDED\",\"object\":{}}\n"));
  });
  Heard heard;
  const CallPtr call = world.cluster->watch({{kNodes}, "5"}, heard.watch());
  ASSERT_TRUE(world.run_until([&] { return heard.words.size() == 1; }));
  world.time.advance(329s);
  EXPECT_FALSE(heard.over);
  world.time.advance(1s);
  ASSERT_TRUE(heard.over);
  EXPECT_EQ(heard.failure->code, Errc::kTimeout) << heard.what();
}

TEST_F(ApiClusterTest, RefusalsContainTheServersMessage) {
  const struct {
    std::string response;
    Failure want;
  } rows[] = {
      {http_response(429, R"({"kind":"Status","reason":"TooManyRequests","message":"slow down"})",
                     "Retry-After: 7\r\n"),
       {Errc::kBusy, 429, "TooManyRequests", "list nodes: the server said 429 TooManyRequests: slow down",
        Millis{7'000}}},
      {http_response(500, "oops"), {Errc::kBusy, 500, "", "list nodes: the server said 500: oops", {}}},
      {http_response(403, R"({"kind":"Status","reason":"Forbidden","message":"no"})"),
       {Errc::kDenied, 403, "Forbidden", "list nodes: the server said 403 Forbidden: no", {}}},
      {http_response(307, "", "Location: https://elsewhere/\r\n"),
       {Errc::kIo,
        307,
        "",
        "list nodes: the server said 307 (a redirect to \"https://elsewhere/\", which is not followed: give "
        "the address of the API "
        "server itself)",
        {}}},
      {"HTTP/1.1 404 X\r\nContent-Length: 50\r\n\r\n{\"kind\":",
       {Errc::kNotFound, 404, "", "list nodes: the server said 404: {\"kind\":", {}}},
  };
  for (const auto& row : rows) {
    ApiWorld world(*this, [&](const SeenRequest&, Connection& to) {
      to.send(row.response);
      to.close();
    });
    const Heard heard = world.list();
    ASSERT_TRUE(heard.failure);
    EXPECT_EQ(*heard.failure, row.want) << heard.what();
  }
}

TEST_F(ApiClusterTest, TruncatesAnEndlessRefusal) {
  ApiWorld world(*this, [](const SeenRequest&, Connection& to) {
    to.send("HTTP/1.1 503 X\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(std::string(100'000, 'z')));
  });
  const Heard heard = world.list();
  ASSERT_TRUE(heard.failure);
  EXPECT_EQ(heard.failure->http_status, 503);
  EXPECT_LT(heard.what().size(), 1000u);
}

TEST_F(ApiClusterTest, RefusesUnrequestedCompression) {
  ApiWorld world(*this, [](const SeenRequest&, Connection& to) {
    to.send(http_response(200, "\x1f\x8b", "Content-Encoding: gzip\r\n"));
  });
  const Heard heard = world.list();
  ASSERT_TRUE(heard.failure);
  EXPECT_EQ(heard.failure->code, Errc::kIo);
  EXPECT_NE(heard.what().find("gzip"), std::string::npos) << heard.what();
}

TEST_F(ApiClusterTest, ReloadsARefusedTokenOnce) {
  ApiWorld world(*this, [](const SeenRequest& request, Connection& to) {
    to.send(request.header("authorization") == "Bearer fresh"
                ? http_response(200, page("", ""))
                : http_response(401, R"({"kind":"Status","reason":"Unauthorized"})"));
  });
  Credentials fresh = *world.credentials->next;
  fresh.token = "fresh";
  world.credentials->after_refusal = fresh;
  EXPECT_EQ(world.list().words, (Words{"done 7"}));
  EXPECT_EQ(world.credentials->invalidated, (Words{"secret"}));

  fresh.token = "stale";
  world.credentials->next = fresh;
  world.credentials->after_refusal.reset();
  const Heard heard = world.list();
  ASSERT_TRUE(heard.failure);
  EXPECT_EQ(heard.failure->code, Errc::kDenied);
  EXPECT_EQ(heard.what(),
            "list nodes: the server said 401 Unauthorized (with credentials from a test, loaded twice)");
  EXPECT_EQ(world.server.requests.size(), 4u) << "twice, not more";
}

TEST_F(ApiClusterTest, SendsNothingWithoutCredentials) {
  ApiWorld world(*this, [](const SeenRequest&, Connection&) {});
  world.credentials->next = Error{Errc::kNotFound, "\"/x/token\": cannot be read"};
  Heard heard = world.list();
  ASSERT_TRUE(heard.failure);
  EXPECT_EQ(heard.failure->code, Errc::kIo) << "a missing file is not a 404";
  EXPECT_EQ(heard.what(), "list nodes: credentials: \"/x/token\": cannot be read");
  world.credentials->next =
      Credentials{{.server = *http::decode_url("https://127.0.0.1"), .ca_pem = "no certificate"}, ""};
  heard = world.list();
  ASSERT_TRUE(heard.failure);
  EXPECT_NE(heard.what().find("certificates from a test"), std::string::npos) << heard.what();
  EXPECT_EQ(world.server.connections(), 0u);
}

TEST_F(ApiClusterTest, OpensNewConnectionsForChangedCertificates) {
  ApiWorld world(
      *this, [](const SeenRequest&, Connection& to) { to.send(http_response(200, page("", ""))); },
      http::Wire::kTls);
  EXPECT_EQ(world.list().words, (Words{"done 7"}));
  EXPECT_EQ(world.list().words, (Words{"done 7"}));
  EXPECT_EQ(world.server.connections(), 1u);
  Credentials next = *world.credentials->next;
  next.token = "another token";
  world.credentials->next = next;
  EXPECT_EQ(world.list().words, (Words{"done 7"}));
  EXPECT_EQ(world.server.connections(), 1u) << "a token is not part of a connection";
  next.access.ca_pem += http::authority().cert_pem();
  world.credentials->next = next;
  EXPECT_EQ(world.list().words, (Words{"done 7"}));
  EXPECT_EQ(world.server.connections(), 2u);
}

TEST_F(ApiClusterTest, LogsEachWarningOnce) {
  ApiWorld world(*this, [](const SeenRequest&, Connection& to) {
    to.send(http_response(200, page("", ""), "Warning: 299 - \"old\"\r\nWarning: 299 - \"odd\"\r\n"));
  });
  world.list();
  world.list();
  EXPECT_EQ(world.log.count("warning=old"), 1u) << world.log.all();
  EXPECT_EQ(world.log.count("warning=odd"), 1u);
  EXPECT_EQ(world.log.count("request=list nodes"), 2u);
}

TEST_F(ApiClusterTest, WritesReturnTheStoredObject) {
  ApiWorld world(*this, [](const SeenRequest& request, Connection& to) {
    const bool is_delete = request.method == "DELETE";
    to.send(http_response(request.method == "POST" ? 201 : 200,
                          is_delete ? R"({"kind":"Status","status":"Success"})" : "{\"stored\": 1}"));
  });
  EXPECT_EQ(world.write({.verb = Verb::kCreate, .resource = kSlices, .name = "s", .body = "{\"a\":1}"}).words,
            (Words{"done {\"stored\": 1}"}));
  EXPECT_EQ(world.write({.verb = Verb::kUpdate, .resource = kSlices, .name = "s", .body = "{}"}).words,
            (Words{"done {\"stored\": 1}"}));
  EXPECT_EQ(world.write({.verb = Verb::kDelete, .resource = kSlices, .name = "s", .uid = "u"}).words,
            (Words{"done "}));
  EXPECT_EQ(world.server.requests[0].body, "{\"a\":1}");
  EXPECT_EQ(world.server.requests[0].header("content-type"), "application/json");
  EXPECT_EQ(world.server.requests[2].body,
            R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u"}})");
}

// Red when any 200 means that an object is gone.
TEST_F(ApiClusterTest, ConfirmsADeleteOnlyByTheApiServersAnswer) {
  std::string said;
  ApiWorld world(*this, [&](const SeenRequest&, Connection& to) { to.send(http_response(200, said)); });
  for (const char* page :
       {"", "OK", "<html>maintenance</html>", "{}", R"({"kind":null})",
        R"({"kind":"Status","status":"Failure","code":404})",
        R"({"kind":"Status","status":"Success","details":{"name":"t"}})",
        R"({"kind":"ResourceSlice","metadata":{"name":"t"}})", R"({"kind":"Pod","metadata":{"name":"s"}})",
        R"({"kind":"ResourceSliceList","metadata":{},"items":[]})"}) {
    said = page;
    const Heard heard = world.write({.verb = Verb::kDelete, .resource = kSlices, .name = "s", .uid = "u"});
    ASSERT_TRUE(heard.failure) << page;
    EXPECT_EQ(heard.failure->code, Errc::kIo) << page;
    EXPECT_NE(heard.what().find("delete resourceslices.resource.k8s.io s"), std::string::npos)
        << heard.what();
  }
  said = R"({"kind":"ResourceSlice","metadata":{"name":"s","deletionTimestamp":"2026-01-01T00:00:00Z"}})";
  EXPECT_EQ(world.write({.verb = Verb::kDelete, .resource = kSlices, .name = "s", .uid = "u"}).words,
            (Words{"done "}));
  for (const char* status :
       {R"({"kind":"Status","metadata":{},"status":"Success","details":{"name":"s","uid":"u"}})",
        R"({"kind":"Status","status":"Success"})"}) {
    said = status;
    EXPECT_EQ(world.write({.verb = Verb::kDelete, .resource = kSlices, .name = "s", .uid = "u"}).words,
              (Words{"done "}))
        << status;
  }
}

TEST_F(ApiClusterTest, RepeatsUpdatesAndNotCreates) {
  size_t closed = 0;
  ApiWorld world(*this, [](const SeenRequest&, Connection& to) { to.send(http_response(200, "{}")); });
  const auto close_second = [&](const SeenRequest& request, Connection& to) {
    if (request.connection == closed) return to.reset();
    to.send(http_response(200, "{}"));
  };
  world.write({.verb = Verb::kUpdate, .resource = kSlices, .name = "s", .body = "{}"});
  world.server.on_request_ = close_second;
  EXPECT_EQ(world.write({.verb = Verb::kUpdate, .resource = kSlices, .name = "s", .body = "{}"}).words,
            (Words{"done {}"}));
  closed = 1;
  const Heard heard = world.write({.verb = Verb::kCreate, .resource = kSlices, .name = "s", .body = "{}"});
  ASSERT_TRUE(heard.failure);
  EXPECT_EQ(heard.failure->code, Errc::kIo);
  EXPECT_EQ(heard.what().find("create resourceslices.resource.k8s.io s: http://127.0.0.1:"), 0u)
      << heard.what();
}

TEST_F(ApiClusterTest, ReadsDiscoverySchemaAndVersion) {
  int status = 200;
  ApiWorld world(*this, [&](const SeenRequest& request, Connection& to) {
    const bool discovery = request.target == "/apis/a.io/v1";
    const std::string body = request.target == "/version" ? R"({"gitVersion":"v1.36.3","major":"1"})"
                             : discovery
                                 ? R"({"kind":"APIResourceList","groupVersion":"a.io/v1",)"
                                   R"("resources":[{"name":"xs"},{"name":"xs/status"},{"name":"ys"}]})"
                                 : R"({"openapi":"3.0.0"})";
    to.send(http_response(status, status == 200 ? body : ""));
  });
  std::vector<std::string> plurals;
  std::string schema = "untouched", version;
  int done = 0;
  Heard failed;
  const auto run = [&] {
    done = 0;
    const CallPtr a = world.cluster->discover(
        "a.io", "v1", [&](std::vector<std::string> got) { plurals = std::move(got), ++done; },
        failed.on_failure());
    const CallPtr b = world.cluster->schema(
        "a.io", "v1", [&](std::string_view got) { schema = got, ++done; }, failed.on_failure());
    const CallPtr c = world.cluster->server_info(
        [&](const ServerInfo& got) { version = got.git_version, ++done; }, failed.on_failure());
    EXPECT_TRUE(world.run_until([&] { return done + failed.words.size() == 3; }));
  };
  run();
  EXPECT_EQ(plurals, (Words{"xs", "ys"}));
  EXPECT_EQ(schema, R"({"openapi":"3.0.0"})");
  EXPECT_EQ(version, "v1.36.3");
  status = 404;
  run();
  EXPECT_EQ(schema, "");
  EXPECT_EQ(failed.words.size(), 2u) << "but a server without /version or discovery is a failure";
  EXPECT_EQ(failed.failure->code, Errc::kNotFound);
}

// Red when a document that has not changed is sent again, to the next process too; when a changed one is not read; and
// when a damaged or foreign file is taken for the document.
TEST_F(ApiClusterTest, ReadsAnUnchangedSchemaOnce) {
  std::string folder = testing::TempDir() + "schema-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::string etag = "\"A1\"", document = R"({"openapi":"3.0.0"})";
  std::vector<int> answers;
  std::vector<std::string> conditions;
  ApiWorld world(*this, [&](const SeenRequest& request, Connection& to) {
    conditions.push_back(request.header("if-none-match"));
    answers.push_back(!etag.empty() && conditions.back() == etag ? 304 : 200);
    if (answers.back() == 304) return to.send("HTTP/1.1 304 X\r\nEtag: " + etag + "\r\n\r\n");
    to.send(http_response(200, document, "Etag: " + etag + "\r\n"));
  });
  const std::string file = folder + "/schema_a.io_v1";
  const auto read = [&](const std::string& place) {
    world.remake(SchemaCache{world.executor, place});
    std::optional<std::string> schema;
    Heard failed;
    const CallPtr call =
        world.cluster->schema("a.io", "v1", [&](std::string_view got) { schema = got; }, failed.on_failure());
    EXPECT_TRUE(world.run_until([&] { return schema || failed.over; }));
    return schema.value_or("failed: " + failed.what());
  };
  EXPECT_EQ(read(folder), document);
  EXPECT_EQ(read(folder), document);
  EXPECT_EQ(answers, (std::vector{200, 304}));
  etag = "\"B2\"", document = R"({"openapi":"3.0.1"})";
  EXPECT_EQ(read(folder), document);
  EXPECT_EQ(read(folder), document);
  EXPECT_EQ(conditions, (Words{"", "\"A1\"", "\"A1\"", "\"B2\""}));
  EXPECT_EQ(answers, (std::vector{200, 304, 200, 304}));
  for (const char* damaged :
       {"", "\n", "\"B2\" 19", "\"B2\" 19\n", "\"B2\" 19\n{\"openapi\":", "\"B2\" x\n{}", "{}"}) {
    SCOPED_TRACE(damaged);
    ASSERT_TRUE(reactor::write_whole(file, damaged).ok());
    EXPECT_EQ(read(folder), document);
    EXPECT_EQ(conditions.back(), "");
  }
  // A server without ETags, and a folder that cannot be written.
  etag = "";
  EXPECT_EQ(read(folder), document);
  EXPECT_EQ(read(folder + "/none"), document);
  std::filesystem::remove_all(folder);
}

// Red when whatever answers is a server of no version, which can do next to nothing.
TEST_F(ApiClusterTest, RefusesAnAnswerWithoutAVersion) {
  ApiWorld world(
      *this, [](const SeenRequest&, Connection& to) { to.send(http_response(200, R"({"status":"ok"})")); });
  Heard failed;
  bool is_told = false;
  const CallPtr call =
      world.cluster->server_info([&](const ServerInfo&) { is_told = true; }, failed.on_failure());
  EXPECT_TRUE(world.run_until([&] { return is_told || failed.failure; }));
  EXPECT_FALSE(is_told);
}

// Only discovery's own words say that something is not served. Red when any 404, or any 200, counts as such.
TEST_F(ApiClusterTest, ReportsAbsenceOnlyIfDiscoverySaysSo) {
  const std::string kGroups =
      R"({"kind":"APIGroupList","groups":[{"name":"b.io","versions":[{"groupVersion":"b.io/v1"}]}]})";
  struct Answer {
    int status;
    std::string body;
  };
  const struct {
    const char* why;
    const char* group;
    Answer of_version, of_groups;
    std::string outcome;  // the plurals, or "failed"
  } rows[] = {
      {"the group-version is not named", "a.io", {404, "404 page not found"}, {200, kGroups}, ""},
      {"another version is", "b.io", {404, ""}, {200, kGroups}, "failed"},
      {"a load balancer", "a.io", {404, "default backend - 404"}, {404, "default backend - 404"}, "failed"},
      {"a load balancer with manners", "a.io", {404, ""}, {200, "<html>welcome</html>"}, "failed"},
      {"another kind", "a.io", {404, ""}, {200, R"({"kind":"Status","groups":[{"versions":[]}]})"}, "failed"},
      {"no groups", "a.io", {404, ""}, {200, R"({"kind":"APIGroupList","groups":[]})"}, "failed"},
      {"null groups", "a.io", {404, ""}, {200, R"({"kind":"APIGroupList","groups":null})"}, "failed"},
      {"half a group", "a.io", {404, ""}, {200, R"({"kind":"APIGroupList","groups":[{}]})"}, "failed"},
      {"groups refused", "a.io", {404, ""}, {403, ""}, "failed"},
      {"groups busy", "a.io", {404, ""}, {503, ""}, "failed"},
      {"the version is refused", "a.io", {403, ""}, {200, kGroups}, "failed"},
      {"core is never absent", "", {404, ""}, {200, kGroups}, "failed"},
      {"no plurals",
       "a.io",
       {200, R"({"kind":"APIResourceList","groupVersion":"a.io/v1","resources":[]})"},
       {500, ""},
       ""},
      {"plurals",
       "a.io",
       {200, R"({"kind":"APIResourceList","groupVersion":"a.io/v1","resources":[{"name":"xs"}]})"},
       {500, ""},
       "xs"},
      {"of core",
       "",
       {200, R"({"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"nodes"}]})"},
       {500, ""},
       "nodes"},
      {"of another version",
       "a.io",
       {200, R"({"kind":"APIResourceList","groupVersion":"a.io/v2","resources":[]})"},
       {500, ""},
       "failed"},
      {"another kind of list",
       "a.io",
       {200, R"({"kind":"APIGroup","groupVersion":"a.io/v1","resources":[]})"},
       {500, ""},
       "failed"},
      {"no resources",
       "a.io",
       {200, R"({"kind":"APIResourceList","groupVersion":"a.io/v1"})"},
       {500, ""},
       "failed"},
      {"a resource that is none",
       "a.io",
       {200, R"({"kind":"APIResourceList","groupVersion":"a.io/v1","resources":[5]})"},
       {500, ""},
       "failed"},
      {"half of it",
       "a.io",
       {200, R"({"kind":"APIResourceList","groupVersion":"a.io/v1","resources":[)"},
       {500, ""},
       "failed"},
      {"nothing", "a.io", {200, ""}, {500, ""}, "failed"},
  };
  for (const auto& row : rows) {
    ApiWorld world(*this, [&](const SeenRequest& request, Connection& to) {
      const Answer& answer = request.target == "/apis" ? row.of_groups : row.of_version;
      to.send(http_response(answer.status, answer.body));
    });
    std::string outcome;
    bool over = false;
    const CallPtr call = world.cluster->discover(
        row.group, "v1",
        [&](const Words& plurals) {
          for (const std::string& plural : plurals) outcome += plural;
          over = true;
        },
        [&](const Failure&) {
          outcome = "failed";
          over = true;
        });
    EXPECT_TRUE(world.run_until([&] { return over; })) << row.why;
    EXPECT_EQ(outcome, row.outcome) << row.why;
  }
}

// A handler that drops its own call: nothing more is heard, though more was already there.
TEST_F(ApiClusterTest, IsSilentWhenDroppedInItsHandler) {
  ApiWorld world(*this, [](const SeenRequest& request, Connection& to) {
    if (request.target.find("watch=1") != std::string::npos)
      return to.send(fake::chunked_head() +
                     chunk("{\"type\":\"ADDED\",\"object\":{}}\n{\"type\":\"ADDED\",\"object\":{}}\n") +
                     fake::last_chunk());
    to.send(http_response(request.target.find("forbidden") == std::string::npos ? 200 : 403,
                          page("{},{}", "more")));
  });
  for (const bool refused : {false, true}) {
    int heard = 0;
    CallPtr call;
    const auto drop = [&](const auto&...) {
      ++heard;
      call.reset();
    };
    const Scope scope{.resource = kNodes, .field_selector = refused ? "forbidden" : ""};
    call = world.cluster->list({scope}, {drop, drop, drop});
    EXPECT_TRUE(world.run_until([&] { return heard > 0; }));
    world.settle();
    EXPECT_EQ(heard, 1);
    call = world.cluster->watch({scope, "1"}, {drop, drop, drop});
    EXPECT_TRUE(world.run_until([&] { return heard > 1; }));
    world.settle();
    EXPECT_EQ(heard, 2);
    call = world.cluster->write(
        {.verb = Verb::kUpdate, .resource = kSlices, .name = refused ? "forbidden" : "s"}, {drop, drop});
    EXPECT_TRUE(world.run_until([&] { return heard > 2; }));
    world.settle();
    EXPECT_EQ(heard, 3);
  }
}

TEST_F(ApiClusterTest, IsSilentWhenDroppedBeforeTheStart) {
  ApiWorld world(*this,
                 [](const SeenRequest&, Connection& to) { to.send(http_response(200, page("", ""))); });
  for (int turns = 0; turns < 12; ++turns) {
    Heard heard;
    CallPtr call = world.cluster->list({{kNodes}}, heard.list());
    for (int i = 0; i < turns && !heard.over; ++i) {
      world.time.advance(0ms);
      loop.turn(2ms);
    }
    const auto before = heard.words;
    call.reset();
    world.settle();
    EXPECT_EQ(heard.words, before) << turns;
  }
}

}  // namespace
}  // namespace sliced::kube
