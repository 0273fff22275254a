// The stage: a board, a transport and a ledger that move together through a trial's steps.
// The Explorer and the recovery report both stand on it.

import { byId, el, foreign } from "./dom.js";
import { number, onLanguage, text } from "./locale.js";
import { boardBox, drawBoard } from "./board.js";
import { verdictParts } from "./verdict.js";
import { actionText, cellText, ledgerHead, ledgerRows } from "./ledger.js";

const STEPS_PER_SECOND = 3;
/** Where each jump leads, from the step shown and the number of steps. */
const JUMPS = {
  first: () => 0,
  back: (shown) => shown - 1,
  forward: (shown) => shown + 1,
  last: (_, length) => length,
};
const JUMP_KEYS = { ArrowLeft: "back", ArrowRight: "forward", Home: "first", End: "last" };
/** Fields, and what else handles every key itself. */
const FIELDS =
  'input:not([type="radio"], [type="checkbox"], [type="range"]), select, textarea, dialog, [data-keys], [role="tab"]';
/** What a space bar presses. */
const PRESSED = "button, summary, a, input";
const PLAY_ICON = "M5 3v14l12-7z";
const PAUSE_ICON = "M4.5 4h4v12h-4zM11.5 4h4v12h-4z";

function trailOf(trial, shown) {
  const cells = [trial.grid.start];
  for (const step of trial.steps.slice(0, shown)) {
    if (step.accepted && "move" in step.action) {
      cells.push(step.position);
    }
  }
  return cells;
}

function sceneOf(trial, shown, options) {
  const step = shown > 0 ? trial.steps[shown - 1] : null;
  const injected = trial.steps.slice(0, shown).find((each) => each.phase === "injected") ?? null;
  return {
    grid: trial.grid,
    injected: injected?.action ?? null,
    injectedAt: injected?.position ?? null,
    trail: trailOf(trial, shown),
    position: step ? step.position : trial.grid.start,
    refused: step && !step.accepted ? step.action : null,
    cursor: null,
    ...options,
  };
}

/** What the moment is, in one sentence: for the status line and for screen readers. */
function momentText(trial, shown) {
  if (shown === 0) {
    return text("moment.start", { cell: cellText(trial.grid.start) });
  }
  const step = trial.steps[shown - 1];
  return text("moment.step", {
    step: shown - 1,
    phase: text(`phase.${step.phase}`),
    action: actionText(step.action),
    outcome: step.accepted
      ? text("outcome.accepted")
      : text("moment.rejected", {
          rejection: text(`rejection.${step.rejection}`),
          why: text(`why.${step.rejection}`),
        }),
    spent: step.spent,
    optimum: trial.optimum,
  });
}

function emptyLedgerRow() {
  return el("tr", {}, el("td", { colspan: 7, class: "soft" }, text("ledger.empty")));
}

function drawLedger(ledger, trial, shown) {
  const rows = ledgerRows(trial, shown);
  ledger.querySelector("thead").replaceChildren(ledgerHead());
  ledger.querySelector("tbody").replaceChildren(...(rows.length > 0 ? rows : [emptyLedgerRow()]));
  ledger.scrollTop = ledger.scrollHeight;
}

/** A board, a transport and a ledger, by the ids of their elements. */
export class Stage {
  #board = byId("board");
  #scrub = byId("scrub");
  #ledger = byId("ledger");
  #onMoment;
  #trial = null;
  #other = null;
  #shown = 0;
  #timer = null;
  #options = { showCosts: true, showOptimal: true, showToGo: false };

  #isJudged;

