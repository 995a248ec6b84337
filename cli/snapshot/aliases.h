#pragma once
// What a snapshot need not tell: MAC and InfiniBand addresses and GUIDs, ids of switches, the boot's id, names of nodes.
// Each gets an alias that is the same wherever it stands, also inside expressions of policies. Pure.
//
// Of addresses the first three bytes stay, which name the vendor; addresses of zeros and of ones mean no device and stay whole.
// Addresses that begin alike have aliases that begin alike, so that mac.startsWith("00:00:5e:00:53") selects what it selected.
// Nothing else is replaced: not interface names, labels of nodes, nor PCI addresses.
// The alias of an address follows from which addresses were met before, and from nothing else: the same texts
// in the same order have the same aliases.
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace sliced::snapshot {

/// Where a text comes from. In the names of the kernel and of an API's fields a short word ("net", "metadata") is not
/// somebody's: there a word counts that has a '-' or '.', or might be an address.
enum class Place { kText, kNames };

/// Texts are as they are meant, not escaped for some format; what another program escaped within one (\n) is understood.
/// One object for all texts of a snapshot: each is noted before the first is replaced.
class Aliases {
 public:
  /// A word that is to be replaced wherever it stands between characters that are no letters and digits, in upper or lower
  /// case; of words of which one is in another the longer first. One of less than six characters that might be a number
  /// (letters a to f and digits) is replaced only where it is the whole text.
  void add_word(const std::string& word, const std::string& alias);
  /// Hexadecimal digits without separators, as switch ids and GUIDs have them: replaced by as many others.
  void add_digits(const std::string& digits);
  /// Addresses in it are known from now on, however they are spelled elsewhere: aa:bb:cc:dd:ee:ff, AA-BB-.., aabb.cc.., and
  /// aabbccddeeff, also within a word (enxaabbccddeeff).
  void note(std::string_view text);
  /// What add_word(), add_digits() and note() know, and addresses by their form. An address that is new gets
  /// its alias now.
  std::string replaced(std::string_view text, Place place = Place::kText);

 private:
  struct Word {
    std::string alias;
    Place place;  // kNames: everywhere
  };
  using Words = std::map<std::string, Word, std::less<>>;  // by text in lower case
  void add(const std::string& word, const std::string& alias, Place place);
  /// The longest word that a text begins with; nullptr: none.
  const Words::value_type* word_at(std::string_view rest, Place place) const;
  /// In the spelling of what it replaces.
  std::string alias_of(std::string_view address);
  void replace_run(std::string_view run, std::string& out);

  std::map<size_t, Words, std::greater<>> words_;  // by length: a policy may name thousands of nodes
  std::map<std::string, std::string> numbers_;     // that are replaced as whole texts alone
  std::set<std::string> addresses_;                // their digits, in lower case
  std::map<std::string, size_t> siblings_;  // by what addresses begin with: how many next digits were seen
  std::map<std::string, char> nibbles_;     // by what they begin with: the alias of its last digit
  size_t digits_ = 0;
};

}  // namespace sliced::snapshot
