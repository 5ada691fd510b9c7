#!/usr/bin/env bash
# Makes the Dockerfile's three base images on this machine, for where no registry is reachable: Debian by debootstrap, and
# beside it a compiler and the machine's own Rust, or the machine's own Node with npm. Debian's packages are the only thing
# fetched. They serve to build and to test; what is released stands on the images that the Dockerfile names.
#
#     tests/image/bases.sh SUITE FOLDER BUILDAH...     the images are called localhost/base/{debian,rust,node}
set -euo pipefail
suite=$1 folder=$2
shift 2
buildah=("$@")
root=$folder/root

exists() { "${buildah[@]}" inspect --type image "localhost/base/$1" >/dev/null 2>&1; }

# A working container of an image ("scratch" is the empty one), changed by a function and kept as another image.
image() {
  local name=$1 from=$2 change=$3
  exists "$name" && return
  local container
  container=$("${buildah[@]}" from "$from")
  "$change" "$container"
  "${buildah[@]}" commit --quiet --rm "$container" "localhost/base/$name" >/dev/null
  echo "base image: $name"
}

# What Debian's slim image leaves out is left out here, too, and apt keeps no archives, so that the size of our image is about
# the real one.
debian() {
  local lean=/etc/dpkg/dpkg.cfg.d/slim part
  rm -rf "$root" && mkdir -p "$root"
  debootstrap --variant=minbase "$suite" "$root/debian" >"$root/log" || { tail "$root/log"; return 1; }
  for part in doc info man locale lintian; do
    echo "path-exclude=/usr/share/$part/*" >>"$root/debian$lean"
    rm -rf "$root/debian/usr/share/$part"/*
  done
  echo 'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin"; };
Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";' >"$root/debian/etc/apt/apt.conf.d/docker-clean"
  rm -rf "$root/debian"/var/cache/apt/*.bin "$root/debian"/var/cache/apt/archives/*.deb \
    "$root/debian"/var/lib/apt/lists/* "$root/debian"/var/log/*
  "${buildah[@]}" add --quiet "$1" "$root/debian" / >/dev/null
  "${buildah[@]}" config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --cmd bash "$1"
  rm -rf "$root"
}

packages() {
  local container=$1
  shift
  "${buildah[@]}" run --isolation chroot "$container" -- sh -c \
    'export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && apt-get install -qq --no-install-recommends "$@" >/dev/null && rm -rf /var/lib/apt/lists/*' sh "$@"
}

# The authorities that this machine trusts, which may be more than Debian's.
authorities() {
  local bundle=/etc/ssl/certs/ca-certificates.crt
  "${buildah[@]}" copy --quiet "$1" "$bundle" "$bundle" >/dev/null
}

rust() {
  local sysroot tool
  sysroot=$(rustc --print sysroot)
  packages "$1" gcc libc6-dev ca-certificates
  authorities "$1"
  for tool in cargo rustc; do
    "${buildah[@]}" copy --quiet "$1" "$sysroot/bin/$tool" "/usr/local/bin/$tool" >/dev/null
  done
  "${buildah[@]}" copy --quiet "$1" "$sysroot/lib" /usr/local/lib >/dev/null
  "${buildah[@]}" config --env CARGO_HOME=/usr/local/cargo \
    --env PATH=/usr/local/cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$1"
}

node() {
  local npm
  npm=$(npm root --global 2>/dev/null)/npm
  packages "$1" libstdc++6 ca-certificates
  authorities "$1"
  "${buildah[@]}" copy --quiet "$1" "$(node_program)" /usr/local/bin/node >/dev/null
  "${buildah[@]}" copy --quiet "$1" "$npm" /usr/local/lib/node_modules/npm >/dev/null
  "${buildah[@]}" run --isolation chroot "$1" -- ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
  "${buildah[@]}" config --env NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt "$1"
}

node_program() { command node -p process.execPath; }

image debian scratch debian
image rust localhost/base/debian rust
image node localhost/base/debian node
