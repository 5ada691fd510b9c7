#!/usr/bin/env bash
# Installs PR-Agent, at the versions of requirements.txt, into an environment of its own for `make bench`, and prints its
# Python. PR-Agent wants Python 3.12 or newer: the machine's own, or one of pyenv's. Where there is none, it says so and
# prints nothing; the benchmark then leaves PR-Agent out.
#
#     bench/pr_agent/install.sh FOLDER
set -euo pipefail
folder=$1 here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if ! cmp --silent "$here/requirements.txt" "$folder/installed"; then
  found=
  for python in "${PYTHON:-python3}" python3.{14,13,12} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python3; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then found=$python && break; fi
  done
  if [ -z "$found" ]; then
    echo "bench: PR-Agent is left out, because there is no Python 3.12 or newer; name one as PYTHON" >&2
    exit
  fi
  echo "bench: installing PR-Agent, which takes a minute or two" >&2
  "$found" -m venv --clear "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
    -r "$here/requirements.txt" >&2
  cp "$here/requirements.txt" "$folder/installed"
fi
echo "$(cd "$folder" && pwd)/bin/python"
