#!/usr/bin/env bash
# Ends with the worst status of scoring and comparing.
set -euo pipefail
out="$RUNNER_TEMP/wayproof"
worst=0
for file in "$out/score.status" "$out/compare.status"; do
  if [ -f "$file" ] && [ "$(cat "$file")" != 0 ]; then worst=1; fi
done
if [ "$worst" = 0 ]; then passed=true; else passed=false; fi
echo "passed=$passed" >> "$GITHUB_OUTPUT"
exit "$worst"
