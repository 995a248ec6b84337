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

/// Pieces out of the trunk's bytes as they arrive. Nothing is kept but the beginning of a header.
class PieceReader {
 public:
  /// What can be said of these bytes goes out through next().
  void add(std::string_view bytes);
  /// nullopt: there is no more for now. kInvalid: a header announces what nobody may send (more than a frame
  /// of ttrpc, or the reserved connection 0); nothing can be read any more.
  Result<std::optional<Piece>> next();

 private:
  std::string bytes_;
  uint32_t connection_ = 0;
  size_t left_ = 0;  // of the piece that has begun
};

}  // namespace sliced::nri
