// NRI's multiplexer and the frames of ttrpc in it, whole and cut into pieces, and the way back.
#include <map>
#include <vector>

#include "kubelet/nri/frames.h"
#include "kubelet/nri/mux.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::mux_target {

namespace {

struct Heard {
  std::map<uint32_t, std::string> said;  // by connection
  bool is_broken = false;
  bool operator==(const Heard&) const = default;
};

Heard hear(std::string_view bytes, size_t piece) {
  Heard heard;
  nri::PieceReader reader;
  while (!bytes.empty() && !heard.is_broken) {
    reader.add(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (auto next = reader.next();; next = reader.next()) {
      heard.is_broken = !next.ok();
      if (!next) fuzz::check(next.error());
      if (!next || !*next) break;
      fuzz::must((*next)->connection != 0, "the reserved connection says nothing");
      heard.said[(*next)->connection] += (*next)->bytes;
    }
  }
  return heard;
}

std::vector<nri::Frame> frames_of(std::string_view bytes, size_t piece) {
  std::vector<nri::Frame> out;
  nri::FrameReader reader;
  while (!bytes.empty()) {
    reader.add(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (auto frame = reader.next()) out.push_back(std::move(*frame));
  }
  return out;
}

}  // namespace

FUZZ_TARGET(mux) {
  fuzz::Input input(data, size);
  const size_t piece = 1 + input.byte() % 64;
  const Heard whole = hear(input.rest, input.rest.size() + 1);
  fuzz::must(whole == hear(input.rest, piece), "cuts change nothing");
  for (const auto& [connection, bytes] : whole.said) {
    if (bytes.empty()) continue;
    const Heard again = hear(nri::encode_pieces(connection, bytes), piece);
    fuzz::must(!again.is_broken && again.said.at(connection) == bytes, "what is sent is heard");
    const auto frames = frames_of(bytes, bytes.size() + 1), cut = frames_of(bytes, piece);
    fuzz::must(frames.size() == cut.size(), "cuts change no frame");
    for (size_t i = 0; i < frames.size(); ++i)
      fuzz::must(
          frames[i].stream == cut[i].stream && frames[i].type == cut[i].type && frames[i].data == cut[i].data,
          "cuts change no frame");
  }
  return 0;
}

}  // namespace sliced::fuzz::mux_target
