// The panel of one result: what was asked, the first move, what was found, and where it
// all came from. Everything in it is text from outside.

import { byId, clip, el, foreign, visibleBlock } from "../../web/static/dom.js";
import { number, numberOrDash, percent, text } from "../../web/static/locale.js";
import { linkTo } from "../../web/static/permalink.js";
import { shellCommand, takeButton, takeField } from "../../web/static/take.js";
import { KINDS, kindMark, recallText, statusMark } from "./marks.js";
import { nearTwins } from "./twins.js";

const LONGEST_TEXT = 20_000;
const MOST_IDS = 200;

/** Lines of the details block, found once. */
function detailLines() {
  const block = document.getElementById("details");
  const whole = block === null ? "" : block.textContent;
  const ends = [];
  for (let at = whole.indexOf("\n"); at >= 0; at = whole.indexOf("\n", at + 1)) {
    ends.push(at);
  }
  return (line) => JSON.parse(whole.slice(line === 0 ? 0 : ends[line - 1] + 1, ends[line]));
}

/** Ranges of `command` that some forbidden text covers, merged. */
export function forbiddenRanges(command, hits) {
  const ranges = [];
  for (const hit of hits.filter((each) => each !== "")) {
    for (let at = command.indexOf(hit); at >= 0; at = command.indexOf(hit, at + 1)) {
      ranges.push([at, at + hit.length]);
    }
  }
  ranges.sort((a, b) => a[0] - b[0]);
  const merged = [];
  for (const range of ranges) {
    const last = merged[merged.length - 1];
    if (last && range[0] <= last[1]) {
      last[1] = Math.max(last[1], range[1]);
    } else {
      merged.push([...range]);
    }
  }
  return merged;
}

function markedCommand(command, hits) {
  const shown = clip(command, LONGEST_TEXT);
  const parts = [];
  let at = 0;
  for (const [start, end] of forbiddenRanges(shown, hits)) {
    parts.push(visibleBlock(shown.slice(at, start)));
    parts.push(el("mark", {}, visibleBlock(shown.slice(start, end))));
    at = end;
  }
  parts.push(visibleBlock(shown.slice(at)));
  return el("pre", { class: "command", dir: "ltr" }, parts);
}

function textBlock(value) {
  return el("pre", { class: "prose", dir: "auto" }, visibleBlock(clip(value, LONGEST_TEXT)));
}

function isExpected(id, expected, literal) {
  return expected.some((want) =>
    want.endsWith("*") && !literal.includes(want) ? id.startsWith(want.slice(0, -1)) : id === want,
  );
}

/** Whether a rung was examined at all: what isn't, can't fail. */
function isExamined(kind, result) {
  return {
    route_timeout: true,
    route_error: true,
    missing_id: result.expected_artifacts.length > 0,
    weak_scent: result.scent_status !== "unscored",
    forbidden_route: result.forbidden_status !== "unscored",
  }[kind];
}

/** The ladder as five ticks, with the mend under the rung that named the failure. */
function ladderPart(result) {
  const failed = result.sufficiency_failure_kind;
  const rungs = KINDS.slice(1).map((kind) => {
    const isFailed = result.failed_checks.includes(kind);
    const mark = isFailed ? "bad" : isExamined(kind, result) ? "good" : "none";
    const said = { bad: "rung.failed", good: "rung.passed", none: "rung.unexamined" }[mark];
    return el(
      "li",
      { "data-rung": kind, "data-mark": mark },
      el("span", { class: `status ${mark}` }, `${text(`sufficiency.${kind}`)}: ${text(said)}`),
      kind === failed ? el("p", { class: "small mend" }, text(`mend.${kind}`)) : null,
    );
  });
  const isSlow = ["fail", "timeout"].includes(result.latency_status);
  return section(
    "ladder",
    el("ol", { class: "ladder" }, rungs),
    failed === null && !isSlow ? el("p", { class: "small soft" }, text("panel.nothingToDo")) : null,
    isSlow ? el("p", { class: "small mend" }, text(`mend.latency.${result.latency_status}`)) : null,
  );
}

/** Where each found id stood in the packet's own order, from 1; null where that is unknown. */
export function rankOf(wanted, { selected_artifacts: selected, selection_order: order, literal_ids: literal }) {
  if (order === undefined) {
    return null;
  }
  const isPrefix = wanted.endsWith("*") && !(literal ?? []).includes(wanted);
  const place = order.findIndex((at) =>
    isPrefix ? selected[at].startsWith(wanted.slice(0, -1)) : selected[at] === wanted,
  );
  return place < 0 ? null : place + 1;
}

function foundNote(result) {
  return (id) => {
    const rank = rankOf(id, result);
    return rank === null
      ? null
      : text("panel.rank", { rank: number(rank), count: number(result.selected_artifact_count) });
  };
}

