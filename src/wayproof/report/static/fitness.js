// The fitness report's lists: two debt queues and all results, sorted and filtered, drawn a
// screenful at a time; and a panel for one result.

import { byId, dataBlock, el, foreign } from "../../web/static/dom.js";
import { number, numberOrDash, onLanguage, percent, startLocale, text } from "../../web/static/locale.js";
import { KINDS, STATUSES, kindMark, statusMark } from "./marks.js";
import { createPanel } from "./task_panel.js";

const ROW_PX = 38;
const SPARE_ROWS = 8;

const BY_NUMBER = (column) => (a, b) => column[a] - column[b];

/** The columns of each list: key, how to sort, how to draw. */
function listsOf(columns) {
  const ratio = (index) => columns.wall_ms[index] / columns.budget_ms[index];
  const route = (index) => columns.routes[columns.route[index]];
  const byText = (read) => (a, b) => (read(a) < read(b) ? -1 : Number(read(a) > read(b)));
  const cell = {
    task: { key: "task", sort: byText((index) => columns.ids[index]), wide: true },
    kind: {
      key: "kind",
      sort: BY_NUMBER(columns.kind),
      draw: (index) => kindMark(columns.kind[index]),
    },
    latency: {
      key: "latency",
      sort: BY_NUMBER(columns.latency),
      draw: (index) => statusMark(columns.latency[index]),
    },
    missing: {
      key: "missing",
      isNumber: true,
      sort: BY_NUMBER(columns.missing_count),
      draw: (index) => number(columns.missing_count[index]),
    },
    hits: {
      key: "hits",
      isNumber: true,
      sort: BY_NUMBER(columns.hit_count),
      draw: (index) => number(columns.hit_count[index]),
    },
    wall: {
      key: "wall",
      isNumber: true,
      sort: BY_NUMBER(columns.wall_ms),
      draw: (index) => numberOrDash(columns.wall_ms[index] < 0 ? null : columns.wall_ms[index], 1),
    },
    budget: {
      key: "budget",
      isNumber: true,
      sort: BY_NUMBER(columns.budget_ms),
      draw: (index) => number(columns.budget_ms[index]),
    },
    ratio: {
      key: "ratio",
      isNumber: true,
      sort: (a, b) => ratio(a) - ratio(b),
      draw: (index) => (columns.wall_ms[index] < 0 ? "–" : `${number(ratio(index), 2)} ×`),
    },
    recall: {
      key: "recall",
      isNumber: true,
      sort: BY_NUMBER(columns.recall),
      draw: (index) => percent(columns.recall[index]),
    },
    precision: {
      key: "precision",
      isNumber: true,
      sort: BY_NUMBER(columns.precision),
      draw: (index) => percent(columns.precision[index]),
    },
    route: { key: "route", sort: byText(route), draw: (index) => foreign(route(index)) },
  };
  return {
    sufficiency: {
      has: (index) => columns.kind[index] > 0,
      cells: [cell.task, cell.kind, cell.missing, cell.hits, cell.recall, cell.route],
      sort: ["kind", 1],
    },
    latency: {
      has: (index) => columns.latency[index] === 1 || columns.latency[index] === 2,
      cells: [cell.task, cell.latency, cell.wall, cell.budget, cell.ratio, cell.route],
      sort: ["ratio", -1],
    },
    all: {
      has: () => true,
      cells: [cell.task, cell.kind, cell.latency, cell.wall, cell.recall, cell.precision, cell.route],
      sort: ["task", 1],
    },
  };
}

