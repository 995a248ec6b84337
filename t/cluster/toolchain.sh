#!/bin/sh
# Prints the path of a go that can build the control plane (>= 1.26): the one on PATH if it is new enough, else one that an
# older go fetches through the Go module proxy, checked against the checksum database, into the user's cache.
# Installs no package. Call the result with GOTOOLCHAIN=local, so that it is used and not replaced once more:
#   go=$(t/cluster/toolchain.sh) && GOTOOLCHAIN=local "$go" build ...
set -eu

wanted=1.26.8
minor_min=26

say() { echo "toolchain: $*" >&2; }

# new_enough GO: its own version, whatever the environment says about switching, is go1.26 or later.
new_enough() {
  version=$(GOTOOLCHAIN=local "$1" version 2>/dev/null) || return 1
  version=${version#go version go}
  version=${version%% *}
  major=${version%%.*}
  minor=${version#*.}
  minor=${minor%%[!0-9]*}
  case $major$minor in *[!0-9]* | '') return 1 ;; esac
  [ "$major" -gt 1 ] || { [ "$major" -eq 1 ] && [ "${minor:-0}" -ge "$minor_min" ]; }
}

if ! go=$(command -v go); then
  say "no go on PATH; any version from 1.19 on will do: apt-get install golang-go"
  exit 1
fi
if new_enough "$go"; then
  echo "$go"
  exit 0
fi

cache=${XDG_CACHE_HOME:-${HOME:?toolchain: neither XDG_CACHE_HOME nor HOME is set}/.cache}/sliced
kept=$cache/go$wanted
if [ -x "$kept/bin/go" ] && new_enough "$kept/bin/go"; then
  echo "$kept/bin/go"
  exit 0
fi

mkdir -p "$cache"
work=$(mktemp -d "$cache/fetch.XXXXXX")
cleanup() {
  chmod -R u+w "$work" 2>/dev/null || :
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

export GOTOOLCHAIN=local GOFLAGS='' GO111MODULE=on GOWORK=off GOMODCACHE="$work/mod"
platform=$("$go" env GOHOSTOS)-$("$go" env GOHOSTARCH)
module=golang.org/toolchain@v0.0.1-go$wanted.$platform
say "$("$go" version) is too old; fetching go $wanted for $platform (70 MB, once) into $kept"
mkdir "$work/module"
echo 'module fetch' >"$work/module/go.mod"
if ! (cd "$work/module" && "$go" mod download "$module") >"$work/log" 2>&1; then
  say "cannot fetch $module with GOPROXY=$("$go" env GOPROXY): is the machine online?"
  sed 's/^/toolchain:   /' "$work/log" >&2
  exit 1
fi
root=$work/mod/$module
if [ ! -f "$root/bin/go" ]; then
  say "$module holds no bin/go"
  exit 1
fi
# A module has no executable files and is read-only; a toolchain needs the one and a cache that can be deleted the other.
chmod -R u+w "$root"
chmod +x "$root"/bin/* "$root"/pkg/tool/*/*
rm -rf "$kept.old"
[ ! -e "$kept" ] || mv "$kept" "$kept.old"
mv "$root" "$kept" 2>/dev/null || [ -x "$kept/bin/go" ] # another run may have been faster
rm -rf "$kept.old"
if ! new_enough "$kept/bin/go"; then
  say "the fetched $kept/bin/go does not run"
  exit 1
fi
echo "$kept/bin/go"
