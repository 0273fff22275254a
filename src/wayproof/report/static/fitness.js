// The fitness report: two debt queues and all results as lists, and a panel for one result.

import { byId, dataBlock, foreign, visible } from "../../web/static/dom.js";
import { apartFromOne, number, numberOrDash, onLanguage, percent, startLocale, text } from "../../web/static/locale.js";
import { List, byNumber, byText, clearFilters, fillFilter, onFilters } from "../../web/static/list.js";
import { KINDS, STATUSES, kindMark, recallText, statusMark } from "./marks.js";
import { createPanel } from "./task_panel.js";

const FILTERS = ["filter-route", "filter-kind", "filter-latency"];

/** Every column that one of the lists shows. */
function columnsOf(data) {
  const ratio = (index) => data.wall_ms[index] / data.budget_ms[index];
  const route = (index) => data.routes[data.route[index]];
  const numeric = (key, column, draw) => ({ key, isNumber: true, sort: byNumber(column), draw });
  return {
    task: {
      key: "task",
      // Results stand in the order of their id, then of their attempt as a number.
      sort: (a, b) => a - b,
      draw: (index) => foreign(data.ids[index]),
    },
    kind: {
      key: "kind",
      sort: byNumber(data.kind),
      draw: (index) => kindMark(data.kind[index]),
    },
    latency: {
      key: "latency",
      sort: byNumber(data.latency),
      draw: (index) => statusMark(data.latency[index]),
    },
    route: { key: "route", sort: byText(route), draw: (index) => foreign(route(index)) },
    missing: numeric("missing", data.missing_count, (index) => number(data.missing_count[index])),
    hits: numeric("hits", data.hit_count, (index) => number(data.hit_count[index])),
    wall: numeric("wall", data.wall_ms, (index) =>
      numberOrDash(data.wall_ms[index] < 0 ? null : data.wall_ms[index], 3),
    ),
    budget: numeric("budget", data.budget_ms, (index) => number(data.budget_ms[index])),
    recall: numeric("recall", data.recall, (index) =>
      recallText(data.recall[index], data.missing_count[index]),
    ),
    precision: numeric("precision", data.precision, (index) => percent(data.precision[index])),
    ratio: {
      key: "ratio",
      isNumber: true,
      sort: (a, b) => ratio(a) - ratio(b),
      draw: (index) => (data.wall_ms[index] < 0 ? "–" : `${apartFromOne(ratio(index), 2)} ×`),
    },
  };
}

/** The three lists: what stands in each, by which columns, sorted how at first. */
function queuesOf(data) {
  const column = columnsOf(data);
  const pick = (...names) => names.map((name) => column[name]);
  return {
    sufficiency: {
      has: (index) => data.kind[index] > 0,
      columns: pick("task", "kind", "missing", "hits", "recall", "route"),
      sort: ["kind", 1],
      emptyKey: "queue.sufficiency.empty",
    },
    latency: {
      has: (index) => ["fail", "timeout"].includes(STATUSES[data.latency[index]]),
      columns: pick("task", "latency", "wall", "budget", "ratio", "route"),
      sort: ["ratio", -1],
      emptyKey: "queue.latency.empty",
    },
    all: {
      has: () => true,
      columns: pick("task", "kind", "latency", "wall", "recall", "precision", "route"),
      sort: ["task", 1],
      emptyKey: "queue.all.empty",
    },
  };
}

/** Which results the filters let through. */
function filterOf(data) {
  const wanted = byId("filter-text").value.toLowerCase();
  const [route, kind, latency] = FILTERS.map((id) => Number(byId(id).value));
  return (index) =>
    (route < 0 || data.route[index] === route) &&
    (kind < 0 || data.kind[index] === kind) &&
    (latency < 0 || data.latency[index] === latency) &&
    (wanted === "" || data.ids[index].toLowerCase().includes(wanted));
}

function startTabs(show) {
  const tabs = Array.from(document.querySelectorAll('[role="tab"]'));
  const nameOf = (tab) => tab.id.replace("tab-", "");
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => show(nameOf(tab)));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step !== undefined) {
        const next = tabs[(index + step + tabs.length) % tabs.length];
        show(nameOf(next));
        next.focus();
        event.preventDefault();
      }
    });
  });
  return (name) => {
    for (const tab of tabs) {
      const isOn = nameOf(tab) === name;
      tab.setAttribute("aria-selected", String(isOn));
      tab.setAttribute("tabindex", isOn ? "0" : "-1");
    }
    byId("queue").setAttribute("aria-labelledby", `tab-${name}`);
    byId("list-table").className = `table columns-${name}`;
  };
}

function startLists(data) {
  const queues = queuesOf(data);
  let name = "sufficiency";
  let opened = 0;
  const panel = createPanel(data, {
    previous: () => list.openAt(opened - 1),
    next: () => list.openAt(opened + 1),
    closed: () => list.focusAt(opened),
  });
  const list = new List((index, place) => {
    opened = place;
    panel.open(index, { place, count: list.order.length });
  });
  const mark = startTabs(show);

  function choose() {
    const passes = filterOf(data);
    const order = [];
    for (let index = 0; index < data.ids.length; index += 1) {
      if (queues[name].has(index) && passes(index)) {
        order.push(index);
      }
    }
    list.show(queues[name], order);
    drawCount();
  }

  function drawCount() {
    byId("queue-count").textContent = text("queue.count", { count: number(list.order.length) });
  }

  function show(next) {
    name = next;
    mark(next);
    choose();
  }

  function drawFilters() {
    fillFilter("filter-route", data.routes.map(visible));
    fillFilter("filter-kind", KINDS.map((kind) => text(`sufficiency.${kind}`)));
    fillFilter("filter-latency", STATUSES.map((status) => text(`latency.${status}`)));
  }

  drawFilters();
  onFilters(FILTERS, choose);
  for (const button of document.querySelectorAll(".matrix button[data-kind]")) {
    button.addEventListener("click", () => {
      clearFilters(FILTERS);
      byId("filter-kind").value = String(KINDS.indexOf(button.dataset.kind));
      byId("filter-latency").value = String(STATUSES.indexOf(button.dataset.latency));
      show("all");
      byId("tasks").scrollIntoView();
      list.focusAt(0);
    });
  }
  show(data.kind.some((kind) => kind > 0) ? "sufficiency" : "all");
  onLanguage(() => {
    drawFilters();
    list.redraw();
    drawCount();
    panel.redraw();
  });
  const asked = /^#result=(\d+)$/.exec(location.hash);
  if (asked) {
    show("all");
    list.openAt(list.order.indexOf(Number(asked[1])));
  }
}

startLocale();
if (document.getElementById("columns")) {
  startLists(dataBlock("columns"));
}
document.documentElement.dataset.ready = "true";