/** Under a missing id: what was selected that differs from it only in spelling. */
function missingNote(result) {
  return (id) => {
    const twins = nearTwins(id, result.selected_artifacts);
    return twins.length === 0
      ? null
      : [text("panel.twin"), " ", el("code", {}, foreign(clip(twins[0], 1000)))];
  };
}

function idList(key, mark, ids, note = () => null) {
  const shown = ids.slice(0, MOST_IDS);
  return el(
    "div",
    {},
    el("h4", {}, `${text(`panel.${key}`)} `, el("span", { class: "soft" }, number(ids.length))),
    ids.length === 0
      ? el("p", { class: "soft small" }, text("panel.none"))
      : el(
          "ul",
          { class: `ids ${mark}` },
          shown.map((id) => {
            const more = note(id);
            return el(
              "li",
              {},
              el("span", {}, el("code", {}, foreign(clip(id, 1000))),
                more === null ? null : el("span", { class: "small soft id-note" }, more)),
            );
          }),
        ),
    ids.length > MOST_IDS
      ? el("p", { class: "soft small" }, text("panel.more", { rest: number(ids.length - MOST_IDS) }))
      : null,
  );
}

function section(key, ...children) {
  return el("section", {}, el("h3", {}, text(`panel.${key}`)), ...children);
}

function promptPart(result) {
  return section(
    "prompt",
    result.task_prompt === ""
      ? el("p", { class: "soft" }, text("panel.noPrompt"))
      : textBlock(result.task_prompt),
  );
}

function commandPart(result) {
  const first = result.first_contact_command;
  const used = result.command_used;
  const known = first !== null && first !== "";
  return section(
    "command",
    known
      ? markedCommand(first, result.forbidden_first_route_hits)
      : el("p", { class: "soft" }, text("panel.noCommand")),
    el("p", { class: "small" }, forbiddenLine(result)),
    used !== null && used !== "" && used !== first
      ? el("div", {}, el("h4", {}, text("panel.used")), markedCommand(used, []))
      : null,
  );
}

function forbiddenLine(result) {
  const mark = { pass: "good", fail: "bad", unscored: "none" }[result.forbidden_status];
  return el("span", { class: `status ${mark}` }, text(`forbidden.${result.forbidden_status}`));
}

function idsPart(result) {
  const literal = result.literal_ids ?? [];
  const extra = result.selected_artifacts.filter(
    (id) => !isExpected(id, result.expected_artifacts, literal),
  );
  return section(
    "ids",
    el(
      "p",
      { class: "small" },
      text("panel.recall", {
        recall: recallText(result.recall_at_packet, result.missing_expected_artifacts.length),
        found: number(result.found_expected_artifacts.length),
        expected: number(result.expected_artifacts.length),
        precision: percent(result.precision_at_packet),
        selected: number(result.selected_artifact_count),
      }),
      result.vacuous_metrics.length ? ` ${text("panel.vacuous")}` : "",
    ),
    el(
      "div",
      { class: "three" },
      idList("found", "good", result.found_expected_artifacts, foundNote(result)),
      idList("missing", "bad", result.missing_expected_artifacts, missingNote(result)),
      idList("extra", "none", extra),
    ),
  );
}

function scentPart(detail) {
  const { result } = detail;
  const mark = { pass: "good", fail: "bad", unscored: "none" }[result.scent_status];
  const missed = result.missing_scent_terms;
  const all = detail.scent_terms ?? null;
  const fold = (term) => term.normalize("NFC").toLowerCase();
  const lacks = new Set(missed.map(fold));
  const hit = all === null ? null : all.filter((term) => !lacks.has(fold(term)));
  return section(
    "scent",
    el("p", {}, el("span", { class: `status ${mark}` }, text(`scent.${result.scent_status}`)), " ",
      result.scent_coverage === null ? "" : percent(result.scent_coverage)),
    el(
      "div",
      { class: "three" },
      idList("termsMissed", "bad", missed),
      hit === null
        ? el("p", { class: "soft small" }, text("panel.termsUnknown"))
        : idList("termsHit", "good", hit),
    ),
  );
}

function sourceRows(source) {
  if (source === null || typeof source !== "object") {
    return [];
  }
  return Object.entries(source).flatMap(([key, value]) => [
    el("dt", {}, foreign(clip(key, 100))),
    el("dd", {}, foreign(clip(typeof value === "string" ? value : JSON.stringify(value), 1000))),
  ]);
}

