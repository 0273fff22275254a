// A long list, drawn a screenful at a time: a hundred thousand rows cost what thirty do.
// Sorted by its column heads, walked with the arrow keys (one row holds the tab stop).

import { byId, el } from "./dom.js";
import { text } from "./locale.js";

const ROW_PX = 38;
const SPARE_ROWS = 8;

/**
 * @typedef {object} Column
 * @property {string} key message key after "column."
 * @property {boolean} [isNumber] aligned to the end, and sorted largest first at first
 * @property {(a: number, b: number) => number} sort compares two record indexes
 * @property {(index: number) => (Node|string)} draw
 */

function emptyRow(key) {
  return el(
    "div",
    { role: "row", class: "list-row empty" },
    el("div", { role: "cell", class: "soft" }, text(key)),
  );
}

/** The list whose parts have the ids `list` and `list-table`. */
export class List {
  #scroller = byId("list");
  #head = this.#scroller.querySelector(".list-head");
  #body = this.#scroller.querySelector(".list-body");
  #onOpen;
  #onSort;
  #table = null;
  #order = [];
  #active = 0;
  #isDrawing = false;

  /**
   * @param {(index: number, place: number) => void} onOpen called with the record's index
   *   and its place among those shown
   * @param {() => void} [onSort] called when the reader has sorted the list
   */
  constructor(onOpen, onSort = () => {}) {
    this.#onOpen = onOpen;
    this.#onSort = onSort;
    this.#scroller.addEventListener("scroll", () => this.#redrawSoon());
    this.#scroller.addEventListener("keydown", (event) => this.#onKey(event));
    addEventListener("resize", () => this.#redrawSoon());
  }

  /** Indexes of the records shown, in their order. */
  get order() {
    return this.#order;
  }

  /**
   * Show the records `indexes` in a table: {columns, sort: [key, 1 or -1], emptyKey,
   * isChosen}. The table keeps how it was sorted last.
   */
  show(table, indexes) {
    this.#table = table;
    this.#order = indexes;
    this.#arrange();
    this.redraw();
  }

  /** Draw everything again: the language has changed. */
  redraw() {
    if (this.#table === null) {
      return;
    }
    const count = this.#order.length;
    byId("list-table").setAttribute("aria-rowcount", String(count + 1));
    this.#body.style.setProperty("height", `${Math.max(1, count) * ROW_PX}px`);
    // A short list takes no more room than its rows: head, rows, and a scroll bar below them.
    this.#scroller.style.setProperty("max-height", `${(Math.max(1, count) + 1) * ROW_PX + 24}px`);
    const cells = this.#table.columns.map((column) => this.#headCell(column));
    this.#head.replaceChildren(
      el("div", { role: "row", class: "list-row", "aria-rowindex": 1 }, cells),
    );
    if (count > 0) {
      this.#drawRows();
    } else {
      this.#body.replaceChildren(emptyRow(this.#table.emptyKey));
    }
  }

  /** Open the record at a place, and keep it in sight. */
  openAt(place) {
    if (place < 0 || place >= this.#order.length) {
      return;
    }
    this.#active = place;
    this.#bringIntoView(place);
    this.#onOpen(this.#order[place], place);
    this.#drawRows();
  }

  /** Move the keyboard's focus to a place. */
  focusAt(place) {
    this.#active = Math.max(0, Math.min(this.#order.length - 1, place));
    this.#bringIntoView(this.#active);
    this.#drawRows();
    this.#focusActive();
  }

