// What a reader takes away from a page: a link, a command, a table. Clipboards of pages from
// disk work on a click only, and not everywhere: a field with the text selected is the other way.

import { byId, el } from "./dom.js";
import { text } from "./locale.js";

const CONTROL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const PLAIN_WORD = /^[\w@%+=:,./-]+$/;
const FORMULA_START = /^[=+\-@\t\r]/;

/** Arguments as a POSIX shell reads them; null where one holds a control character. */
export function shellCommand(words) {
  if (words.some((word) => CONTROL.test(word))) {
    return null;
  }
  return words
    .map((word) => (PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}

/** Offer a text: to the clipboard, or else in a field, selected. */
export async function take(value, fieldId) {
  const field = byId(fieldId);
  field.hidden = false;
  field.value = value;
  field.focus();
  field.select();
  try {
    await navigator.clipboard.writeText(value);
    byId(`${fieldId}-said`).textContent = text("take.copied");
  } catch {
    byId(`${fieldId}-said`).textContent = text("take.select");
  }
}

/** A button that offers a text made when it is pressed. */
export function takeButton(key, fieldId, make) {
  return el(
    "button",
    { type: "button", "data-take": key, on: { click: () => take(make(), fieldId) } },
    text(`take.${key}`),
  );
}

/** The field in which a text is offered. */
export function takeField(fieldId) {
  return el(
    "span",
    { class: "take" },
    el("input", { type: "text", id: fieldId, readonly: true, hidden: true, "aria-label": text("take.field") }),
    el("span", { id: `${fieldId}-said`, class: "small soft", "aria-live": "polite" }),
  );
}

function csvCell(value) {
  if (value === null || value === undefined) {
    return "";
  }
  const plain = typeof value === "number" ? String(value) : String(value);
  // A spreadsheet would run such a text as a formula; numbers are none.
  const safe = typeof value !== "number" && FORMULA_START.test(plain) ? `'${plain}` : plain;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Rows as CSV (RFC 4180), a head first. */
export function csvText(head, rows) {
  return [head, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

/** Let the browser save a text as a file. */
export function saveText(name, content) {
  const address = URL.createObjectURL(new Blob([content], { type: "text/csv;charset=utf-8" }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
