#!/usr/bin/env bash
# Compares with the base's bundle, where there is one.
set -euo pipefail
out="$RUNNER_TEMP/wayproof"
rm -f "$out/compare.json" "$out/compare.md" "$out/compare.status"
if [ -z "${BASE_BUNDLE:-}" ]; then
  echo "no base bundle: nothing is compared"
  exit 0
fi
more=()
if [ -n "${MEASURES:-}" ]; then more+=(--measures "recall precision $MEASURES"); fi
status=0
python -P -m wayproof compare "$BASE_BUNDLE" "$out/new" --config "$out/wayproof.toml" \
  --format "json=$out/compare.json" --format "markdown=$out/compare.md" \
  --format "junit=$out/compare-junit.xml" ${more[@]+"${more[@]}"} || status=$?
if [ "$status" -gt 1 ]; then exit "$status"; fi
echo "$status" > "$out/compare.status"
