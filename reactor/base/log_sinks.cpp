#include "reactor/base/log_sinks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "reactor/base/line_writer.h"
#include "reactor/base/text.h"

namespace sliced {
namespace {

using Fields = std::initializer_list<Field>;
using WallTime = std::chrono::system_clock::time_point;

constexpr size_t kValueBytesMax = 64u << 10;
constexpr size_t kJournalNameMax = 64;  // journald refuses longer field names

std::string_view name_of(Level level) {
  constexpr std::string_view kNames[] = {"debug", "info", "warning", "error"};
  return kNames[static_cast<size_t>(level)];
}

// escaped(), but quotes and backslashes are left to the format around it.
std::string harmless(std::string_view bytes, std::string_view before_quote) {
  std::string out;
  const bool cut = bytes.size() > kValueBytesMax;
  if (cut) bytes = bytes.substr(0, kValueBytesMax);
  while (!bytes.empty()) {
    const size_t plain = std::min(bytes.find_first_of("\"\\"), bytes.size());
    out += escaped(bytes.substr(0, plain), SIZE_MAX);
    if (plain < bytes.size()) out.append(before_quote) += bytes[plain];
    bytes.remove_prefix(std::min(plain + 1, bytes.size()));
  }
  return cut ? out + "..." : out;
}

// A single word is printed unchanged; any other value is quoted.
void append_value(std::string& out, std::string_view value) {
  const bool is_plain = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '=';
  });
  out += is_plain && value.size() <= kValueBytesMax ? std::string(value) : '"' + harmless(value, "\\") + '"';
}

std::string readable(std::string_view message, Fields fields) {
  std::string out = harmless(message, "");
  for (const Field& field : fields) {
    out.append(" ").append(field.key).append("=");
    append_value(out, field.value);
  }
  return out;
}

std::string stamp(WallTime now, const char* format, const std::tm& parts) {
  char text[40] = {};
  const size_t length = std::strftime(text, sizeof text, format, &parts);
  const auto millis = std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::snprintf(text + length, sizeof text - length, ".%03d", static_cast<int>(millis));
  return text;
}

size_t utf8_prefix(std::string_view bytes) {
  for (size_t length = 1; length <= 4 && length <= bytes.size(); ++length)
    if (is_utf8(bytes.substr(0, length))) return length;
  return 0;
}

void append_json(std::string& out, std::string_view bytes) {
  const bool cut = bytes.size() > kValueBytesMax;
  if (cut) bytes = bytes.substr(0, kValueBytesMax);
  out += '"';
  while (!bytes.empty()) {
    const unsigned char c = static_cast<unsigned char>(bytes[0]);
    const size_t length = utf8_prefix(bytes);
    const bool c1 = length == 2 && c == 0xc2 && static_cast<unsigned char>(bytes[1]) < 0xa0;
    if (length == 0)
      out += "\\ufffd";
    else if (c < 0x20 || c == 0x7f || c1)
      out += "\\u00" + hex(c1 ? static_cast<unsigned char>(bytes[1]) : c, 2);
    else if (c == '"' || c == '\\')
      out.append("\\") += bytes[0];
    else
      out += bytes.substr(0, length);
    bytes.remove_prefix(std::max<size_t>(length, 1));
  }
  out += cut ? "...\"" : "\"";
}

void append_member(std::string& out, std::string_view name, std::string_view value) {
  out += out.back() == '{' ? "" : ",";
  append_json(out, name);
  out += ':';
  append_json(out, value);
}

using Format = std::string (*)(WallTime, Level, std::string_view, Fields);

// A line is one write.
LineWriter writer_to(const LogTarget& target, Format format) {
  return {target.fd, [now = target.now, format](uint64_t lines) {
            return format(now(), Level::kWarning, "log lines lost: the reader is too slow",
                          {{"lines", static_cast<size_t>(lines)}});
          }};
}

class StreamLog final : public SinkLog {
 public:
  StreamLog(Format format, Level least, LogTarget target)
      : SinkLog(least), format_(format), target_(std::move(target)), writer_(writer_to(target_, format)) {}
  bool flush(std::chrono::milliseconds longest) override { return writer_.flush(longest); }
  uint64_t lost() const override { return writer_.lost(); }

 private:
  void emit(Level level, std::string_view message, Fields fields) override {
    writer_.put(format_(target_.now(), level, message, fields));
  }
  Format format_;
  LogTarget target_;
  LineWriter writer_;
};

class JournalLog final : public SinkLog {
 public:
  JournalLog(Level least, LogTarget target)
      : SinkLog(least),
        target_(std::move(target)),
        writer_(writer_to(target_, &text_line)),
        socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
  ~JournalLog() override {
    if (socket_ >= 0) close(socket_);
  }
  bool flush(std::chrono::milliseconds longest) override { return writer_.flush(longest); }
  uint64_t lost() const override { return lost_in_all_ + writer_.lost(); }

