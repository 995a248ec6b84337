#include "cli/snapshot/archive.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

namespace sliced::snapshot {
namespace {

constexpr size_t kBlock = 512;
constexpr int kLevel = 12;
// Fields of a header (POSIX 1003.1, pax, "ustar Interchange Format").
constexpr size_t kNameSize = 100, kSizeAt = 124, kSumAt = 148, kTypeAt = 156, kMagicAt = 257,
                 kNumberSize = 12;

using Header = std::array<char, kBlock>;

unsigned sum_of(const char* header) {
  unsigned sum = 0;
  for (size_t i = 0; i < kBlock; ++i)
    sum += i >= kSumAt && i < kSumAt + 8 ? ' ' : static_cast<unsigned char>(header[i]);
  return sum;
}

Header header_of(const std::string& name, size_t size) {
  Header header{};
  std::memcpy(header.data(), name.data(), std::min(name.size(), kNameSize - 1));
  std::memcpy(header.data() + 100, "0000600", 7);                                    // mode
  for (const size_t at : {108, 116}) std::memcpy(header.data() + at, "0000000", 7);  // uid, gid
  std::snprintf(header.data() + kSizeAt, kNumberSize, "%011zo", size);
  std::memcpy(header.data() + 136, "00000000000", 11);  // mtime
  header[kTypeAt] = '0';
  std::memcpy(header.data() + kMagicAt, "ustar\00000", 8);
  std::snprintf(header.data() + kSumAt, 8, "%06o", sum_of(header.data()));
  header[kSumAt + 7] = ' ';
  return header;
}

// Octal digits, ended by a NUL or a space.
std::optional<size_t> number_in(std::string_view field) {
  size_t value = 0;
  bool has_any = false;
  for (const char c : field) {
    if (c == ' ' && !has_any) continue;
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7' || value > kUnpackedBytesMax) return std::nullopt;
    value = value * 8 + static_cast<size_t>(c - '0');
    has_any = true;
  }
  return has_any ? std::optional(value) : std::nullopt;
}

Error broken(const char* what) { return {Errc::kInvalid, std::string("is not a snapshot: ") + what}; }

Result<std::string> decompressed(std::string_view bytes) {
  if (bytes.size() > kArchiveBytesMax) return Error{Errc::kTooLarge, "has more than 32 MiB"};
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, 27);
  std::string out;
  std::string piece(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  size_t left = 1;
  while (in.pos < in.size) {
    ZSTD_outBuffer next{piece.data(), piece.size(), 0};
    left = ZSTD_decompressStream(context.get(), &next, &in);
    if (ZSTD_isError(left)) return broken("its bytes are not zstd's");
    out.append(piece.data(), next.pos);
    if (out.size() > kUnpackedBytesMax)
      return Error{Errc::kTooLarge, "has more than 64 MiB when it is unpacked"};
  }
  // The input has ended within a frame: it was truncated, or more output follows.
  while (left > 0) {
    ZSTD_outBuffer next{piece.data(), piece.size(), 0};
    left = ZSTD_decompressStream(context.get(), &next, &in);
    if (ZSTD_isError(left) || next.pos == 0) return broken("it is cut off");
    out.append(piece.data(), next.pos);
    if (out.size() > kUnpackedBytesMax)
      return Error{Errc::kTooLarge, "has more than 64 MiB when it is unpacked"};
  }
  return out;
}

}  // namespace

std::string pack(const Members& members) {
  std::string tar;
  for (const auto& [name, text] : members) {
    const Header header = header_of(name, text.size());
    tar.append(header.data(), header.size());
    tar += text;
    tar.append((kBlock - text.size() % kBlock) % kBlock, '\0');
  }
  tar.append(2 * kBlock, '\0');
  std::string out(ZSTD_compressBound(tar.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), tar.data(), tar.size(), kLevel));
  return out;
}

Result<Members> unpack(std::string_view bytes) {
  auto whole = decompressed(bytes);
  if (!whole) return std::move(whole.error());
  const std::string_view tar = *whole;
  Members members;
  size_t count = 0;
  for (size_t at = 0; at + kBlock <= tar.size();) {
    const char* header = tar.data() + at;
    if (std::all_of(header, header + kBlock, [](char c) { return c == '\0'; })) return members;
    const auto size = number_in(tar.substr(at + kSizeAt, kNumberSize));
    const auto sum = number_in(tar.substr(at + kSumAt, 8));
    if (!size || !sum || *sum != sum_of(header)) return broken("a header of its tar is wrong");
    if (*size > tar.size() - at - kBlock) return broken("its tar is cut off");
    if (++count > kMembersMax) return Error{Errc::kTooLarge, "has more than 64 members"};
    const char type = header[kTypeAt];
    std::string name(header, ::strnlen(header, kNameSize));
    if (name.starts_with("./")) name.erase(0, 2);
    if ((type == '0' || type == '\0') && !name.empty() && name.find('/') == std::string::npos)
      members[name] = std::string(tar.substr(at + kBlock, *size));
    at += kBlock + (*size + kBlock - 1) / kBlock * kBlock;
  }
  return broken("its tar has no end");
}

}  // namespace sliced::snapshot
