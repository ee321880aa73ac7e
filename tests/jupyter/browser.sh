# A person's way through JupyterLab in a headless browser, on the default model.
# SPDX-License-Identifier: Apache-2.0
# PYTHON names a Python of an environment with jupyterlab and selenium; $SHOTS keeps the screenshots.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/model.sh"
LONGLEAF_MODELS=$(dirname "${default_model:-/nonexistent/model}")
export LONGLEAF_MODELS
. "$top_srcdir/tests/jupyter/python.sh"
[ -n "$default_model" ] || tap_skip_all "the default model is not here (longleaf models fetch)"
kernel_python jupyterlab selenium || tap_skip_all "no Python here has jupyterlab and selenium (PyPI)"
for each in chromium chromedriver; do
    command -v $each > /dev/null || tap_skip_all "$each is not here (Debian: chromium, chromium-driver)"
done
"$python" "$top_srcdir/tests/jupyter/browser.py" "$program" "$top_srcdir/docs/notebooks" "${SHOTS:-$tap_dir/shots}"
