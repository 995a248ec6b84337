// The floor for a prepare: nothing but nghttp2 and OpenSSL, one thread that blocks, and for each call of gRPC the answer of
// an API server's GET over one open connection, files written durably, and the request's own message as the answer.
//   prepare_floor SOCKET ADDRESS PORT TOKEN
// A call says in its header x-get what to GET, and in x-write which files to write: "PATH=BYTES,PATH=BYTES". One client at
// a time. The server's certificate is not looked at.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

namespace {

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

struct Call {
  std::string get, write, message;
  size_t sent = 0;
};

struct Floor {
  SSL* server = nullptr;
  std::string address, token;
  std::map<int32_t, Call> calls;
};

SSL* connect_to(const char* address, int port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET, address, &to.sin_addr) != 1) fail("wants an IPv4 address");
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("connect");
  SSL* ssl = SSL_new(SSL_CTX_new(TLS_client_method()));
  SSL_set_fd(ssl, fd);
  if (SSL_connect(ssl) != 1) fail("handshake");
  return ssl;
}

// Length or chunks: an API server uses both.
bool is_complete(const std::string& answer) {
  const size_t head = answer.find("\r\n\r\n");
  if (head == std::string::npos) return false;
  const size_t length = answer.find("Content-Length: ");
  if (length < head)
    return answer.size() >= head + 4 + std::strtoul(answer.c_str() + length + 16, nullptr, 10);
  return answer.ends_with("\r\n0\r\n\r\n");
}

void get(const Floor& floor, const std::string& path) {
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: " + floor.address +
                              "\r\nAccept: application/json\r\nAuthorization: Bearer " + floor.token +
                              "\r\n\r\n";
  if (SSL_write(floor.server, request.data(), static_cast<int>(request.size())) <= 0) fail("write");
  std::string answer;
  char piece[16384];
  while (!is_complete(answer)) {
    const int got = SSL_read(floor.server, piece, sizeof piece);
    if (got <= 0) fail("read");
    answer.append(piece, static_cast<size_t>(got));
  }
  if (!answer.starts_with("HTTP/1.1 200")) {
    std::fprintf(stderr, "GET %s: %s\n", path.c_str(), answer.c_str());
    std::exit(1);
  }
}

void sync_and_close(int fd) {
  if (fd < 0 || ::fsync(fd) != 0) fail("fsync");
  ::close(fd);
}

void write_durably(const std::string& path, size_t size) {
  const std::string temporary = path + ".tmp", text(size, 'x');
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (::write(fd, text.data(), size) != static_cast<ssize_t>(size)) fail(temporary.c_str());
  sync_and_close(fd);
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail(path.c_str());
  sync_and_close(::open(path.substr(0, path.rfind('/')).c_str(), O_RDONLY | O_DIRECTORY));
}

void write_all(std::string_view files) {
  while (!files.empty()) {
    const std::string_view file = files.substr(0, files.find(','));
    files.remove_prefix(std::min(files.size(), file.size() + 1));
    const size_t equals = file.rfind('=');
    write_durably(std::string(file.substr(0, equals)), std::strtoul(file.data() + equals + 1, nullptr, 10));
  }
}

nghttp2_nv header(std::string_view name, std::string_view value) {
  const auto octets = [](std::string_view text) {
    return const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(text.data()));
  };
  return {octets(name), octets(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

ssize_t read_answer(nghttp2_session* session, int32_t stream, uint8_t* to, size_t room, uint32_t* flags,
                    nghttp2_data_source* source, void*) {
  auto& call = *static_cast<Call*>(source->ptr);
  const size_t count = std::min(room, call.message.size() - call.sent);
  std::memcpy(to, call.message.data() + call.sent, count);
  call.sent += count;
  if (call.sent == call.message.size()) {
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    const nghttp2_nv trailers[] = {header("grpc-status", "0")};
    nghttp2_submit_trailer(session, stream, trailers, 1);
  }
  return static_cast<ssize_t>(count);
}

int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
              const uint8_t* value, size_t value_size, uint8_t, void* user) {
  Call& call = static_cast<Floor*>(user)->calls[frame->hd.stream_id];
  const std::string_view key(reinterpret_cast<const char*>(name), name_size);
  if (key == "x-get") call.get.assign(reinterpret_cast<const char*>(value), value_size);
  if (key == "x-write") call.write.assign(reinterpret_cast<const char*>(value), value_size);
  return 0;
}

int on_data(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* data, size_t size, void* user) {
  static_cast<Floor*>(user)->calls[stream].message.append(reinterpret_cast<const char*>(data), size);
  return 0;
}

int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
  auto& floor = *static_cast<Floor*>(user);
  const bool is_of_call = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
  if (!is_of_call || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
  Call& call = floor.calls[frame->hd.stream_id];
  get(floor, call.get);
  write_all(call.write);
  const nghttp2_nv head[] = {header(":status", "200"), header("content-type", "application/grpc")};
  nghttp2_data_provider answer{};
  answer.source.ptr = &call;
  answer.read_callback = read_answer;
  return nghttp2_submit_response(session, frame->hd.stream_id, head, 2, &answer);
}

int on_close(nghttp2_session*, int32_t stream, uint32_t, void* user) {
  static_cast<Floor*>(user)->calls.erase(stream);
  return 0;
}

void serve(int client, Floor& floor) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
  nghttp2_session* session = nullptr;
  nghttp2_session_server_new(&session, callbacks, &floor);
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, nullptr, 0);
  uint8_t piece[16384];
  while (true) {
    const uint8_t* out = nullptr;
    std::string all;
    for (ssize_t size; (size = nghttp2_session_mem_send(session, &out)) > 0;)
      all.append(reinterpret_cast<const char*>(out), static_cast<size_t>(size));
    if (!all.empty() && ::write(client, all.data(), all.size()) != static_cast<ssize_t>(all.size())) break;
    const ssize_t got = ::read(client, piece, sizeof piece);
    if (got <= 0 || nghttp2_session_mem_recv(session, piece, static_cast<size_t>(got)) < 0) break;
  }
  nghttp2_session_del(session);
  nghttp2_session_callbacks_del(callbacks);
  floor.calls.clear();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) fail("prepare_floor SOCKET ADDRESS PORT TOKEN");
  Floor floor{
      .server = connect_to(argv[2], std::atoi(argv[3])), .address = argv[2], .token = argv[4], .calls = {}};
  std::signal(SIGPIPE, SIG_IGN);  // a client that only looks whether we are there
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::snprintf(at.sun_path, sizeof at.sun_path, "%s", argv[1]);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(listener, 4) != 0)
    fail(argv[1]);
  while (true) {
    const int client = ::accept(listener, nullptr, nullptr);
    if (client < 0) fail("accept");
    serve(client, floor);
    ::close(client);
  }
}
