// "Check a bundle": what a person picks is verified here, in the page, and nowhere else.

import { byId, el, foreign, keepFramesReachable } from "../../web/static/dom.js";
import { hasText, number, onLanguage, text } from "../../web/static/locale.js";
import { BundleFault } from "./records.js";
import { checkBundle, readPicked } from "./bundle.js";
import { PUBLISHED_SUITE, REFERENCE_RESULTS_SHA256 } from "./contract.js";
import { ZipError } from "./zip.js";

const SHOWN_FAULTS = 20;
const PAUSE_EVERY_MS = 50;

/** Let the page breathe, and say how far we are. */
function breather(onProgress) {
  let last = performance.now();
  return async (done, total) => {
    if (performance.now() - last < PAUSE_EVERY_MS && done !== total) {
      return;
    }
    onProgress(done, total);
    await new Promise((resume) => {
      setTimeout(resume);
    });
    last = performance.now();
  };
}

function placeParts(fault) {
  const parts = [];
  const add = (key, value) => {
    if (value !== undefined && value !== null) {
      parts.push(el("dt", {}, text(`fault.${key}`)), el("dd", {}, foreign(value)));
    }
  };
  add("file", fault.line === undefined ? fault.file : `${fault.file}:${fault.line}`);
  add("grid", fault.grid);
  add("trial", fault.trial);
  add("check", fault.check && hasText(`check.${fault.check}`) ? `${fault.check} (${text(`check.${fault.check}`)})` : fault.check);
  add("step", fault.step === undefined ? null : fault.step);
  add("field", fault.field);
  add("expected", fault.expected);
  add("found", fault.zip ? text(`zip.${fault.zip.key}`, fault.zip.values) : fault.found);
  return parts;
}

function faultItem(fault) {
  return el(
    "li",
    { class: "card fault" },
    el("p", {}, el("span", { class: "status bad" }, text(`problem.${fault.problem}`))),
    el("dl", { class: "facts" }, placeParts(fault)),
  );
}

