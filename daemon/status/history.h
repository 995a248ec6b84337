#pragma once
// The last changes of the offer, kept in memory, and decoded from lines of the log. Pure.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "policy/offer_change.h"

namespace sliced::status {

struct PastChange {
  int64_t at_ms = 0;  // since 1970
  policy::OfferChange change;
};
using PastChangePtr = std::shared_ptr<const PastChange>;

/// Bounds: kChangesMax and kBytesMax, including names, texts and containers; texts are truncated at 256
/// bytes. The oldest are dropped first. The newest is always kept. Threads: one; results of all() may be read
/// on others.
class History {
 public:
  static constexpr size_t kChangesMax = 1'000, kBytesMax = 1u << 20;
  void add(int64_t at_ms, policy::OfferChange change);
  /// The oldest first. Each is immutable, and stays valid after it is dropped here.
  std::vector<PastChangePtr> all() const { return {changes_.begin(), changes_.end()}; }
  size_t bytes() const { return bytes_; }

 private:
  std::deque<PastChangePtr> changes_;
  size_t bytes_ = 0;
};

/// Encodes
/// {"time":"2026-11-21T00:17:41.296Z","change":"withdrawn","driver":...,"devices":[...],"devicesLeftOut":n,"policy":...,
/// "generation":n,"manager":...,"outcome":...,"why":...}: an interface (docs/command-line.md). Omits unknown
/// values.
kube::Json json_of(const PastChange& past);
/// Decodes the same. Returns nullopt without a known `change` and a `time` of that form. Keeps at most
/// kOfferChangeDevicesMax devices; texts stay unescaped.
std::optional<PastChange> past_change_of(const kube::Json& json);

/// Decodes one line of `journalctl -o json`; returns nullopt if it is not a change of an offer, or not a line
/// of the journal. Source: the fields SLICED_* of the log's line, and __REALTIME_TIMESTAMP
/// (systemd.journal-fields(7)) for the time. Contains the devices that the line names, and the number of
/// further ones.
std::optional<PastChange> past_change_of_journal(std::string_view line);

/// Returns the wall clock, in milliseconds since 1970.
int64_t wall_ms();
/// Formats "2026-11-21T00:17:41.296Z", and decodes it (0 if invalid).
std::string utc_text(int64_t ms_since_1970);
int64_t ms_of_utc(std::string_view text);

/// Returns whether a change concerns a name: an entry, a function by its address in either spelling (for each
/// of its entries), or a policy ("ns/name", "name", or with its kind, "policy ns/name"). True for "".
bool is_about(const policy::OfferChange& change, std::string_view name);

}  // namespace sliced::status
