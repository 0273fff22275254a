// Full case folding (Unicode, CaseFolding C + F), which ECMAScript doesn't have: lower, upper
// and lower again, letter by letter, but for the letters where that leads elsewhere.

// The dotless i stays itself, and Cherokee folds to its capitals.
const CHEROKEE = /[\u13a0-\u13ff\uab70-\uabbf]/;

function foldedLetter(letter) {
  if (letter === "\u0131") {
    return letter;
  }
  if (CHEROKEE.test(letter)) {
    return letter.toUpperCase();
  }
  const upper = letter.toLowerCase().toUpperCase();
  return Array.from(upper, (each) => each.toLowerCase()).join("");
}

/** Fold case and composition: NFC, full case folding, NFC again. */
export function fold(text) {
  const folded = Array.from(text.normalize("NFC"), foldedLetter).join("");
  return folded.normalize("NFC");
}
