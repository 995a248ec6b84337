#include "nri/mux.h"

#include <algorithm>
#include <utility>

#include "nri/frames.h"

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

void PieceReader::add(std::string_view bytes) { bytes_ += bytes; }

Result<std::optional<Piece>> PieceReader::next() {
  while (left_ == 0) {
    if (bytes_.size() < kPieceHeaderBytes) return std::optional<Piece>{};
    connection_ = read_u32(bytes_, 0);
    left_ = read_u32(bytes_, 4);
    if (connection_ == 0 || left_ > kPieceReadMax)
      return Error{Errc::kInvalid, "the multiplexer announces " + std::to_string(left_) +
                                       " bytes of connection " + std::to_string(connection_)};
    bytes_.erase(0, kPieceHeaderBytes);
  }
  if (bytes_.empty()) return std::optional<Piece>{};
  const size_t here = std::min(left_, bytes_.size());
  left_ -= here;
  Piece piece{.connection = connection_, .bytes = bytes_.substr(0, here)};
  bytes_.erase(0, here);
  return std::optional<Piece>(std::move(piece));
}

}  // namespace sliced::nri
