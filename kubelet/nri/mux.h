#pragma once
// NRI's multiplexer: several connections over one (github.com/containerd/nri pkg/net/multiplex). 8 bytes of
// header: the connection, and the number of bytes that follow.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::nri {

inline constexpr uint32_t kPluginConnection = 1;   // the runtime calls sliced
inline constexpr uint32_t kRuntimeConnection = 2;  // sliced calls the runtime

/// Encodes bytes of one connection for the trunk. The runtime reads each piece into a buffer of 4096 bytes,
/// and closes the connection if one is larger, so longer ones are split.
std::string encode_pieces(uint32_t connection, std::string_view bytes);

/// A part of one connection's byte stream, split at any position. Pieces of several connections may
/// alternate.
struct Piece {
  uint32_t connection = 0;
  std::string bytes;
};

/// Splits the trunk's byte stream into pieces. Keeps an incomplete header between two calls of add(). Time is
/// linear in the bytes, for any split.
class PieceReader {
 public:
  /// Limit over the whole trunk. Go's multiplexer sends no empty pieces: its writers flush only non-empty
  /// buffers.
  static constexpr size_t kIdlePiecesMax = 1024;

  /// Appends bytes of the trunk; next() returns the pieces.
  void add(std::string_view bytes);
  /// Returns the next non-empty piece; nullopt without a complete header or data. Errors: kInvalid if a
  /// header announces more than a ttrpc frame or names the reserved connection 0, or if more than
  /// kIdlePiecesMax pieces were empty or of an unknown connection. The trunk is unusable then.
  Result<std::optional<Piece>> next();

 private:
  std::string bytes_;
  size_t at_ = 0;    // bytes_ before it are processed
  size_t idle_ = 0;  // pieces that were empty or of an unknown connection
  uint32_t connection_ = 0;
  size_t left_ = 0;  // remaining bytes of the current piece
};

}  // namespace sliced::nri
