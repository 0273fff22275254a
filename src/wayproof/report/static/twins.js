// Ids that differ in spelling only: a leading "./", slashes, case, composition, "%20", ":12".
// Stable ids are compared as they stand; the reader is told that a near twin was selected.

const LINE_SUFFIX = /:\d+(?:[:-]\d+)?$/;

function decoded(id) {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

/** An id without what spelling adds. */
export function plainSpelling(id) {
  return decoded(id)
    .replaceAll("\\", "/")
    .replace(LINE_SUFFIX, "")
    .replace(/\/{2,}/g, "/")
    .replace(/^(?:\.\/)+/, "")
    .replace(/\/$/, "")
    .normalize("NFC")
    .toLowerCase();
}

/** Selected ids that are a missing one in another spelling. */
export function nearTwins(missing, selected) {
  const wanted = plainSpelling(missing);
  return selected.filter((id) => id !== missing && plainSpelling(id) === wanted);
}