function startLists(columns) {
  const lists = listsOf(columns);
  const scroller = byId("list");
  const head = scroller.querySelector(".list-head");
  const body = scroller.querySelector(".list-body");
  const panel = createPanel(columns, { previous: () => openAt(active - 1), next: () => openAt(active + 1) });
  let name = "sufficiency";
  let order = [];
  let active = 0;
  let sorts = Object.fromEntries(Object.entries(lists).map(([key, list]) => [key, list.sort]));

  function filters() {
    return {
      text: byId("filter-text").value.toLowerCase(),
      route: Number(byId("filter-route").value),
      kind: Number(byId("filter-kind").value),
      latency: Number(byId("filter-latency").value),
    };
  }

  function passes(index, wanted) {
    return (
      (wanted.route < 0 || columns.route[index] === wanted.route) &&
      (wanted.kind < 0 || columns.kind[index] === wanted.kind) &&
      (wanted.latency < 0 || columns.latency[index] === wanted.latency) &&
      (wanted.text === "" || columns.ids[index].toLowerCase().includes(wanted.text))
    );
  }

  function choose() {
    const list = lists[name];
    const wanted = filters();
    order = [];
    for (let index = 0; index < columns.ids.length; index += 1) {
      if (list.has(index) && passes(index, wanted)) {
        order.push(index);
      }
    }
    const [key, direction] = sorts[name];
    const { sort } = list.cells.find((cell) => cell.key === key);
    order.sort((a, b) => direction * sort(a, b) || a - b);
    active = 0;
    scroller.scrollTop = 0;
    draw();
  }

  function drawHead() {
    const [sortKey, direction] = sorts[name];
    head.replaceChildren(
      el(
        "div",
        { role: "row", class: "list-row", "aria-rowindex": 1 },
        lists[name].cells.map((cell) => {
          const isSorted = cell.key === sortKey;
          return el(
            "div",
            {
              role: "columnheader",
              class: cell.isNumber ? "number" : null,
              "aria-sort": isSorted ? (direction > 0 ? "ascending" : "descending") : "none",
            },
            el(
              "button",
              { type: "button", class: "sort", on: { click: () => sortBy(cell) } },
              text(`column.${cell.key}`),
              el("span", { "aria-hidden": "true" }, isSorted ? (direction > 0 ? " ▲" : " ▼") : ""),
            ),
          );
        }),
      ),
    );
  }

  function sortBy(cell) {
    const [key, direction] = sorts[name];
    sorts = { ...sorts, [name]: [cell.key, key === cell.key ? -direction : cell.isNumber ? -1 : 1] };
    choose();
    const place = lists[name].cells.indexOf(cell);
    head.querySelectorAll("button")[place].focus();
  }

  function drawRow(place) {
    const index = order[place];
    const row = el(
      "div",
      {
        role: "row",
        class: "list-row",
        "aria-rowindex": place + 2,
        css: { transform: `translateY(${place * ROW_PX}px)` },
      },
      lists[name].cells.map((cell) =>
        el(
          "div",
          { role: "cell", class: cell.isNumber ? "number" : cell.wide ? "wide-cell" : null },
          cell.key === "task" ? taskButton(index, place) : cell.draw(index),
        ),
      ),
    );
    return row;
  }

  function taskButton(index, place) {
    return el(
      "button",
      {
        type: "button",
        class: "task",
        "data-place": place,
        tabindex: place === active ? 0 : -1,
        on: { click: () => openAt(place) },
      },
      foreign(columns.ids[index]),
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
      rows.push(drawRow(place));
    }
    body.replaceChildren(...rows);
    if (hadFocus) {
      body.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
    }
  }

  function draw() {
    const table = byId("list-table");
    table.className = `table columns-${name}`;
    table.setAttribute("aria-rowcount", String(order.length + 1));
    body.style.setProperty("height", `${Math.max(1, order.length) * ROW_PX}px`);
    drawHead();
    drawRows();
    if (order.length === 0) {
      body.replaceChildren(
        el(
          "div",
          { role: "row", class: "list-row empty" },
          el("div", { role: "cell", class: "soft" }, text(`queue.${name}.empty`)),
        ),
      );
    }
    byId("queue-count").textContent = text("queue.count", { count: number(order.length) });
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
    drawRows();
    panel.open(order[place], { place, count: order.length });
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

  function show(next, isFromKey = false) {
    name = next;
    for (const tab of document.querySelectorAll('[role="tab"]')) {
      const isOn = tab.id === `tab-${next}`;
      tab.setAttribute("aria-selected", String(isOn));
      tab.setAttribute("tabindex", isOn ? "0" : "-1");
      if (isOn && isFromKey) {
        tab.focus();
      }
    }
    byId("queue").setAttribute("aria-labelledby", `tab-${next}`);
    choose();
  }

  function drawFilters() {
    const options = (names, label) => [
      el("option", { value: -1 }, text("filter.any")),
      ...names.map((each, index) => el("option", { value: index }, label(each, index))),
    ];
    const fill = (id, names, label) => {
      const before = byId(id).value || "-1";
      byId(id).replaceChildren(...options(names, label));
      byId(id).value = before;
    };
    fill("filter-route", columns.routes, (route) => foreign(route).textContent);
    fill("filter-kind", KINDS, (kind) => text(`sufficiency.${kind}`));
    fill("filter-latency", STATUSES, (status) => text(`latency.${status}`));
  }

  function setFilters({ kind = -1, latency = -1 }) {
    byId("filter-text").value = "";
    byId("filter-route").value = "-1";
    byId("filter-kind").value = String(kind);
    byId("filter-latency").value = String(latency);
  }

  const tabs = Array.from(document.querySelectorAll('[role="tab"]'));
  tabs.forEach((tab, index) => {
    const key = tab.id.replace("tab-", "");
    tab.addEventListener("click", () => show(key));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step !== undefined) {
        const next = tabs[(index + step + tabs.length) % tabs.length];
        show(next.id.replace("tab-", ""), true);
        event.preventDefault();
      }
    });
  });
  for (const id of ["filter-route", "filter-kind", "filter-latency"]) {
    byId(id).addEventListener("change", choose);
  }
  let typing = null;
  byId("filter-text").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(choose, 120);
  });
  byId("filter-clear").addEventListener("click", () => {
    setFilters({});
    choose();
  });
  for (const button of document.querySelectorAll(".matrix button[data-kind]")) {
    button.addEventListener("click", () => {
      setFilters({
        kind: KINDS.indexOf(button.dataset.kind),
        latency: STATUSES.indexOf(button.dataset.latency),
      });
      show("all");
      byId("tasks").scrollIntoView();
      focusAt(0);
    });
  }
  let isDrawing = false;
  scroller.addEventListener("scroll", () => {
    if (!isDrawing) {
      isDrawing = true;
      requestAnimationFrame(() => {
        isDrawing = false;
        if (order.length > 0) {
          drawRows();
        }
      });
    }
  });
  scroller.addEventListener("keydown", onKey);
  addEventListener("resize", () => order.length > 0 && drawRows());
  drawFilters();
  if (!columns.ids.some((_, index) => lists.sufficiency.has(index))) {
    show("all");
  } else {
    show("sufficiency");
  }
  onLanguage(() => {
    drawFilters();
    draw();
    panel.redraw();
  });
  const asked = /^#result=(\d+)$/.exec(location.hash);
  if (asked) {
    show("all");
    openAt(order.indexOf(Number(asked[1])));
  }
}

startLocale();
if (document.getElementById("columns")) {
  startLists(dataBlock("columns"));
}
document.documentElement.dataset.ready = "true";
