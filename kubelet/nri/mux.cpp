#include "kubelet/nri/mux.h"

#include <algorithm>
#include <utility>

#include "kubelet/nri/frames.h"

namespace sliced::nri {
namespace {

constexpr size_t kPieceHeaderBytes = 8;
constexpr size_t kPieceWriteMax = 4096;  // the buffer of Go's bufio, with which the runtime reads
constexpr size_t kPieceReadMax = kFrameHeaderBytes + kFrameDataMax;

}  // namespace

std::string encode_pieces(uint32_t connection, std::string_view bytes) {
  std::string out;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kPieceWriteMax))) {
    const std::string_view piece = bytes.substr(0, kPieceWriteMax);
    append_u32(out, connection);
    append_u32(out, static_cast<uint32_t>(piece.size()));
    out += piece;
  }
  return out;
}

void PieceReader::add(std::string_view bytes) {
  bytes_.erase(0, std::exchange(at_, 0));
  bytes_ += bytes;
}

Result<std::optional<Piece>> PieceReader::next() {
  while (left_ == 0) {
    if (bytes_.size() - at_ < kPieceHeaderBytes) return std::optional<Piece>{};
    connection_ = read_u32(bytes_, at_);
    left_ = read_u32(bytes_, at_ + 4);
    at_ += kPieceHeaderBytes;
    if (connection_ == 0 || left_ > kPieceReadMax)
      return Error{Errc::kInvalid, "the multiplexer announces " + std::to_string(left_) +
                                       " bytes of connection " + std::to_string(connection_)};
    const bool is_known = connection_ == kPluginConnection || connection_ == kRuntimeConnection;
    if ((left_ == 0 || !is_known) && ++idle_ > kIdlePiecesMax)
      return Error{Errc::kInvalid, "the multiplexer sent " + std::to_string(idle_) +
                                       " pieces that are empty or of a connection that is not open"};
  }
  if (at_ == bytes_.size()) return std::optional<Piece>{};
  const size_t here = std::min(left_, bytes_.size() - at_);
  Piece piece{.connection = connection_, .bytes = bytes_.substr(at_, here)};
  left_ -= here;
  at_ += here;
  return std::optional<Piece>(std::move(piece));
}

}  // namespace sliced::nri