  #focusActive() {
    this.#body.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
  }

  #arrange() {
    const [key, direction] = this.#table.sort;
    const { sort } = this.#table.columns.find((column) => column.key === key);
    this.#order.sort((a, b) => direction * sort(a, b) || a - b);
    this.#active = 0;
    this.#scroller.scrollTop = 0;
  }

  #sortBy(column) {
    const [key, direction] = this.#table.sort;
    const first = column.isNumber ? -1 : 1;
    this.#table.sort = [column.key, key === column.key ? -direction : first];
    this.#arrange();
    this.redraw();
    this.#head.querySelectorAll("button")[this.#table.columns.indexOf(column)].focus();
    this.#onSort();
  }

  #headCell(column) {
    const [key, direction] = this.#table.sort;
    const isSorted = column.key === key;
    const isRising = direction > 0;
    const sign = isRising ? " ▲" : " ▼";
    const order = isRising ? "ascending" : "descending";
    return el(
      "div",
      {
        role: "columnheader",
        class: column.isNumber ? "number" : null,
        "aria-sort": isSorted ? order : "none",
      },
      el(
        "button",
        { type: "button", class: "sort", on: { click: () => this.#sortBy(column) } },
        text(`column.${column.key}`),
        el("span", { "aria-hidden": "true" }, isSorted ? sign : ""),
      ),
    );
  }

  /** A click anywhere in a row opens it, unless it was made to mark text. */
  #onRowClick(event, place) {
    if (!event.target.closest("button, a") && String(getSelection()) === "") {
      this.openAt(place);
    }
  }

  #opener(content, place) {
    return el(
      "button",
      {
        type: "button",
        class: "task",
        "data-place": place,
        tabindex: place === this.#active ? 0 : -1,
        on: { click: () => this.openAt(place) },
      },
      content,
    );
  }

  #row(place) {
    const index = this.#order[place];
    const cells = this.#table.columns.map((column, at) => {
      const content = column.draw(index);
      return el(
        "div",
        { role: "cell", class: column.isNumber ? "number" : null },
        at === 0 ? this.#opener(content, place) : content,
      );
    });
    return el(
      "div",
      {
        role: "row",
        class: this.#table.isChosen?.(index) ? "list-row chosen" : "list-row",
        "aria-rowindex": place + 2,
        on: { click: (event) => this.#onRowClick(event, place) },
        css: { transform: `translateY(${place * ROW_PX}px)` },
      },
      cells,
    );
  }

  #drawRows() {
    const first = Math.max(0, Math.floor(this.#scroller.scrollTop / ROW_PX) - SPARE_ROWS);
    const count = Math.ceil(this.#scroller.clientHeight / ROW_PX) + 2 * SPARE_ROWS;
    const last = Math.min(this.#order.length, first + count);
    const hadFocus = this.#body.contains(document.activeElement);
    if (!hadFocus && (this.#active < first || this.#active >= last)) {
      this.#active = Math.min(first + SPARE_ROWS, Math.max(0, this.#order.length - 1));
    }
    const places = Array.from({ length: Math.max(0, last - first) }, (_, at) => first + at);
    this.#body.replaceChildren(...places.map((place) => this.#row(place)));
    if (hadFocus) {
      this.#focusActive();
    }
  }

  #bringIntoView(place) {
    const top = place * ROW_PX;
    const room = this.#scroller.clientHeight - 2 * ROW_PX;
    if (top < this.#scroller.scrollTop) {
      this.#scroller.scrollTop = top;
    } else if (top > this.#scroller.scrollTop + room) {
      this.#scroller.scrollTop = top - room;
    }
  }

  #redrawSoon() {
    if (this.#isDrawing || this.#order.length === 0) {
      return;
    }
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      if (this.#order.length > 0) {
        this.#drawRows();
      }
    });
  }

  #onKey(event) {
    if (!event.target.classList.contains("task")) {
      return;
    }
    const screenful = Math.max(1, Math.floor(this.#scroller.clientHeight / ROW_PX) - 2);
    const last = this.#order.length - 1;
    const places = {
      ArrowDown: this.#active + 1,
      ArrowUp: this.#active - 1,
      PageDown: this.#active + screenful,
      PageUp: this.#active - screenful,
      Home: 0,
      End: last,
    };
    if (event.key in places) {
      this.focusAt(places[event.key]);
      event.preventDefault();
    }
  }
}

/** Compare two records by a column of numbers. */
export function byNumber(column) {
  return (a, b) => column[a] - column[b];
}

/** Compare two records by a text. */
export function byText(read) {
  return (a, b) => {
    const [one, two] = [read(a), read(b)];
    return one < two ? -1 : Number(one > two);
  };
}

/** Fill a filter's choices, keeping the one that is chosen; -1 means any. */
export function fillFilter(id, labels) {
  const select = byId(id);
  const before = select.value || "-1";
  select.replaceChildren(
    el("option", { value: -1 }, text("filter.any")),
    ...labels.map((label, index) => el("option", { value: index }, label)),
  );
  select.value = before;
}

/** Call `choose` when a filter changes; typing waits for a pause. */
export function onFilters(ids, choose) {
  let typing = null;
  for (const id of ids) {
    byId(id).addEventListener("change", choose);
  }
  byId("filter-text").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(choose, 120);
  });
  byId("filter-clear").addEventListener("click", () => {
    clearFilters(ids);
    choose();
  });
}

/** Set every filter to "any". */
export function clearFilters(ids) {
  byId("filter-text").value = "";
  for (const id of ids) {
    byId(id).value = "-1";
  }
}
