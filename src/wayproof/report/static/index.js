// The index over several reports, sorted by any of its columns.

import { el } from "../../web/static/dom.js";
import { onLanguage, startLocale } from "../../web/static/locale.js";
import { Permalink } from "../../web/static/permalink.js";

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

/** Heads as buttons that sort (again reverses); the address follows, and leads back. */
class Sorted {
  #table;
  #heads;
  #link;

  constructor(table) {
    this.#table = table;
    this.#heads = Array.from(table.tHead.rows[0].cells);
    // The heads' texts change with the language: their buttons are made anew.
    onLanguage(() => this.#drawHeads());
    this.#link = new Permalink((state) => this.#apply(state));
    this.#apply(this.#link.opened ?? new Map());
  }

  #drawHeads() {
    this.#heads.forEach((head, column) => {
      const button = { type: "button", class: "sort", on: { click: () => this.#press(column) } };
      head.replaceChildren(el("button", button, head.textContent));
    });
  }

  #press(column) {
    const head = this.#heads[column];
    const before = head.getAttribute("aria-sort");
    const isFirst = before !== "ascending" && before !== "descending";
    const first = head.classList.contains("number") ? -1 : 1;
    const direction = isFirst ? first : before === "ascending" ? -1 : 1;
    sortBy(this.#table, column, direction);
    this.#link.replace([["sort", `${direction < 0 ? "-" : ""}${head.dataset.t}`]]);
  }

  #apply(state) {
    const asked = state.get("sort") ?? "";
    const column = this.#heads.findIndex((head) => head.dataset.t === asked.replace(/^-/, ""));
    if (column >= 0) {
      sortBy(this.#table, column, asked.startsWith("-") ? -1 : 1);
    }
  }
}

startLocale();
document.querySelectorAll("table.sortable").forEach((table) => new Sorted(table));
document.documentElement.dataset.ready = "true";
