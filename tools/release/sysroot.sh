#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A sysroot for another architecture: the libraries and headers that berth is built with, unpacked from what Debian 12 has for
# it now. apt works in a state of its own (it checks the archive's signatures), so that this machine's packages and
# architectures stay as they are, and no program of a package is run.
#   sysroot.sh ARCH FOLDER PACKAGE...    makes FOLDER; does nothing when it is there, made for the same packages
# In FOLDER are the unpacked files, `made-of` (a line a package, NAME=VERSION), and dpkg's database of whose each file is:
#   dpkg-query --admindir=FOLDER/var/lib/dpkg -S /usr/include/sqlite3.h
set -euo pipefail
architecture=$1 out=$(realpath -m "$2")
shift 2
# What a program needs to be linked, beside the libraries.
wanted=$(printf '%s\n' libc6-dev linux-libc-dev "$@")
[ -f "$out/made-of" ] && [ "$(cat "$out/asked-for" 2>/dev/null)" = "$wanted" ] && exit

rm -rf "$out"
apt=$out/.apt
database=$out/var/lib/dpkg
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$database/info"
: >"$database/status"
printf 'deb [arch=%s signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/%s main\n' \
  "$architecture" "debian bookworm" "$architecture" "debian bookworm-updates" \
  "$architecture" "debian-security bookworm-security" >"$apt/sources.list"
# APT::Architectures replaces the list of this machine's; the folders of its hooks and pins are not read.
cat >"$apt/apt.conf" <<TEXT
APT::Architecture "$architecture";
#clear APT::Architectures;
APT::Architectures { "$architecture"; };
APT::Sandbox::User "root";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$apt/lists";
Dir::State::status "$database/status";
Dir::State::extended_states "$apt/extended_states";
Dir::Cache "$apt/cache";
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Binary::apt-get::APT::Keep-Downloaded-Packages "true";
APT::Keep-Downloaded-Packages "true";
TEXT
export APT_CONFIG=$apt/apt.conf
apt-get -qq update
# shellcheck disable=SC2086 # one word a package
apt-get -qq --yes --no-install-recommends --download-only install $wanted >/dev/null

# Debian 12's own layout, in which /lib is a link: absolute links are made relative, since this is not the root.
mkdir -p "$out/usr/lib"
ln -s usr/lib "$out/lib"
for package in "$apt"/cache/archives/*.deb; do
  name=$(dpkg-deb --field "$package" Package)
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$out" --keep-directory-symlink --no-same-owner --wildcards \
    --exclude './usr/share/doc' --exclude './usr/share/man' --exclude './usr/share/locale' --exclude './usr/share/info' \
    --exclude './bin*' --exclude './sbin*' --exclude './usr/bin*' --exclude './usr/sbin*' --exclude './var*' --exclude './etc*'
  # As in dpkg's own lists: the root is "/.".
  dpkg-deb --fsys-tarfile "$package" | tar -t | sed -e 's,/$,,' -e 's,^\.,,' -e 's,^$,/.,' >"$database/info/$name.list"
  {
    dpkg-deb --field "$package"
    printf 'Status: install ok unpacked\n\n'
  } >>"$database/status"
  dpkg-deb --show --showformat '${Package}=${Version}\n' "$package"
done | LC_ALL=C sort >"$out/packages"
find "$out" -path "$apt" -prune -o -type l -lname '/*' -printf '%P\t%l\n' | while IFS=$'\t' read -r link target; do
  ln -sfrn "$out$target" "$out/$link"
done
rm -rf "$apt"
printf '%s\n' "$wanted" >"$out/asked-for"
mv "$out/packages" "$out/made-of"
