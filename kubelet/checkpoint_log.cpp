#include "kubelet/checkpoint_log.h"

#include <utility>

namespace sliced::kubelet {

bool CheckpointLog::wants_rewrite() const {
  if (is_closing_) return is_open_;
  return stored_ && room_ < kCheckpointChangesBytesMax / 2;
}

CheckpointLog::Write CheckpointLog::rewrite(const std::string& boot_id, const PreparedClaims& now) {
  whole_ = Checkpoint{.boot_id = boot_id, .claims = now, .is_open = !is_closing_};
  return {.text = encode_checkpoint(*whole_),
          .is_whole = true,
          .room = is_closing_ ? 0 : kCheckpointChangesBytesMax};
}

std::optional<CheckpointLog::Write> CheckpointLog::next(const std::string& boot_id,
                                                        const PreparedClaims& now) {
  whole_.reset(), changed_.clear(), removed_.clear();
  if (!stored_ || stored_->boot_id != boot_id) return rewrite(boot_id, now);
  CheckpointChange change;
  for (const auto& [key, claim] : now) {
    const auto before = stored_->claims.find(key);
    if (before != stored_->claims.end() && before->second == claim) continue;
    changed_.emplace(key, claim);
    change.claims.push_back(&claim);
  }
  for (const auto& [key, claim] : stored_->claims)
    if (!now.contains(key)) removed_.push_back(key);
  if (changed_.empty() && removed_.empty()) return std::nullopt;
  change.removed = removed_;
  if (is_closing_) return rewrite(boot_id, now);
  Write out{.text = encode_change(change, changes_ + 1)};
  if (out.text.size() > room_) return rewrite(boot_id, now);
  next_size_ = out.text.size();
  return out;
}

void CheckpointLog::done(bool is_written) {
  if (!is_written) {
    stored_.reset();
    is_open_ = true;  // the change may be in the file
    return;
  }
  if (whole_) {
    is_open_ = whole_->is_open;
    stored_ = std::exchange(whole_, std::nullopt);
    changes_ = 0;
    room_ = is_open_ ? kCheckpointChangesBytesMax : 0;
    return;
  }
  for (auto& [key, claim] : changed_) stored_->claims.insert_or_assign(key, std::move(claim));
  for (const PreparedKey& key : removed_) stored_->claims.erase(key);
  ++changes_;
  room_ -= next_size_;
}

}  // namespace sliced::kubelet
