#pragma once
// NRI's multiplexer: several connections over one (github.com/containerd/nri pkg/net/multiplex). 8 bytes of
// header: the connection, and how many of its bytes follow.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::nri {

inline constexpr uint32_t kPluginConnection = 1;   // the runtime calls us
inline constexpr uint32_t kRuntimeConnection = 2;  // we call the runtime

/// Bytes of one connection as they go over the trunk. The runtime reads each piece into a buffer of 4096
/// bytes, and ends the connection when one is larger: longer ones are cut.
std::string encode_pieces(uint32_t connection, std::string_view bytes);

/// A part of what one connection says; cut anywhere.
/// In order of arrival; pieces of several connections may alternate.
struct Piece {
  uint32_t connection = 0;
  std::string bytes;
};

/// Pieces out of the trunk's bytes as they arrive. Keeps the beginning of a header between two calls of add().
/// Work: linear in the bytes, however they are cut.
class PieceReader {
 public:
  /// Of the whole trunk. Go's multiplexer sends none: its writers flush buffers that hold something.
  static constexpr size_t kIdlePiecesMax = 1024;

  /// Appends bytes of the trunk; next() returns the pieces.
  void add(std::string_view bytes);
  /// nullopt: no whole header or no data yet. A piece without bytes is not returned.
  /// Errors: kInvalid: a header announces more than a ttrpc frame or names the reserved connection 0, or more than
  /// kIdlePiecesMax pieces were empty or of a connection that is neither ours nor the runtime's. The trunk cannot be read any
  /// more.
  Result<std::optional<Piece>> next();

 private:
  std::string bytes_;
  size_t at_ = 0;    // bytes_ before it are read
  size_t idle_ = 0;  // pieces that were empty or of another connection
  uint32_t connection_ = 0;
  size_t left_ = 0;  // of the piece that has begun
};

}  // namespace sliced::nri
