#!/bin/sh
# Sees to it that a tool is there, for the Makefile: need.sh WHAT "PACKAGES" COMMAND [ARGUMENT...]
#
# Where COMMAND fails, WHAT is missing. Root on Debian gets its packages, and one line about it; who is somebody else, or
# elsewhere, is told the command, and this ends with 2.
set -eu
what=$1 packages=$2
shift 2
PATH=$PATH:/usr/sbin
if "$@" >/dev/null 2>&1; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "$what is missing: as root, apt-get install $packages" >&2
    exit 2
fi
echo "installing $what: apt-get install $packages"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086  packages are several words
if ! { apt-get update -qq && apt-get install -y -qq -o DPkg::Lock::Timeout=600 --no-install-recommends $packages; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    echo "$what is missing, and apt-get could not install it (above); apt-get install $packages" >&2
    exit 2
fi
if ! "$@" >/dev/null 2>&1; then
    echo "$what is missing, or too old, with $packages installed too (not so: $*); install a newer one" >&2
    exit 2
fi
