// The compare page: debts by what became of them, and both results of one side by side.

import { byId, clip, dataBlock, el, foreign, visible } from "../../web/static/dom.js";
import { hasText, number, onLanguage, startLocale, text } from "../../web/static/locale.js";
import { List, byText, clearFilters, fillFilter, onFilters } from "../../web/static/list.js";
import { onPrint } from "../../web/static/paper.js";
import { Permalink, hashOf, linkTo } from "../../web/static/permalink.js";
import { csvText, saveText, shellCommand, takeButton, takeField } from "../../web/static/take.js";

const QUEUES = ["sufficiency", "latency"];

/** Lines of the pairs block, found once. */
function pairLines() {
  const lines = byId("pairs").textContent.split("\n");
  return (at) => JSON.parse(lines[at]);
}

/** A failure kind or a latency status in words; a dash where there is no debt. */
function wordOf(queue, name) {
  if (name === null || name === undefined) {
    return "–";
  }
  const key = `${queue === "latency" ? "latency" : "sufficiency"}.${name}`;
  return hasText(key) ? text(key) : visible(name);
}

function columnsOf(data) {
  const words = (side) => (index) => wordOf(data.queue[index], data[side][index]);
  const shownName = (index) =>
    data.attempt[index] > 1 ? `${data.task[index]} #${data.attempt[index]}` : data.task[index];
  const plain = (key, read) => ({ key, sort: byText(read), draw: (index) => foreign(clip(read(index), 200)) });
  return [
    plain("task", shownName),
    plain("queue", (index) => text(`queue.${data.queue[index]}`)),
    plain("before", words("before")),
    plain("after", words("after")),
    plain("family", (index) => data.family[index]),
    plain("route", (index) => data.route[index]),
  ];
}

function idItems(ids, mark) {
  return ids.length === 0
    ? el("p", { class: "soft small" }, text("panel.none"))
    : el(
        "ul",
        { class: `ids ${mark}` },
        ids.slice(0, 200).map((id) => el("li", {}, el("code", {}, foreign(clip(id, 1000))))),
      );
}

/** One side of a pair. */
function side(key, result) {
  if (result === null) {
    return el("div", { class: "card" }, el("h3", {}, text(key)), el("p", { class: "soft" }, text("compare.absent")));
  }
  const kind = result.sufficiency_failure_kind ?? "sufficient";
  return el(
    "div",
    { class: "card" },
    el("h3", {}, text(key)),
    el("p", {}, el("span", { class: `status ${kind === "sufficient" ? "good" : "bad"}` }, text(`sufficiency.${kind}`))),
    el(
      "p",
      {},
      el(
        "span",
        { class: `status ${{ pass: "good", fail: "bad", timeout: "warn" }[result.latency_status] ?? "none"}` },
        text(`latency.${result.latency_status}`),
      ),
      result.wall_ms === null ? "" : ` ${number(result.wall_ms, 0)} ms`,
    ),
    el("h4", {}, text("panel.command")),
    el("pre", { class: "command" }, foreign(clip(result.first_contact_command ?? "–", 2000))),
    el("h4", {}, text("panel.missing")),
    idItems(result.missing_expected_artifacts, "bad"),
    el("h4", {}, text("panel.extra")),
    idItems(
      result.selected_artifacts.filter((id) => !result.expected_artifacts.includes(id)),
      "none",
    ),
  );
}

/** Ids that only one side selected. */
function idChanges({ base, new: after }) {
  const [before, now] = [base?.selected_artifacts ?? [], after?.selected_artifacts ?? []];
  const only = (ids, others) => {
    const known = new Set(others);
    return ids.filter((id) => !known.has(id));
  };
  return el(
    "div",
    { class: "axes-pair" },
    el("div", {}, el("h3", {}, text("compare.gained")), idItems(only(now, before), "good")),
    el("div", {}, el("h3", {}, text("compare.lost")), idItems(only(before, now), "bad")),
  );
}

