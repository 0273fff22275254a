// The fitness report: two debt queues and all results as lists, and a panel for one result.

import { byId, dataBlock, el, foreign, visible } from "../../web/static/dom.js";
import { apartFromOne, number, numberOrDash, onLanguage, percent, startLocale, text } from "../../web/static/locale.js";
import { List, byNumber, byText, clearFilters, fillFilter, onFilters } from "../../web/static/list.js";
import { Permalink, hashOf } from "../../web/static/permalink.js";
import { onPrint } from "../../web/static/paper.js";
import { csvText, saveText } from "../../web/static/take.js";
import { KINDS, STATUSES, kindMark, recallText, statusMark } from "./marks.js";
import { createPanel } from "./task_panel.js";

const RATIO_EDGES = [0.125, 0.25, 0.5, 1, 2, 4, 8];
const RATIO_LABELS = ["≤ ⅛", "≤ ¼", "≤ ½", "≤ 1", "≤ 2", "≤ 4", "≤ 8", "> 8"];
const TIMEOUT = STATUSES.indexOf("timeout");

/** A result as lists show it: its id, and its attempt where it has one. */
export function shownName(data, index) {
  const attempt = data.attempts[index];
  return attempt === undefined ? data.ids[index] : `${data.ids[index]} #${attempt}`;
}

/** A result's whole id, which lists may show clipped. */
export const wholeId = (data, index) => data.whole[index] ?? data.ids[index];

/** Whether a result's panel is in this file, or on a page that the list leads to. */
const hasPanel = (data, index) => data.detail[index] >= 0 || Boolean(data.panel_link?.[index]);

/** Names of the first missing ids, and how many more there are. */
function missingText(data, index) {
  const named = data.missing[index] ?? [];
  const rest = data.missing_count[index] - named.length;
  return named.length === 0 ? "" : named.join(", ") + (rest > 0 ? ` (+${rest})` : "");
}

/** The bin of time ÷ budget; -1 for what has no time of its own. */
function ratioBin(data, index) {
  if (data.wall_ms[index] < 0 || data.latency[index] === TIMEOUT) {
    return -1;
  }
  const ratio = data.wall_ms[index] / data.budget_ms[index];
  return RATIO_EDGES.filter((edge) => ratio > edge).length;
}

/** Every column that one of the lists shows. */
function columnsOf(data) {
  const ratio = (index) => data.wall_ms[index] / data.budget_ms[index];
  const route = (index) => data.routes[data.route[index]];
  const family = (index) => data.families[data.family[index]];
  const numeric = (key, column, draw) => ({ key, isNumber: true, sort: byNumber(column), draw });
  return {
    task: {
      key: "task",
      // Results stand in the order of their id, then of their attempt as a number.
      sort: (a, b) => a - b,
      draw: (index) =>
        hasPanel(data, index)
          ? foreign(shownName(data, index))
          : el("span", {}, foreign(shownName(data, index)), el("span", { class: "small soft" }, ` ${text("row.noPanel")}`)),
    },
    kind: { key: "kind", sort: byNumber(data.kind), draw: (index) => kindMark(data.kind[index]) },
    latency: {
      key: "latency",
      sort: byNumber(data.latency),
      draw: (index) => statusMark(data.latency[index]),
    },
    route: { key: "route", sort: byText(route), draw: (index) => foreign(route(index)) },
    family: { key: "family", sort: byText(family), draw: (index) => foreign(family(index)) },
    missing: {
      key: "missing",
      isNumber: false,
      sort: (a, b) => data.missing_count[b] - data.missing_count[a],
      draw: (index) => foreign(missingText(data, index)),
    },
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
      columns: pick("task", "kind", "missing", "hits", "recall", "route", "family"),
      sort: ["kind", 1],
      emptyKey: "queue.sufficiency.empty",
    },
    latency: {
      has: (index) => ["fail", "timeout"].includes(STATUSES[data.latency[index]]),
      columns: pick("task", "latency", "wall", "budget", "ratio", "route", "family"),
      sort: ["ratio", -1],
      emptyKey: "queue.latency.empty",
    },
    all: {
      has: () => true,
      columns: pick("task", "kind", "latency", "wall", "recall", "precision", "route", "family"),
      sort: ["task", 1],
      emptyKey: "queue.all.empty",
    },
  };
}