  /**
   * @param {(trial: object, shown: number, isPlaying: boolean) => void} onMoment called
   *   after each drawing
   * @param {boolean} isJudged whether the verdict of the trial beside is said from the start
   */
  constructor(onMoment, isJudged = false) {
    this.#onMoment = onMoment;
    this.#isJudged = isJudged;
    byId("play").addEventListener("click", () => this.#toggle());
    for (const name of Object.keys(JUMPS)) {
      byId(`jump-${name}`).addEventListener("click", () => this.#jump(name));
    }
    this.#scrub.addEventListener("input", () => {
      this.#stop();
      this.#seek(Number(this.#scrub.value));
    });
    byId("speed").addEventListener("change", () => {
      if (this.#timer !== null) {
        this.#start();
      }
    });
    byId("show-to-go").addEventListener("change", (event) =>
      this.setOptions({ showToGo: event.target.checked }),
    );
    document.addEventListener("keydown", (event) => this.#onKey(event));
    onLanguage(() => this.redraw());
  }

  /** Put a trial {grid, optimum, steps} on the stage, at its start or after `at` steps. */
  show(trial, at = 0) {
    this.#stop();
    this.#trial = trial;
    this.#seek(at);
  }

  /** Put a second trial of the same scenario beside it, under one scrubber; null for none. */
  beside(other) {
    this.#other = other;
    byId("other").hidden = other === null;
    if (this.#trial !== null) {
      this.#seek(this.#shown);
    }
  }

  /** Change what the board shows: {showCosts, showOptimal, cursor}. */
  setOptions(change) {
    this.#options = { ...this.#options, ...change };
    this.redraw();
  }

  /** Draw the moment again: its words, or what the board shows, have changed. */
  redraw() {
    if (this.#trial === null) {
      return;
    }
    const moment = momentText(this.#trial, Math.min(this.#shown, this.#trial.steps.length));
    this.#drawBoard(moment);
    this.#drawTransport(moment);
    drawLedger(this.#ledger, this.#trial, this.#shown);
    this.#drawOther();
    const shown = Math.min(this.#shown, this.#trial.steps.length);
    this.#onMoment(this.#trial, shown, this.#timer !== null);
  }

  /** Steps until both trials have ended. */
  get #length() {
    return Math.max(this.#trial.steps.length, this.#other?.steps.length ?? 0);
  }

  #drawOther() {
    if (this.#other === null) {
      return;
    }
    const { name, steps, grid } = this.#other;
    const shown = Math.min(this.#shown, steps.length);
    const moment = momentText(this.#other, shown);
    const board = byId("other-board");
    board.setAttribute("viewBox", boardBox(grid));
    board.replaceChildren(...drawBoard(sceneOf(this.#other, shown, this.#options)));
    board.setAttribute("aria-label", `${text("board.label")} ${moment}`);
    byId("other-name").replaceChildren(foreign(name));
    byId("other-moment").textContent = moment;
    byId("other-verdict").replaceChildren(
      ...(this.#isJudged || shown === steps.length ? verdictParts(this.#other) : []),
    );
    const ledger = document.getElementById("other-ledger");
    if (ledger !== null) {
      drawLedger(ledger, this.#other, shown);
    }
  }

  #drawBoard(moment) {
    this.#board.setAttribute("viewBox", boardBox(this.#trial.grid));
    this.#board.replaceChildren(...drawBoard(sceneOf(this.#trial, Math.min(this.#shown, this.#trial.steps.length), this.#options)));
    this.#board.setAttribute("aria-label", `${text("board.label")} ${moment}`);
  }

  #drawTransport(moment) {
    const length = this.#length;
    const isPaused = this.#timer === null;
    byId("moment").textContent = moment;
    this.#scrub.max = String(length);
    this.#scrub.value = String(this.#shown);
    this.#scrub.setAttribute("aria-valuetext", moment);
    byId("count").textContent = `${number(this.#shown)} / ${number(length)}`;
    byId("play-icon").setAttribute("d", isPaused ? PLAY_ICON : PAUSE_ICON);
    byId("play").setAttribute("aria-label", text(isPaused ? "transport.play" : "transport.pause"));
  }


  #stop() {
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #seek(next) {
    const last = this.#length;
    this.#shown = Math.max(0, Math.min(last, next));
    if (this.#shown === last) {
      this.#stop();
    }
    this.redraw();
  }

  #start() {
    this.#stop();
    if (this.#shown === this.#length) {
      this.#shown = 0;
    }
    const pace = STEPS_PER_SECOND * Number(byId("speed").value);
    this.#timer = setInterval(() => this.#seek(this.#shown + 1), 1000 / pace);
    this.redraw();
  }

  #toggle() {
    if (this.#timer === null) {
      this.#start();
    } else {
      this.#stop();
      this.redraw();
    }
  }

  #jump(name) {
    this.#stop();
    this.#seek(JUMPS[name](this.#shown, this.#length));
  }

  #onKey(event) {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const { target } = event;
    const isElement = target instanceof Element;
    const isField = isElement && target.closest(FIELDS) !== null;
    if (!isPlain || this.#trial === null || isField) {
      return;
    }
    // A list walks with Home and End; a space bar presses what has the focus.
    const isListKey = isElement && target.closest(".list") && ["Home", "End"].includes(event.key);
    if (isListKey || (event.key === " " && isElement && target.closest(PRESSED))) {
      return;
    }
    if (event.key === " ") {
      this.#toggle();
    } else if (event.key in JUMP_KEYS) {
      this.#jump(JUMP_KEYS[event.key]);
    } else {
      return;
    }
    event.preventDefault();
  }
}
