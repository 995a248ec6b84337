#include "t/interop/process/api_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "kube/objects/json.h"
#include "reactor/base/line_writer.h"
#include "reactor/base/text.h"

namespace sliced::process {
namespace {

using kube::Json;

struct Request {
  std::string method, path, query, body;
  bool asks(std::string_view part) const { return query.find(part) != std::string::npos; }
};

std::string kind_of(const std::string& plural) {
  for (const auto& [known, kind] : {std::pair{"nodes", "Node"},
                                    {"sriovresourcepolicies", "SriovResourcePolicy"},
                                    {"deviceexposurepolicies", "DeviceExposurePolicy"},
                                    {"deviceattributes", "DeviceAttributes"},
                                    {"nodedevicereports", "NodeDeviceReport"},
                                    {"pods", "Pod"},
                                    {"resourceclaims", "ResourceClaim"},
                                    {"resourceslices", "ResourceSlice"}})
    if (plural == known) return kind;
  return "Thing";
}

}  // namespace

struct ApiServer::State {
  explicit State(bool watch_list) : has_watch_list(watch_list) {}

  struct Watch {
    int fd;
    std::string plural, query;
  };

  bool read_request(int fd, std::string& bytes, Request& out);
  bool answer(int fd, const Request& request);
  ObjectSet set_of(const Request& request, const std::string& plural) const;
  bool list(int fd, const Request& request, const std::string& plural);
  bool watch(int fd, const Request& request, const std::string& plural);
  bool store(int fd, const Request& request);
  bool get(int fd, const std::string& slice) const;
  bool send_event(int fd, const std::string& type, const std::string& object) const {
    const std::string line = R"({"type":")" + type + R"(","object":)" + object + "}\n";
    return send(fd, hex(line.size(), 8) + "\r\n" + line + "\r\n");
  }
  static bool send(int fd, const std::string& bytes) { return write_all(fd, bytes.data(), bytes.size()); }
  static bool respond(int fd, int status, const std::string& body) {
    return send(fd, "HTTP/1.1 " + std::to_string(status) +
                        " X\r\nContent-Type: application/json\r\nContent-Length: " +
                        std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  void serve_connection(int fd);

  const bool has_watch_list;
  int listening = -1;
  mutable std::mutex mutex;
  std::map<std::string, ObjectSet> sets;
  std::map<std::string, std::string> slices;  // by name, as stored
  std::map<std::string, std::string> held;    // by name; of held_driver; never read here
  std::string held_driver;
  std::set<std::string> devices_ever;
  std::vector<Watch> watches;
  std::set<int> open;  // connections
  uint64_t version = 1'000'000;
  bool is_over = false;
  size_t threads = 0;

  std::set<std::string> devices() const {
    std::set<std::string> names;
    for (const auto& [name, text] : slices) {
      const auto json = kube::decode_json(text);
      const Json* devices = json->find({"spec", "devices"});
      if (devices != nullptr && devices->array() != nullptr)
        for (const Json& device : *devices->array()) names.insert(std::string(device.text("name")));
    }
    return names;
  }
};

bool ApiServer::State::read_request(int fd, std::string& bytes, Request& out) {
  size_t end = std::string::npos, wanted = 0;
  char some[16'384];
  for (;;) {
    if (end == std::string::npos && (end = bytes.find("\r\n\r\n")) != std::string::npos) {
      const std::string head = lower(bytes.substr(0, end));
      const size_t at = head.find("content-length:");
      wanted = at == std::string::npos ? 0 : std::strtoul(head.c_str() + at + 15, nullptr, 10);
    }
    if (end != std::string::npos && bytes.size() >= end + 4 + wanted) break;
    const ssize_t size = read(fd, some, sizeof some);
    if (size <= 0) return false;
    bytes.append(some, static_cast<size_t>(size));
  }
  const auto words = split(std::string_view(bytes).substr(0, bytes.find("\r\n")), ' ');
  const std::string target(words.at(1));
  const size_t question = target.find('?');
  out = {std::string(words.at(0)), target.substr(0, question),
         question == std::string::npos ? "" : target.substr(question + 1), bytes.substr(end + 4, wanted)};
  bytes.erase(0, end + 4 + wanted);
  return true;
}

bool ApiServer::State::answer(int fd, const Request& request) {
  if (request.path == "/version")
    return respond(fd, 200, R"({"major":"1","minor":"36","gitVersion":"v1.36.3"})");
  const std::string plural = request.path.substr(request.path.rfind('/') + 1);
  if (request.method != "GET") return store(fd, request);
  if (request.path.starts_with("/openapi") || request.path == "/apis" || request.path == "/api")
    return respond(fd, 404, R"({"kind":"Status","status":"Failure","reason":"NotFound","code":404})");
  if (request.path.find("/resourceslices/") != std::string::npos) return get(fd, plural);
  if (request.asks("watch=")) return watch(fd, request, plural);
  return list(fd, request, plural);
}

// A field selector names a driver, and a slice has it.
bool selects(const std::string& query, const std::string& slice) {
  const auto json = kube::decode_json(slice);
  const Json* driver = json->find({"spec", "driver"});
  return driver != nullptr && driver->string() != nullptr &&
         query.find(*driver->string()) != std::string::npos;
}

ObjectSet ApiServer::State::set_of(const Request& request, const std::string& plural) const {
  const std::lock_guard lock(mutex);
  if (plural == "resourceslices") {
    std::vector<std::string> own;
    for (const auto& [name, text] : slices)
      if (selects(request.query, text)) own.push_back(text);
    if (!held.empty() && request.query.find(held_driver) != std::string::npos)
      for (const auto& [name, text] : held) own.push_back(text);
    const size_t count = own.size();
    return {count, [own = std::move(own)](size_t index) { return own[index]; }};
  }
  const auto at = sets.find(plural);
  return at == sets.end() ? ObjectSet{} : at->second;
}

bool ApiServer::State::list(int fd, const Request& request, const std::string& plural) {
  const ObjectSet set = set_of(request, plural);
  const std::string head = R"({"kind":")" + kind_of(plural) +
                           R"(List","apiVersion":"v1","metadata":{"resourceVersion":"1000"},"items":[)";
  const auto piece = [&](const std::string& text) {
    return text.empty() || send(fd, hex(text.size(), 8) + "\r\n" + text + "\r\n");
  };
  bool good =
      send(fd, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n") &&
      piece(head);
  for (size_t i = 0; good && i < set.count; ++i) good = piece((i == 0 ? "" : ",") + set.make(i));
  return good && piece("]}") && send(fd, "0\r\n\r\n");
}

bool ApiServer::State::watch(int fd, const Request& request, const std::string& plural) {
  const bool initial = request.asks("sendInitialEvents=true");
  if (initial && !has_watch_list)
    return respond(fd, 422, R"({"kind":"Status","status":"Failure","reason":"Invalid","code":422})");
  const ObjectSet set = initial ? set_of(request, plural) : ObjectSet{};
  bool good =
      send(fd, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (size_t i = 0; good && i < set.count; ++i) good = send_event(fd, "ADDED", set.make(i));
  if (initial)
    good =
        good &&
        send_event(
            fd, "BOOKMARK",
            R"({"kind":")" + kind_of(plural) +
                R"(","metadata":{"resourceVersion":"1000","annotations":{"k8s.io/initial-events-end":"true"}}})");
  if (!good) return false;
  {
    const std::lock_guard lock(mutex);
    watches.push_back({fd, plural, request.query});
  }
  char byte;
  while (read(fd, &byte, 1) > 0) {
  }
  return false;
}

bool ApiServer::State::get(int fd, const std::string& slice) const {
  std::string text;
  {
    const std::lock_guard lock(mutex);
    if (const auto at = slices.find(slice); at != slices.end()) text = at->second;
    if (const auto at = held.find(slice); at != held.end()) text = at->second;
  }
  if (!text.empty()) return respond(fd, 200, text);
  return respond(fd, 404, R"({"kind":"Status","status":"Failure","reason":"NotFound","code":404})");
}

bool ApiServer::State::store(int fd, const Request& request) {
  static const std::string kDeleted = R"({"kind":"Status","status":"Success"})";
  auto body = kube::decode_json(request.body);
  if (request.method == "DELETE") {
    {
      const std::lock_guard lock(mutex);
      const std::string name = request.path.substr(request.path.rfind('/') + 1);
      slices.erase(name);
      if (held.erase(name) > 0 && !held.empty()) return respond(fd, 200, kDeleted);
    }
    return respond(fd, 200, kDeleted);
  }
  if (!body)
    return respond(fd, 400, R"({"kind":"Status","status":"Failure","reason":"BadRequest","code":400})");
  Json meta = *body->find("metadata");
  std::string text, name;
  {
    const std::lock_guard lock(mutex);
    if (meta.text("name").empty())
      meta.set("name", std::string(meta.text("generateName")) + std::to_string(version));
    name = meta.text("name");
    meta.set("resourceVersion", std::to_string(++version));
    meta.set("uid", "uid-" + name);
    meta.set("generation", int64_t{1});
    body->set("metadata", std::move(meta));
    text = kube::encode_json(*body);
    if (!request.asks("dryRun=All")) {
      slices[name] = text;
      devices_ever.merge(devices());
      for (const Watch& watch : watches)
        if (watch.plural == "resourceslices" && selects(watch.query, text))
          send_event(watch.fd, request.method == "POST" ? "ADDED" : "MODIFIED", text);
    }
  }
  return respond(fd, request.method == "POST" ? 201 : 200, text);
}

void ApiServer::State::serve_connection(int fd) {
  std::string bytes;
  Request request;
  while (read_request(fd, bytes, request) && answer(fd, request)) {
  }
  const std::lock_guard lock(mutex);
  std::erase_if(watches, [fd](const Watch& watch) { return watch.fd == fd; });
  open.erase(fd);
  close(fd);
}

ApiServer::ApiServer(bool has_watch_list) : state_(std::make_shared<State>(has_watch_list)) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(fd, 64) != 0)
    std::abort();
  state_->listening = fd;
  std::thread([state = state_] {
    for (;;) {
      const int client = accept4(state->listening, nullptr, nullptr, SOCK_CLOEXEC);
      const std::lock_guard lock(state->mutex);
      if (state->is_over || client < 0) return;
      state->open.insert(client);
      std::thread([state, client] { state->serve_connection(client); }).detach();
    }
  }).detach();
}

ApiServer::~ApiServer() {
  const std::lock_guard lock(state_->mutex);
  state_->is_over = true;
  shutdown(state_->listening, SHUT_RDWR);
  for (const int fd : state_->open) shutdown(fd, SHUT_RDWR);
}

uint16_t ApiServer::port() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(state_->listening, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

void ApiServer::serve(const std::string& plural, ObjectSet set) {
  const std::lock_guard lock(state_->mutex);
  state_->sets[plural] = std::move(set);
}

void ApiServer::hold_slice(const std::string& driver, const std::string& name, std::string text) {
  const std::lock_guard lock(state_->mutex);
  state_->held_driver = driver;
  state_->held[name] = std::move(text);
}

size_t ApiServer::tell(const std::string& plural, const std::string& type, const std::string& object) {
  const std::lock_guard lock(state_->mutex);
  auto told = kube::decode_json(object);
  if (!told) std::abort();
  Json meta = *told->find("metadata");
  meta.set("resourceVersion", std::to_string(++state_->version));
  told->set("metadata", std::move(meta));
  const std::string text = kube::encode_json(*told);
  size_t watches = 0;
  for (const State::Watch& watch : state_->watches)
    if (watch.plural == plural) watches += state_->send_event(watch.fd, type, text) ? 1 : 0;
  return watches;
}

bool ApiServer::has_devices(const std::set<std::string>& wanted) const {
  const std::lock_guard lock(state_->mutex);
  return state_->held.empty() && state_->devices() == wanted;
}

std::set<std::string> ApiServer::devices() const {
  const std::lock_guard lock(state_->mutex);
  return state_->devices();
}

std::set<std::string> ApiServer::devices_ever() const {
  const std::lock_guard lock(state_->mutex);
  return state_->devices_ever;
}

}  // namespace sliced::process
