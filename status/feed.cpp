#include "status/feed.h"

#include <utility>
#include <vector>

namespace sliced::status {

struct Feed::Clients {
  const size_t max;
  std::set<Client*> all = {};
};

// One browser's stream, until it goes or is cut.
class Feed::Client final : public http::Call {
 public:
  Client(std::shared_ptr<Clients> clients, http::Response& response)
      : clients_(std::move(clients)), response_(response) {
    clients_->all.insert(this);
  }
  ~Client() override { clients_->all.erase(this); }
  // False once it is cut.
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

Feed::Feed(reactor::Scheduler& scheduler, size_t clients_max)
    : scheduler_(scheduler), clients_(std::make_shared<Clients>(Clients{clients_max})) {
  keep_alive();
}
Feed::~Feed() = default;

LongPage Feed::page(std::function<std::string()> welcome) {
  const Answer head{.content_type = "text/event-stream"};
  auto serve = [clients = clients_, welcome = std::move(welcome), head](
                   std::string_view, http::Response& response) -> std::unique_ptr<http::Call> {
    if (clients->all.size() >= clients->max) {
      send(response, {.status = 503,
                      .body = "as many listen as may; ask again later\n",
                      .headers = {{"retry-after", "10"}}});
      return nullptr;
    }
    begin(response, head);
    auto client = std::make_unique<Client>(clients, response);
    client->say("retry: 2000\n\n" + welcome());
    return client;
  };
  return {.serve = std::move(serve), .head = [head](std::string_view) { return head; }};
}

void Feed::tell(std::string_view events) {
  // Who is cut stays here until its connection lets it go, and is passed over.
  const std::vector<Client*> all(clients_->all.begin(), clients_->all.end());
  for (Client* client : all)
    if (!client->say(events)) clients_->all.erase(client);
}

size_t Feed::clients() const { return clients_->all.size(); }

void Feed::keep_alive() {
  next_ = scheduler_.after(kSilenceMax, [this] {
    tell(":\n\n");
    keep_alive();
  });
}

// JSON has no line ends of its own.
std::string event_text(std::string_view name, const kube::Json& data) {
  return "event: " + std::string(name) + "\ndata: " + kube::encode_json(data) + "\n\n";
}

}  // namespace sliced::status
