# shellcheck shell=bash
# Programs of this architecture and of others, as Debian names them (amd64, arm64): sourced by the scripts that pack programs.

# triplet ARCHITECTURE: in the names of its tools and of its directories of libraries.
triplet() {
  case $1 in
    amd64) echo x86_64-linux-gnu ;;
    arm64) echo aarch64-linux-gnu ;;
    *) echo "packaging: no tools are known for the architecture $1; there is amd64 and arm64" >&2 && return 1 ;;
  esac
}

# strip_for ARCHITECTURE ARGUMENT...: strip.
strip_for() {
  local architecture=$1 tool=strip
  shift
  [[ $architecture == "$(dpkg --print-architecture)" ]] || tool=$(triplet "$architecture")-strip || return
  "$tool" "$@"
}

# needed_by FILE: the names of the libraries that it is linked with.
needed_by() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

# libraries_of ARCHITECTURE PROGRAM: the loader and every library, each where the loader looks for it. Not by ldd, which starts the program.
libraries_of() {
  local directory loader name path waiting=("$2")
  local -A found=()
  directory=$(triplet "$1") || return
  loader=$(readelf -l "$2" | sed -n 's/.*program interpreter: \(.*\)]/\1/p')
  found[${loader##*/}]=$loader
  while ((${#waiting[@]})); do
    while read -r name; do
      [[ -z ${found[$name]:-} ]] || continue
      for path in "/lib/$directory/$name" "/usr/lib/$directory/$name" "/lib/$name" "/usr/lib/$name" ''; do
        [[ ! -e $path ]] || break
      done
      [[ -n $path ]] || { echo "packaging: $name, which ${waiting[0]} needs, is not installed for $1" >&2 && return 1; }
      found[$name]=$path
      waiting+=("$path")
    done < <(needed_by "${waiting[0]}")
    waiting=("${waiting[@]:1}")
  done
  printf '%s\n' "${found[@]}" | sort -u
}
