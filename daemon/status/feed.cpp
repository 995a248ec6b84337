#include "daemon/status/feed.h"

#include <utility>
#include <vector>

namespace sliced::status {

// No timer runs without clients.
struct Feed::Clients {
  void tell(std::string_view events);
  void keep_alive();
  reactor::Scheduler& scheduler;
  size_t max;
  std::set<Client*> all = {};
  reactor::Ticket next = nullptr;
};

// One browser's stream, until it goes or is cut.
class Feed::Client final : public http::Call {
 public:
  Client(std::shared_ptr<Clients> clients, http::Response& response)
      : clients_(std::move(clients)), response_(response) {
    clients_->all.insert(this);
    if (!clients_->next) clients_->keep_alive();
  }
  ~Client() override { clients_->all.erase(this); }
  // Returns false after it is disconnected.
  bool say(std::string_view text) {
    if (response_.unsent_bytes() + text.size() > kUnsentMax) {
      response_.abandon();
      return false;
    }
    response_.send_body(std::string(text));
    return true;
  }

 private:
  const std::shared_ptr<Clients> clients_;
  http::Response& response_;
};

void Feed::Clients::tell(std::string_view events) {
  // A disconnected client stays in the list until its connection ends, and is skipped.
  const std::vector<Client*> listening(all.begin(), all.end());
  for (Client* client : listening)
    if (!client->say(events)) all.erase(client);
}

void Feed::Clients::keep_alive() {
  next = scheduler.after(kSilenceMax, [this] {
    const auto over = std::move(next);
    tell(":\n\n");
    if (!all.empty()) keep_alive();
  });
}

Feed::Feed(reactor::Scheduler& scheduler, size_t clients_max)
    : clients_(std::make_shared<Clients>(Clients{.scheduler = scheduler, .max = clients_max})) {}
Feed::~Feed() {
  clients_->max = 0;
  clients_->next.reset();
}

LongPage Feed::page(std::function<std::string()> welcome) {
  const Answer head{.content_type = "text/event-stream"};
  auto serve = [clients = clients_, welcome = std::move(welcome), head](
                   std::string_view, http::Response& response) -> std::unique_ptr<http::Call> {
    if (clients->all.size() >= clients->max) {
      send(response,
           {.status = 503, .body = "too many listeners; retry later\n", .headers = {{"retry-after", "10"}}});
      return nullptr;
    }
    begin(response, head);
    auto client = std::make_unique<Client>(clients, response);
    client->say("retry: 2000\n\n" + welcome());
    return client;
  };
  return {.serve = std::move(serve), .head = [head](std::string_view) { return Answer(head); }};
}

void Feed::tell(std::string_view events) { clients_->tell(events); }

size_t Feed::clients() const { return clients_->all.size(); }

// JSON has no line ends of its own.
std::string event_text(std::string_view name, const kube::Json& data) {
  return "event: " + std::string(name) + "\ndata: " + kube::encode_json(data) + "\n\n";
}

}  // namespace sliced::status