/** The list of changes and its panel, kept together with the address. */
class Changes {
  #data;
  #lines = pairLines();
  #table;
  #list;
  #link;
  #tab = "new";
  #opened = null;
  #first = "";
  #dialog = byId("panel");

  constructor(data) {
    this.#data = data;
    this.#table = { columns: columnsOf(data), sort: ["task", 1], emptyKey: "compare.empty" };
    this.#list = new List((index, place) => this.#open(index, place), () => this.#write());
    this.#listen();
    this.#drawFilter();
    onPrint(() => ({ table: this.#table, order: this.#list.order }));
    this.#link = new Permalink((state) => this.#apply(state));
    this.#apply(this.#link.opened ?? new Map());
    this.#first = hashOf(this.#state());
    onLanguage(() => {
      this.#drawFilter();
      this.#list.redraw();
      this.#drawCount();
      if (this.#opened !== null) {
        this.#drawPanel(this.#list.order[this.#opened], this.#opened);
      }
    });
  }

  #listen() {
    for (const tab of document.querySelectorAll('[role="tab"]')) {
      tab.addEventListener("click", () => {
        this.#tab = tab.id.replace("tab-", "");
        this.#choose();
        this.#write();
      });
    }
    onFilters(["filter-queue"], () => {
      this.#choose();
      this.#write();
    });
    byId("take-csv").addEventListener("click", () => this.#save());
    this.#dialog.addEventListener("close", () => this.#closed());
    byId("panel-close").addEventListener("click", () => this.#dialog.close());
    byId("panel-previous").addEventListener("click", () => this.#list.openAt(this.#opened - 1));
    byId("panel-next").addEventListener("click", () => this.#list.openAt(this.#opened + 1));
  }

  #drawFilter() {
    fillFilter("filter-queue", QUEUES.map((queue) => text(`queue.${queue}`)));
  }

  #choose() {
    const data = this.#data;
    const wanted = byId("filter-text").value.toLowerCase();
    const queue = QUEUES[Number(byId("filter-queue").value)];
    const tab = data.tabs.indexOf(this.#tab);
    const order = [];
    for (let index = 0; index < data.task.length; index += 1) {
      if (
        data.tab[index] === tab &&
        (queue === undefined || data.queue[index] === queue) &&
        (wanted === "" || data.task[index].toLowerCase().includes(wanted))
      ) {
        order.push(index);
      }
    }
    for (const each of document.querySelectorAll('[role="tab"]')) {
      const isOn = each.id === `tab-${this.#tab}`;
      each.setAttribute("aria-selected", String(isOn));
      each.setAttribute("tabindex", isOn ? "0" : "-1");
    }
    byId("queue").setAttribute("aria-labelledby", `tab-${this.#tab}`);
    this.#list.show(this.#table, order);
    this.#drawCount();
  }

  #drawCount() {
    byId("queue-count").textContent = text("queue.count", { count: number(this.#list.order.length) });
  }

  #state() {
    const { sort } = this.#table;
    return [
      ["tab", this.#tab],
      ["queue", QUEUES[Number(byId("filter-queue").value)]],
      ["text", byId("filter-text").value],
      ["sort", `${sort[1] < 0 ? "-" : ""}${sort[0]}`],
    ];
  }

  #write() {
    this.#link.replace(this.#state());
  }

  #isShown(state) {
    const list = [...state].filter(([name]) => name !== "task" && name !== "attempt");
    return (list.length === 0 ? this.#first : hashOf(list)) === hashOf(this.#state());
  }

  #apply(state) {
    if (this.#link !== undefined && this.#first !== "" && this.#isShown(state)) {
      this.#reopen(state);
      return;
    }
    clearFilters(["filter-queue"]);
    const asked = state.get("tab");
    this.#tab = this.#data.tabs.includes(asked) ? asked : "new";
    byId("filter-queue").value = String(QUEUES.indexOf(state.get("queue")));
    byId("filter-text").value = state.get("text") ?? "";
    const sort = state.get("sort") ?? "";
    const key = sort.replace(/^-/, "");
    if (this.#table.columns.some((column) => column.key === key)) {
      this.#table.sort = [key, sort.startsWith("-") ? -1 : 1];
    }
    this.#choose();
    this.#reopen(state);
    if (state.has("tab") && !state.has("task")) {
      byId("changes").scrollIntoView();
    }
  }

  #reopen(state) {
    if (!state.has("task")) {
      this.#opened = null;
      if (this.#dialog.open) {
        this.#dialog.close();
      }
      return;
    }
    const isWanted = (index) =>
      this.#data.task[index] === state.get("task") &&
      String(this.#data.attempt[index]) === (state.get("attempt") ?? "1");
    let place = this.#list.order.findIndex(isWanted);
    if (place < 0) {
      const index = this.#data.task.findIndex((_, at) => isWanted(at));
      if (index < 0) {
        return;
      }
      clearFilters(["filter-queue"]);
      this.#tab = this.#data.tabs[this.#data.tab[index]];
      this.#choose();
      place = this.#list.order.indexOf(index);
    }
    this.#opened = place;
    this.#list.focusAt(place);
    this.#drawPanel(this.#list.order[place], place);
  }

  #open(index, place) {
    const isOpen = this.#opened !== null;
    this.#opened = place;
    this.#drawPanel(index, place);
    const state = [...this.#state(), ...this.#taskState(index)];
    if (isOpen) {
      this.#link.replace(state);
    } else {
      this.#link.push(state);
    }
  }

  #taskState(index) {
    const attempt = this.#data.attempt[index];
    return [["task", this.#data.task[index]], ["attempt", attempt > 1 ? attempt : null]];
  }

  #closed() {
    if (this.#opened === null) {
      return;
    }
    const place = this.#opened;
    this.#opened = null;
    if (!this.#link.back()) {
      this.#write();
    }
    this.#list.focusAt(place);
  }

  #drawPanel(index, place) {
    const data = this.#data;
    const count = this.#list.order.length;
    byId("panel-place").textContent = text("panel.place", { place: number(place + 1), count: number(count) });
    byId("panel-previous").disabled = place === 0;
    byId("panel-next").disabled = place === count - 1;
    const { queue } = { queue: data.queue[index] };
    const pair = data.pair[index] < 0 ? null : this.#lines(data.pair[index]);
    const command = shellCommand(["wayproof", "compare", ...data.bundles, "--report", "compare.html"]);
    byId("panel-body").replaceChildren(
      el("h2", { id: "panel-title" }, foreign(clip(data.task[index], 2000))),
      el(
        "p",
        {},
        `${text(`queue.${queue}`)}: ${wordOf(queue, data.before[index])} → ${wordOf(queue, data.after[index])}`,
      ),
      ...(data.reason[index] === null ? [] : [el("p", { class: "soft" }, foreign(data.reason[index]))]),
      el(
        "div",
        { class: "takes" },
        takeButton("link", "panel-take", () => linkTo([["tab", this.#tab], ...this.#taskState(index)])),
        command === null ? null : takeButton("command", "panel-take", () => command),
        takeField("panel-take"),
      ),
      ...(pair === null
        ? [el("p", { class: "note" }, text("compare.noPair"))]
        : [
            el("div", { class: "axes-pair pair-sides" }, side("compare.base", pair.base), side("compare.new", pair.new)),
            idChanges(pair),
          ]),
    );
    if (!this.#dialog.open) {
      this.#dialog.showModal();
    }
    this.#dialog.scrollTop = 0;
  }

  #save() {
    const data = this.#data;
    const head = ["task_id", "attempt", "queue", "change", "before", "after", "family", "route_type", "reason"];
    const rows = this.#list.order.map((index) => [
      data.task[index], data.attempt[index], data.queue[index], this.#tab, data.before[index],
      data.after[index], data.family[index], data.route[index], data.reason[index],
    ]);
    saveText(`${this.#tab}.csv`, csvText(head, rows));
  }
}

startLocale();
new Changes(dataBlock("debts"));
document.documentElement.dataset.ready = "true";
