#!/usr/bin/env bash
# Scores the packets. A gate that fails is told at the end, when everything is written.
set -euo pipefail
out="$RUNNER_TEMP/wayproof"
more=()
if [ -n "${MEASURES:-}" ]; then more+=(--measures "$MEASURES"); fi
status=0
python -P -m wayproof fitness score --tasks "$TASKS" --packets "$PACKETS" --out "$out/new" --overwrite \
  --config "$out/wayproof.toml" --format "markdown=$out/score.md" --format "junit=$out/junit.xml" \
  ${more[@]+"${more[@]}"} || status=$?
if [ "$status" -gt 1 ]; then exit "$status"; fi
echo "$status" > "$out/score.status"
python -P -m wayproof report "$out/new" --out "$out/report" --overwrite
echo "bundle=$out/new" >> "$GITHUB_OUTPUT"