 private:
  void emit(Level level, std::string_view message, Fields fields) override {
    std::string entry = journal_entry(level, message, fields);
    if (lost_ > 0) entry += "SLICED_LINES_LOST=" + std::to_string(lost_) + "\n";
    int error = send(entry, -1);
    if (error == EMSGSIZE || error == ENOBUFS) error = send_in_memory_file(entry);
    if (error == EAGAIN)
      ++lost_, ++lost_in_all_;
    else if (error == 0)
      lost_ = 0;
    else
      writer_.put(text_line(target_.now(), level, message, fields));
  }

  // Sends the entry, or a descriptor in its place. Returns 0 or an errno.
  int send(std::string_view entry, int descriptor) {
    sockaddr_un peer{};
    peer.sun_family = AF_UNIX;
    if (target_.journal_socket.size() >= sizeof peer.sun_path) return ENAMETOOLONG;
    std::memcpy(peer.sun_path, target_.journal_socket.data(), target_.journal_socket.size());
    iovec bytes{const_cast<char*>(entry.data()), entry.size()};
    msghdr message{};
    message.msg_name = &peer;
    message.msg_namelen = sizeof peer;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (descriptor < 0) {
      message.msg_iov = &bytes;
      message.msg_iovlen = 1;
    } else {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    return sendmsg(socket_, &message, MSG_NOSIGNAL) < 0 ? errno : 0;
  }

  // journald accepts an entry of any size as a sealed memory file.
  int send_in_memory_file(std::string_view entry) {
    const int file = memfd_create("sliced-journal-entry", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) return errno;
    write_all(file, entry.data(), entry.size());
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    const int error = fcntl(file, F_ADD_SEALS, seals) < 0 ? errno : send("", file);
    close(file);
    return error;
  }

  LogTarget target_;
  LineWriter writer_;  // for lines that the journal does not accept
  int socket_;         // -1: no socket; every line goes to the stream
  uint64_t lost_ = 0, lost_in_all_ = 0;
};

bool is_journal_stream(const LogTarget& target) {
  struct stat file{};
  if (target.journal_stream.empty() || fstat(target.fd, &file) != 0) return false;
  return target.journal_stream == std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino);
}

// journald takes A-Z, 0-9 and '_'; the prefix keeps our names apart from its own.
std::string journal_name(std::string_view key) {
  std::string name = "SLICED_";
  for (const char c : key.substr(0, kJournalNameMax - name.size())) {
    const bool small = c >= 'a' && c <= 'z';
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += small ? static_cast<char>(c - 'a' + 'A') : plain ? c : '_';
  }
  return name;
}

}  // namespace

LogTarget process_log_target() {
  LogTarget target;
  if (const char* stream = std::getenv("JOURNAL_STREAM")) target.journal_stream = stream;
  return target;
}

std::unique_ptr<SinkLog> make_log(LogFormat format, Level least, LogTarget target) {
  if (format == LogFormat::kAuto)
    format = is_journal_stream(target) ? LogFormat::kJournald : LogFormat::kText;
  if (format == LogFormat::kJournald) return std::make_unique<JournalLog>(least, std::move(target));
  return std::make_unique<StreamLog>(format == LogFormat::kJson ? &json_line : &text_line, least,
                                     std::move(target));
}

std::string text_line(WallTime now, Level level, std::string_view message, Fields fields) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return std::string(1, "DIWE"[static_cast<size_t>(level)]) + stamp(now, "%m%d %H:%M:%S", parts) + " " +
         readable(message, fields) + "\n";
}

std::string json_line(WallTime now, Level level, std::string_view message, Fields fields) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::string out = "{";
  append_member(out, "ts", stamp(now, "%Y-%m-%dT%H:%M:%S", parts) + "Z");
  append_member(out, "level", name_of(level));
  append_member(out, "msg", message);
  for (const Field& field : fields) {
    const bool is_reserved = field.key == "ts" || field.key == "level" || field.key == "msg";
    append_member(out, std::string(field.key) + (is_reserved ? "_" : ""), field.value);
  }
  return out + "}\n";
}

std::string journal_entry(Level level, std::string_view message, Fields fields) {
  constexpr std::string_view kPriorities[] = {"7", "6", "4", "3"};  // syslog(3)
  std::string out = "MESSAGE=" + readable(message, fields) + "\nPRIORITY=";
  out.append(kPriorities[static_cast<size_t>(level)]).append("\nSYSLOG_IDENTIFIER=sliced\n");
  for (const Field& field : fields) out += journal_name(field.key) + "=" + harmless(field.value, "") + "\n";
  return out;
}

}  // namespace sliced
