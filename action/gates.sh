#!/usr/bin/env bash
# Takes the gates from the base revision: a pull request can't lower its own.
set -euo pipefail
out="$RUNNER_TEMP/wayproof"
mkdir -p "$out"
rm -f "$out/wayproof.toml"
if [ -n "${BASE_REF:-}" ]; then
  if ! git cat-file -e "$BASE_REF^{commit}" 2>/dev/null; then
    git fetch --quiet --no-tags --depth=1 origin "$BASE_REF"
  fi
  if git cat-file -e "$BASE_REF:wayproof.toml" 2>/dev/null; then
    git show "$BASE_REF:wayproof.toml" > "$out/wayproof.toml"
    echo "gates: wayproof.toml of $BASE_REF"
  else
    : > "$out/wayproof.toml"
    echo "gates: none, $BASE_REF has no wayproof.toml"
  fi
elif [ -f wayproof.toml ]; then
  cp wayproof.toml "$out/wayproof.toml"
  echo "gates: wayproof.toml of this revision"
else
  : > "$out/wayproof.toml"
  echo "gates: none"
fi
python "$ACTION_PATH/action/gate_files.py" "$out/wayproof.toml"