function sourcePart(detail) {
  return section(
    "source",
    el(
      "dl",
      { class: "facts" },
      el("dt", {}, text("panel.line")),
      el("dd", {}, `results.jsonl:${detail.line}`),
      "attempt" in detail.result
        ? [el("dt", {}, text("panel.attempt")), el("dd", {}, number(detail.result.attempt))]
        : [],
      sourceRows(detail.source ?? null),
    ),
    detail.source ? null : el("p", { class: "soft small" }, text("panel.sourceUnknown")),
    detail.result.defaulted_fields.length
      ? el("p", { class: "small" }, `${text("panel.defaulted")} `, foreign(detail.result.defaulted_fields.join(", ")))
      : null,
  );
}

function headPart(detail, columns, index) {
  const { result } = detail;
  const wall = result.wall_ms;
  const others = result.failed_checks.slice(1);
  return el(
    "div",
    { class: "stack" },
    el("h2", { id: "panel-title" }, foreign(clip(result.task_id, 2000))),
    el("p", { class: "soft small" }, foreign(clip(result.family, 200)), " · ", foreign(clip(result.route_type, 200)), " · ", foreign(clip(result.route_role, 200))),
    el(
      "div",
      { class: "axes-pair" },
      el("div", { class: "card" }, el("h3", {}, text("column.kind")), el("p", {}, kindMark(columns.kind[index])),
        others.length
          ? el("p", { class: "small soft" }, text("panel.also", {
              kinds: others.map((kind) => text(`sufficiency.${kind}`)).join(", "),
            }))
          : null),
      el("div", { class: "card" }, el("h3", {}, text("column.latency")), el("p", {}, statusMark(columns.latency[index])),
        el("p", { class: "small soft" }, text(wall === null ? "panel.noTime" : "panel.time", {
          wall: numberOrDash(wall, 3),
          budget: number(result.latency_budget_ms),
        }))),
    ),
    result.error === null || result.error === ""
      ? null
      : section("error", textBlock(typeof result.error === "string" ? result.error : JSON.stringify(result.error, null, 2))),
  );
}

/** Link and command of a result, to take away. */
function takePart(columns, index) {
  const id = columns.whole[index] ?? columns.ids[index];
  const command = shellCommand(["wayproof", "report", columns.bundle, "--out", "report.html"]);
  return el(
    "div",
    { class: "takes" },
    takeButton("link", "panel-take", () =>
      linkTo([["task", id], ["attempt", columns.attempts[index]]]),
    ),
    command === null ? null : takeButton("command", "panel-take", () => command),
    takeField("panel-take"),
  );
}

function awayParts(columns, index) {
  const place = columns.panel_link?.[index];
  return [
    el("h2", { id: "panel-title" }, foreign(columns.ids[index])),
    el("p", {}, kindMark(columns.kind[index]), " · ", statusMark(columns.latency[index])),
    place
      ? el("p", {}, el("a", { href: place }, text("panel.elsewhere")))
      : el("p", { class: "note warn" }, text("panel.leftOut", { line: number(columns.line[index]) })),
  ];
}

/**
 * The dialog that shows one result.
 * @param {object} columns the list's columns; `detail` says which line of the details
 *   block belongs to a result, -1 when it isn't in this file
 */
export function createPanel(columns, { previous, next, closed }) {
  const dialog = byId("panel");
  let lines = null;
  let shown = null;

  function draw() {
    if (shown === null || !dialog.open) {
      return;
    }
    const { index, place, count } = shown;
    const at = columns.detail[index];
    byId("panel-place").textContent = text("panel.place", {
      place: number(place + 1),
      count: number(count),
    });
    byId("panel-previous").disabled = place === 0;
    byId("panel-next").disabled = place === count - 1;
    let parts;
    if (at < 0) {
      parts = awayParts(columns, index);
    } else {
      lines ??= detailLines();
      const detail = { ...lines(at), line: columns.line[index] };
      parts = [
        headPart(detail, columns, index),
        takePart(columns, index),
        ladderPart(detail.result),
        promptPart(detail.result),
        commandPart(detail.result),
        idsPart(detail.result),
        scentPart(detail),
        sourcePart(detail),
      ];
    }
    byId("panel-body").replaceChildren(...parts);
  }

  // The list was drawn anew meanwhile: the browser can't find its way back by itself.
  dialog.addEventListener("close", closed);
  byId("panel-previous").addEventListener("click", previous);
  byId("panel-next").addEventListener("click", next);
  byId("panel-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) {
      dialog.close();
    }
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, pre")) {
      return;
    }
    if (event.key === "ArrowLeft") {
      previous();
    } else if (event.key === "ArrowRight") {
      next();
    }
  });

  return {
    open(index, { place, count }) {
      shown = { index, place, count };
      if (!dialog.open) {
        dialog.showModal();
      }
      draw();
      dialog.scrollTop = 0;
    },
    close() {
      if (dialog.open) {
        dialog.close();
      }
    },
    redraw: draw,
  };
}
