// The index over several reports, sorted by any of its columns.

import { el } from "../../web/static/dom.js";
import { onLanguage, startLocale } from "../../web/static/locale.js";

/** Compare two cells by what they stand for: numbers as numbers, texts as texts. */
function compareCells(a, b) {
  const [one, other] = [a.dataset.value, b.dataset.value];
  const [first, second] = [Number(one), Number(other)];
  if (!Number.isNaN(first) && !Number.isNaN(second)) {
    return first - second;
  }
  return one < other ? -1 : Number(one > other);
}

function sortBy(table, column, direction) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  rows.sort((a, b) => direction * compareCells(a.cells[column], b.cells[column]));
  body.append(...rows);
  Array.from(table.tHead.rows[0].cells).forEach((head, at) => {
    head.setAttribute("aria-sort", at !== column ? "none" : direction > 0 ? "ascending" : "descending");
  });
}

/** Make each head of a table a button that sorts; again reverses. */
function startSorting(table) {
  Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
    const label = head.textContent;
    const isNumber = head.classList.contains("number");
    const press = () => {
      const before = head.getAttribute("aria-sort");
      const isFirst = before !== "ascending" && before !== "descending";
      sortBy(table, column, isFirst ? (isNumber ? -1 : 1) : before === "ascending" ? -1 : 1);
    };
    head.replaceChildren(el("button", { type: "button", class: "sort", on: { click: press } }, label));
  });
}

startLocale();
for (const table of document.querySelectorAll("table.sortable")) {
  // The heads' texts change with the language: their buttons are made anew.
  onLanguage(() => startSorting(table));
}
document.documentElement.dataset.ready = "true";