/** What the list can be narrowed by: the names in a hash, the column of codes, the words. */
function filtersOf(data) {
  const debtFree = KINDS.map((kind) => [kind, text(`sufficiency.${kind}`)]);
  const names = (list) => list.map((name) => [name, visible(name)]);
  return [
    { name: "route", code: (index) => data.route[index], choices: names(data.routes) },
    { name: "family", code: (index) => data.family[index], choices: names(data.families) },
    { name: "kind", code: (index) => data.kind[index], choices: debtFree },
    {
      name: "latency",
      code: (index) => data.latency[index],
      choices: STATUSES.map((status) => [status, text(`latency.${status}`)]),
    },
    {
      name: "ratio",
      code: (index) => ratioBin(data, index),
      choices: RATIO_LABELS.map((label, at) => [String(at), label]),
    },
    {
      name: "first",
      code: (index) => data.program[index],
      choices: data.programs.map((name) => [name, name === "" ? text("first.unknown") : visible(name)]),
    },
  ];
}

const idOf = (name) => `filter-${name}`;

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

/** The results that are looked at: a queue, filters, an order, and perhaps one result open. */
class Results {
  #data;
  #queues;
  #filters;
  #panel;
  #list;
  #mark;
  #link;
  #name = "sufficiency";
  #opened = null;
  #first = "";
  #unknown = null;