function digestTable(digests) {
  return el(
    "div",
    { class: "scroll" },
    el(
      "table",
      { class: "files" },
      el("caption", {}, text("checked.digests")),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, text("fault.file")),
          el("th", { scope: "col", class: "number" }, text("checked.bytes")),
          el("th", { scope: "col" }, "SHA-256"),
          el("th", { scope: "col" }, text("checked.manifest")),
        ),
      ),
      el(
        "tbody",
        {},
        digests.map((row) =>
          el(
            "tr",
            {},
            el("th", { scope: "row" }, foreign(row.name)),
            el("td", { class: "number" }, row.bytes === null ? "–" : number(row.bytes)),
            el("td", { class: "digest" }, row.sha256 ?? "–"),
            el(
              "td",
              {},
              el(
                "span",
                { class: `status ${row.isRight ? "good" : "bad"}` },
                text(row.isRight ? "checked.same" : "checked.differs"),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

function policyTable(policies) {
  return el(
    "div",
    { class: "scroll" },
    el(
      "table",
      {},
      el("caption", {}, text("checked.policies")),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["policy", "cells", "completed", "verified"].map((name) =>
            el("th", { scope: "col", class: name === "policy" ? null : "number" }, text(`table.${name}`)),
          ),
        ),
      ),
      el(
        "tbody",
        {},
        policies.map((row) =>
          el(
            "tr",
            {},
            el("th", { scope: "row" }, foreign(row.policy)),
            [row.cells, row.completed, row.verified].map((value) =>
              el("td", { class: "number" }, number(value)),
            ),
          ),
        ),
      ),
    ),
  );
}

function suiteLine(deep, suiteDigest, pins) {
  const pinned = Object.hasOwn(pins, deep.suiteId) ? pins[deep.suiteId] : null;
  const key = pinned === null ? "custom" : pinned === suiteDigest ? "official" : "impostor";
  const mark = { custom: "none", official: "good", impostor: "bad" }[key];
  return el("p", {}, el("span", { class: `status ${mark}`, "data-suite": key }, text(`suite.${key}`)));
}

/** Whose signatures hold, and how far the trial was made again. */
function privateParts({ signers, trial, isAttestedOnly }) {
  return [
    el("p", {}, text(isAttestedOnly ? "private.attested" : "private.derived"), " ", foreign(trial)),
    el("p", {}, text("private.signers")),
    el(
      "dl",
      { class: "facts", id: "signers" },
      Object.entries(signers).flatMap(([role, key]) => [
        el("dt", {}, text(`private.${role}`)),
        el("dd", { class: "digest" }, key),
      ]),
    ),
  ];
}

function deepParts(outcome, pins) {
  const { deep } = outcome;
  if (deep === null) {
    return [];
  }
  if (outcome.kind === "recovery") {
    const digest = outcome.digests.find((row) => row.name === "suite.jsonl")?.sha256;
    return [
      el("p", {}, text("checked.trials", { trials: number(deep.trials) })),
      suiteLine(deep, digest, pins),
      policyTable(deep.policies),
    ];
  }
  if (outcome.kind === "private-trial") {
    return privateParts(deep);
  }
  return [
    el("p", {}, deep.tasks === null
      ? text("checked.noTasks")
      : text("checked.tasks", { tasks: number(deep.tasks) })),
  ];
}

function faultList(faults) {
  if (faults.length === 0) {
    return [];
  }
  const rest = faults.length - SHOWN_FAULTS;
  return [
    el("h3", {}, text("checked.faults", { faults: number(faults.length) })),
    el("ol", { class: "faults", id: "faults" }, faults.slice(0, SHOWN_FAULTS).map(faultItem)),
    rest > 0 ? el("p", { class: "soft" }, text("checked.more", { rest: number(rest) })) : null,
  ];
}

function limitsPart(limits) {
  return el(
    "details",
    {},
    el("summary", {}, text("checked.limits")),
    el(
      "ul",
      { class: "plain" },
      limits.map((limit) => el("li", {}, foreign(limit))),
    ),
  );
}

/** Whether results are those that are published with wayproof; only the official run has them. */
function publishedLine(outcome) {
  if (outcome.deep?.suiteId !== PUBLISHED_SUITE || outcome.resultsSha256 === null) {
    return null;
  }
  const isPublished = outcome.resultsSha256 === REFERENCE_RESULTS_SHA256;
  return el(
    "p",
    { id: "published-digest", "data-published": String(isPublished) },
    el("span", { class: `status ${isPublished ? "good" : "none"}` },
      text(isPublished ? "checked.published" : "checked.unpublished")),
  );
}

function outcomeParts(outcome, pins, name) {
  const isSound = outcome.faults.length === 0;
  return [
    el("h3", { id: "checked-name" }, foreign(name)),
    el(
      "p",
      { class: "outcome", id: "outcome", "data-sound": String(isSound) },
      el(
        "span",
        { class: `status ${isSound ? "good" : "bad"}` },
        text(isSound ? "checked.sound" : "checked.unsound"),
      ),
    ),
    isSound && hasText(`unchecked.${outcome.kind}`)
      ? el("p", { id: "unchecked", class: "note" }, text(`unchecked.${outcome.kind}`))
      : null,
    outcome.signatures.length === 0 || outcome.deep?.signers
      ? null
      : el("p", { class: "note" }, text("checked.signatures"), " ", foreign(outcome.signatures.join(", "))),
    outcome.resultsSha256 === null
      ? null
      : el(
          "dl",
          { class: "facts" },
          el("dt", {}, text("checked.results")),
          el("dd", { class: "digest", id: "results-sha256" }, outcome.resultsSha256),
        ),
    publishedLine(outcome),
    ...faultList(outcome.faults),
    ...deepParts(outcome, pins),
    digestTable(outcome.digests),
    limitsPart(outcome.limits),
  ].filter((part) => part !== null);
}

/** What was given, as a person calls it: a packed file, a folder, or how many files. */
function nameOf(picked) {
  const [first] = picked;
  const folder = (first.webkitRelativePath ?? "").split("/")[0];
  return picked.length === 1 || folder === ""
    ? picked.map((file) => file.name).slice(0, 6).join(", ")
    : folder;
}

/** Let the whole page take files that are dropped on it; a folder can't be read that way. */
function onDrop(check, refuse) {
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    const items = Array.from(event.dataTransfer?.items ?? []);
    const isFolder = items.some((item) => item.webkitGetAsEntry?.()?.isDirectory);
    const files = Array.from(event.dataTransfer?.files ?? []);
    if (isFolder) {
      refuse({ problem: "folder_dropped", file: files[0]?.name });
    } else if (files.length > 0) {
      check(files);
    }
  });
}

/**
 * Start the pickers.
 * @param {object} pins digests of official suites, by suite id
 * @param {(source: object) => void} watch puts a bundle's trials on the stage
 */
export function startCheck(pins, watch) {
  const report = byId("check-report");
  let outcome = null;
  let refused = null;
  let progress = null;
  let name = "";

  function draw() {
    report.setAttribute("aria-busy", String(progress !== null));
    if (progress !== null) {
      report.replaceChildren(
        el("p", {}, text("checked.progress", {
          done: number(progress.done),
          total: number(progress.total),
        })),
      );
    } else if (refused !== null) {
      report.replaceChildren(
        el("h3", { id: "checked-name" }, foreign(name)),
        el("ol", { class: "faults", id: "faults" }, faultItem(refused)),
      );
    } else if (outcome !== null) {
      report.replaceChildren(...outcomeParts(outcome, pins, name), ...watchParts(outcome));
    } else {
      report.replaceChildren(el("p", { class: "soft" }, text("checked.empty")));
    }
    keepFramesReachable();
  }

  /** The trials on the stage; where something doesn't hold, the faulty one, at its fault. */
  function watchParts({ faults, deep }) {
    if (!deep?.watchable) {
      return [];
    }
    const faulty = faults.find((each) => each.trial !== undefined) ?? null;
    if (faults.length > 0 && faulty === null) {
      return [];
    }
    const show = () => {
      watch(deep.watchable, faulty);
      byId("watch").scrollIntoView();
      byId("stage").focus({ preventScroll: true });
    };
    const key = faulty === null ? "given.watch" : "given.watchFaulty";
    return [
      el(
        "p",
        {},
        el("button", { type: "button", id: "watch-given", on: { click: show } }, text(key)),
      ),
    ];
  }

  async function check(picked) {
    outcome = refused = null;
    name = nameOf(picked);
    progress = { done: 0, total: 0 };
    draw();
    const pause = breather((done, total) => {
      progress = { done, total };
      draw();
    });
    try {
      const entries = await readPicked(picked);
      await pause(0, 0);
      outcome = await checkBundle(entries, pause, pins);
    } catch (error) {
      if (error instanceof BundleFault) {
        refused = error.place;
      } else if (error instanceof ZipError) {
        refused = { problem: "bad_zip", zip: error };
      } else {
        refused = { problem: "unreadable", found: error.message };
      }
    }
    progress = null;
    draw();
  }

  for (const id of ["pick-files", "pick-folder"]) {
    byId(id).addEventListener("change", (event) => {
      const picked = Array.from(event.target.files);
      event.target.value = "";
      if (picked.length > 0) {
        check(picked);
      }
    });
  }
  onDrop(check, (place) => {
    outcome = progress = null;
    name = "";
    refused = place;
    draw();
  });
  onLanguage(draw);
}
