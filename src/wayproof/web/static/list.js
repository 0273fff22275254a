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

/**
 * Run the list whose parts have the ids `list` and `list-table`.
 *
 * @param {(index: number, place: number) => void} onOpen called with the record's index and
 *   its place among those shown
 * @returns {{show: Function, redraw: Function, openAt: Function, focusAt: Function,
 *   order: () => number[]}}
 */
export function createList(onOpen) {
  const scroller = byId("list");
  const table = byId("list-table");
  const head = scroller.querySelector(".list-head");
  const body = scroller.querySelector(".list-body");
  let view = null;
  let order = [];
  let active = 0;

  function sortBy(column) {
    const [key, direction] = view.sort;
    view.sort = [column.key, key === column.key ? -direction : column.isNumber ? -1 : 1];
    arrange();
    draw();
    head.querySelectorAll("button")[view.columns.indexOf(column)].focus();
  }

  function arrange() {
    const [key, direction] = view.sort;
    const { sort } = view.columns.find((column) => column.key === key);
    order.sort((a, b) => direction * sort(a, b) || a - b);
    active = 0;
    scroller.scrollTop = 0;
  }

  function headCell(column) {
    const [key, direction] = view.sort;
    const isSorted = column.key === key;
    return el(
      "div",
      {
        role: "columnheader",
        class: column.isNumber ? "number" : null,
        "aria-sort": isSorted ? (direction > 0 ? "ascending" : "descending") : "none",
      },
      el(
        "button",
        { type: "button", class: "sort", on: { click: () => sortBy(column) } },
        text(`column.${column.key}`),
        el("span", { "aria-hidden": "true" }, isSorted ? (direction > 0 ? " ▲" : " ▼") : ""),
      ),
    );
  }

  function opener(column, index, place) {
    return el(
      "button",
      {
        type: "button",
        class: "task",
        "data-place": place,
        tabindex: place === active ? 0 : -1,
        on: { click: () => openAt(place) },
      },
      column.draw(index),
    );
  }

  function row(place) {
    const index = order[place];
    return el(
      "div",
      {
        role: "row",
        class: view.isChosen?.(index) ? "list-row chosen" : "list-row",
        "aria-rowindex": place + 2,
        css: { transform: `translateY(${place * ROW_PX}px)` },
      },
      view.columns.map((column, at) =>
        el(
          "div",
          { role: "cell", class: column.isNumber ? "number" : null },
          at === 0 ? opener(column, index, place) : column.draw(index),
        ),
      ),
    );
  }

  function drawRows() {
    const first = Math.max(0, Math.floor(scroller.scrollTop / ROW_PX) - SPARE_ROWS);
    const count = Math.ceil(scroller.clientHeight / ROW_PX) + 2 * SPARE_ROWS;
    const last = Math.min(order.length, first + count);
    const hadFocus = body.contains(document.activeElement);
    if (!hadFocus && (active < first || active >= last)) {
      active = Math.min(first + SPARE_ROWS, Math.max(0, order.length - 1));
    }
    const rows = [];
    for (let place = first; place < last; place += 1) {
      rows.push(row(place));
    }
    body.replaceChildren(...rows);
    if (hadFocus) {
      body.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
    }
  }

  function draw() {
    table.setAttribute("aria-rowcount", String(order.length + 1));
    body.style.setProperty("height", `${Math.max(1, order.length) * ROW_PX}px`);
    head.replaceChildren(
      el("div", { role: "row", class: "list-row", "aria-rowindex": 1 }, view.columns.map(headCell)),
    );
    if (order.length > 0) {
      drawRows();
    } else {
      body.replaceChildren(
        el(
          "div",
          { role: "row", class: "list-row empty" },
          el("div", { role: "cell", class: "soft" }, text(view.emptyKey)),
        ),
      );
    }
  }

  function bringIntoView(place) {
    const top = place * ROW_PX;
    const room = scroller.clientHeight - 2 * ROW_PX;
    if (top < scroller.scrollTop) {
      scroller.scrollTop = top;
    } else if (top > scroller.scrollTop + room) {
      scroller.scrollTop = top - room;
    }
  }

  function focusAt(place) {
    active = Math.max(0, Math.min(order.length - 1, place));
    bringIntoView(active);
    drawRows();
    body.querySelector(`[data-place="${active}"]`)?.focus({ preventScroll: true });
  }

  function openAt(place) {
    if (place < 0 || place >= order.length) {
      return;
    }
    active = place;
    bringIntoView(place);
    onOpen(order[place], place);
    drawRows();
  }

  function onKey(event) {
    if (!event.target.classList.contains("task")) {
      return;
    }
    const page = Math.max(1, Math.floor(scroller.clientHeight / ROW_PX) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (event.key in steps) {
      focusAt(active + steps[event.key]);
    } else if (event.key === "Home" || event.key === "End") {
      focusAt(event.key === "Home" ? 0 : order.length - 1);
    } else {
      return;
    }
    event.preventDefault();
  }

  let isDrawing = false;
  function redrawSoon() {
    if (isDrawing || order.length === 0) {
      return;
    }
    isDrawing = true;
    requestAnimationFrame(() => {
      isDrawing = false;
      drawRows();
    });
  }

  scroller.addEventListener("scroll", redrawSoon);
  addEventListener("resize", redrawSoon);
  scroller.addEventListener("keydown", onKey);

  return {
    /**
     * Show the records `indexes` by a view: {columns, sort: [key, 1 or -1], emptyKey,
     * isChosen}. The view keeps how it was sorted last.
     */
    show(nextView, indexes) {
      view = nextView;
      order = indexes;
      arrange();
      draw();
    },
    redraw: () => view && draw(),
    openAt,
    focusAt,
    order: () => order,
  };
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
