// Snapshots that somebody sends: the file as it is, its tar, and the host in it.
#include <zstd.h>

#include "cli/snapshot/aliases.h"
#include "cli/snapshot/archive.h"
#include "cli/snapshot/snapshot.h"
#include "hotplug/scan.h"
#include "t/fixture/scan_host.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::snapshot_target {

namespace {

void look_at(const Result<snapshot::Members>& members) {
  if (!members) return fuzz::check(members.error());
  size_t size = 0;
  for (const auto& [name, text] : *members) {
    fuzz::must(!name.empty() && name.find('/') == std::string::npos, "a member has a plain name");
    size += text.size();
  }
  fuzz::must(size <= snapshot::kUnpackedBytesMax, "members are bounded");
}

void look_at_host(std::string_view text) {
  const auto json = kube::decode_json(text);
  if (!json) return;
  auto recording = snapshot::decode_recording(*json);
  if (!recording) return fuzz::check(recording.error());
  const auto again = snapshot::decode_recording(snapshot::encode(*recording));
  fuzz::must(again && again->lists.size() == recording->lists.size() &&
                 again->reads.size() == recording->reads.size() &&
                 again->admin_macs == recording->admin_macs && again->routes == recording->routes,
             "a recording comes back as it was");
  fixture::scan_host(snapshot::RecordedHost(std::move(*recording)));
}

// An address that stands alone somewhere in a text, in each of its spellings.
void hide_in(std::string_view before, std::string_view after) {
  for (const char* secret : {"e4:1d:2d:5a:c3:97", "E4-1D-2D-5A-C3-97", "e41d.2d5a.c397", "e41d2d5ac397"}) {
    snapshot::Aliases aliases;
    aliases.note("e4:1d:2d:5a:c3:97");
    const std::string text = std::string(before) + " " + secret + "," + std::string(after);
    aliases.note(text);
    const std::string out = lower(aliases.replaced(text));
    fuzz::must(out == lower(aliases.replaced(text)), "the same has the same alias", out);
    for (const char* left : {"5a:c3:97", "5a-c3-97", "5a.c397", "5ac397"})
      if (lower(before).find(left) == std::string::npos && lower(after).find(left) == std::string::npos)
        fuzz::must(out.find(left) == std::string::npos, "the address is not told", out);
  }
}

}  // namespace

FUZZ_TARGET(snapshot) {
  fuzz::Input input(data, size);
  const uint8_t kind = input.byte() % 4;
  const std::string bytes(input.rest);
  if (kind == 3) {
    hide_in(input.rest.substr(0, input.rest.size() / 2), input.rest.substr(input.rest.size() / 2));
  } else if (kind == 0) {
    const auto read = snapshot::decode(bytes);
    if (!read) fuzz::check(read.error());
  } else if (kind == 1) {
    std::string frame(ZSTD_compressBound(bytes.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), 1));
    look_at(snapshot::unpack(frame));
  } else {
    look_at_host(bytes);
  }
  return 0;
}

}  // namespace sliced::fuzz::snapshot_target
