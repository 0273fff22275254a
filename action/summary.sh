#!/usr/bin/env bash
# Writes the job summary and the annotations.
set -euo pipefail
out="$RUNNER_TEMP/wayproof"
for page in "$out/compare.md" "$out/score.md"; do
  if [ -f "$page" ]; then cat "$page" >> "$GITHUB_STEP_SUMMARY"; fi
done
python "$ACTION_PATH/action/annotate.py" "$out/compare.json" > "$out/annotations.txt"
cat "$out/annotations.txt"