  constructor(data) {
    this.#data = data;
    this.#queues = queuesOf(data);
    this.#filters = filtersOf(data);
    this.#panel = createPanel(data, {
      previous: () => this.#list.openAt(this.#opened - 1),
      next: () => this.#list.openAt(this.#opened + 1),
      closed: () => this.#closed(),
    });
    this.#list = new List(
      (index, place) => this.#open(index, place),
      () => this.#arranged(),
    );
    this.#mark = startTabs((name) => this.#show(name));
    this.#drawFilters();
    onFilters(this.#filters.map(({ name }) => idOf(name)), () => this.#arranged(true));
    byId("take-csv").addEventListener("click", () => this.#save());
    onPrint(() => ({
      table: this.#queues[this.#name],
      order: this.#list.order,
    }));
    this.#link = new Permalink((state) => this.#apply(state));
    this.#apply(this.#link.opened ?? new Map(), false);
    this.#first = hashOf(this.#state());
    onLanguage(() => {
      this.#filters = filtersOf(data);
      this.#drawFilters();
      this.#list.redraw();
      this.#drawCount();
      this.#panel.redraw();
    });
  }

  #drawFilters() {
    for (const { name, choices } of this.#filters) {
      fillFilter(idOf(name), choices.map(([, label]) => label));
    }
  }

  #passes() {
    const wanted = byId("filter-text").value.toLowerCase();
    const chosen = this.#filters
      .map(({ name, code }) => [Number(byId(idOf(name)).value), code])
      .filter(([value]) => value >= 0);
    return (index) =>
      chosen.every(([value, code]) => code(index) === value) &&
      (wanted === "" || wholeId(this.#data, index).toLowerCase().includes(wanted));
  }

  #choose() {
    this.#unknown = null;
    const passes = this.#passes();
    const { has } = this.#queues[this.#name];
    const order = [];
    for (let index = 0; index < this.#data.ids.length; index += 1) {
      if (has(index) && passes(index)) {
        order.push(index);
      }
    }
    this.#list.show(this.#queues[this.#name], order);
    this.#drawCount();
  }

  #drawCount() {
    const count = number(this.#list.order.length);
    const missed =
      this.#unknown === null ? "" : `${text("queue.noSuch", { id: visible(this.#unknown) })} `;
    byId("queue-count").textContent = missed + text("queue.count", { count });
  }

  #show(name) {
    this.#name = name;
    this.#mark(name);
    this.#choose();
    this.#link.replace(this.#state());
  }

  /** The list was narrowed or sorted by hand: the address follows. */
  #arranged(isNarrowed = false) {
    if (isNarrowed) {
      this.#choose();
    }
    this.#link.replace(this.#state());
  }

  /** What the address says of the list. */
  #state() {
    const { sort } = this.#queues[this.#name];
    return [
      ["queue", this.#name],
      ...this.#filters.map(({ name, choices }) => {
        const chosen = Number(byId(idOf(name)).value);
        // The empty name is one too: a packet without a first command.
        return [name, chosen < 0 ? null : choices[chosen][0] || "-"];
      }),
      ["text", byId("filter-text").value],
      ["sort", `${sort[1] < 0 ? "-" : ""}${sort[0]}`],
    ];
  }

  /** Whether a state shows the list as it stands: then only the panel changes. */
  #isShown(state) {
    const list = [...state].filter(([name]) => name !== "task" && name !== "attempt");
    // An address without a state is the page as it was opened.
    return (list.length === 0 ? this.#first : hashOf(list)) === hashOf(this.#state());
  }

  #apply(state, isLater = true) {
    if (isLater && this.#isShown(state)) {
      this.#reopen(state);
      return;
    }
    clearFilters(this.#filters.map(({ name }) => idOf(name)));
    const hasDebts = this.#data.kind.some((kind) => kind > 0);
    const asked = state.get("queue");
    const isAsked = Object.hasOwn(this.#queues, asked ?? "");
    const isFiltered = this.#filters.some(({ name }) => state.has(name));
    this.#name = isAsked ? asked : isFiltered || !hasDebts ? "all" : "sufficiency";
    for (const { name, choices } of this.#filters) {
      const value = state.get(name) === "-" ? "" : state.get(name);
      const at = choices.findIndex(([each]) => each === value);
      byId(idOf(name)).value = String(at);
    }
    byId("filter-text").value = state.get("text") ?? "";
    this.#sortAs(state.get("sort"));
    this.#mark(this.#name);
    this.#choose();
    this.#reopen(state);
    if (isLater && !state.has("task") && state.size > 0) {
      byId("tasks").scrollIntoView();
    }
  }

  #sortAs(asked) {
    const isFalling = asked?.startsWith("-") ?? false;
    const key = isFalling ? asked.slice(1) : asked;
    const table = this.#queues[this.#name];
    if (table.columns.some((column) => column.key === key)) {
      table.sort = [key, isFalling ? -1 : 1];
    }
  }

  #indexOf(state) {
    const [id, attempt] = [state.get("task"), state.get("attempt")];
    return this.#data.ids.findIndex(
      (_, index) =>
        wholeId(this.#data, index) === id &&
        String(this.#data.attempts[index] ?? 1) === (attempt ?? "1"),
    );
  }

  #reopen(state) {
    if (!state.has("task")) {
      this.#opened = null;
      this.#panel.close();
      return;
    }
    const index = this.#indexOf(state);
    if (index < 0) {
      this.#unknown = state.get("task");
      this.#drawCount();
      return;
    }
    if (!this.#list.order.includes(index)) {
      clearFilters(this.#filters.map(({ name }) => idOf(name)));
      this.#name = "all";
      this.#mark("all");
      this.#choose();
    }
    const place = this.#list.order.indexOf(index);
    this.#opened = place;
    this.#list.focusAt(place);
    this.#panel.open(index, { place, count: this.#list.order.length });
  }

  #open(index, place) {
    const isOpen = this.#opened !== null;
    this.#opened = place;
    this.#panel.open(index, { place, count: this.#list.order.length });
    const attempt = this.#data.attempts[index];
    const state = [...this.#state(), ["task", wholeId(this.#data, index)], ["attempt", attempt]];
    if (isOpen) {
      this.#link.replace(state);
    } else {
      this.#link.push(state);
    }
  }

  /** The panel was closed by hand. */
  #closed() {
    if (this.#opened === null) {
      return;
    }
    const place = this.#opened;
    this.#opened = null;
    if (!this.#link.back()) {
      this.#link.replace(this.#state());
    }
    this.#list.focusAt(place);
  }

  #save() {
    const data = this.#data;
    const head = [
      "task_id", "attempt", "family", "route_type", "sufficiency", "latency_status", "wall_ms",
      "latency_budget_ms", "recall_at_packet", "precision_at_packet", "missing_count", "missing",
      "forbidden_hits", "first_contact", "vacuous",
    ];
    const rows = this.#list.order.map((index) => [
      wholeId(data, index),
      data.attempts[index],
      data.families[data.family[index]],
      data.routes[data.route[index]],
      KINDS[data.kind[index]],
      STATUSES[data.latency[index]],
      data.wall_ms[index] < 0 ? null : data.wall_ms[index],
      data.budget_ms[index],
      data.recall[index],
      data.precision[index],
      data.missing_count[index],
      missingText(data, index),
      data.hit_count[index],
      data.programs[data.program[index]],
      data.vacuous[index] === 1 ? "true" : "false",
    ]);
    saveText(`${this.#name}.csv`, csvText(head, rows));
  }
}

startLocale();
if (document.getElementById("columns")) {
  new Results(dataBlock("columns"));
}
document.documentElement.dataset.ready = "true";
