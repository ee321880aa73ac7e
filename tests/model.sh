# Where the default model lies when it has been fetched: sets $default_model, empty when it is not here.
# SPDX-License-Identifier: Apache-2.0
# Sanitized builds never find it; they run on tiny models only.
default_model=${LONGLEAF_MODELS:-${XDG_DATA_HOME:-${HOME:-/nonexistent}/.local/share}/longleaf/models}/SmolLM2-135M-Instruct.Q4_1.gguf
[ -r "$default_model" ] || default_model=
