// The stage: a board, a transport and a ledger that move together through a trial's steps.
// The Explorer and the recovery report both stand on it.

import { byId, el } from "./dom.js";
import { number, onLanguage, text } from "./locale.js";
import { boardBox, drawBoard } from "./board.js";
import { actionText, cellText, ledgerHead, ledgerRows } from "./ledger.js";

const STEPS_PER_SECOND = 3;
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

function sceneOf(trial, shown, view) {
  const step = shown > 0 ? trial.steps[shown - 1] : null;
  return {
    grid: trial.grid,
    trail: trailOf(trial, shown),
    position: step ? step.position : trial.grid.start,
    refused: step && !step.accepted ? step.action : null,
    cursor: null,
    ...view,
  };
}

/** What the moment is, in one sentence: for the status line and for screen readers. */
function momentText(trial, shown) {
  if (shown === 0) {
    return text("moment.start", { cell: cellText(trial.grid.start) });
  }
  const step = trial.steps[shown - 1];
  return text("moment.step", {
    step: shown,
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

/**
 * Wire the stage's elements (board, transport, ledger, by their ids).
 *
 * @param {(trial: object, shown: number) => void} onMoment called after each drawing
 * @returns {{show: Function, seek: Function, redraw: Function, setView: Function}}
 */
export function createStage(onMoment) {
  const board = byId("board");
  const scrub = byId("scrub");
  const play = byId("play");
  const ledger = byId("ledger");
  let trial = null;
  let shown = 0;
  let timer = null;
  let view = { showCosts: true, showOptimal: true };

  function draw() {
    if (trial === null) {
      return;
    }
    board.setAttribute("viewBox", boardBox(trial.grid));
    board.replaceChildren(...drawBoard(sceneOf(trial, shown, view)));
    const moment = momentText(trial, shown);
    board.setAttribute("aria-label", `${text("board.label")} ${moment}`);
    byId("moment").textContent = moment;
    scrub.max = String(trial.steps.length);
    scrub.value = String(shown);
    scrub.setAttribute("aria-valuetext", moment);
    byId("count").textContent = `${number(shown)} / ${number(trial.steps.length)}`;
    byId("play-icon").setAttribute("d", timer === null ? PLAY_ICON : PAUSE_ICON);
    play.setAttribute("aria-label", text(timer === null ? "transport.play" : "transport.pause"));
    ledger.querySelector("thead").replaceChildren(ledgerHead());
    const rows = ledgerRows(trial.steps, shown, trial.grid.start, trial.optimum);
    ledger
      .querySelector("tbody")
      .replaceChildren(
        ...(rows.length
          ? rows
          : [el("tr", {}, el("td", { colspan: 6, class: "soft" }, text("ledger.empty")))]),
      );
    ledger.scrollTop = ledger.scrollHeight;
    onMoment(trial, shown);
  }

  function stop() {
    clearInterval(timer);
    timer = null;
  }

  function seek(next) {
    shown = Math.max(0, Math.min(trial.steps.length, next));
    if (shown === trial.steps.length) {
      stop();
    }
    draw();
  }

  function start() {
    stop();
    if (shown === trial.steps.length) {
      shown = 0;
    }
    const speed = Number(byId("speed").value);
    timer = setInterval(() => seek(shown + 1), 1000 / (STEPS_PER_SECOND * speed));
    draw();
  }

  function toggle() {
    if (timer === null) {
      start();
    } else {
      stop();
      draw();
    }
  }

  const jumps = {
    first: () => 0,
    back: () => shown - 1,
    forward: () => shown + 1,
    last: () => trial.steps.length,
  };

  function jump(name) {
    stop();
    seek(jumps[name]());
  }

  function onKey(event) {
    const busy = event.target.closest("input, select, textarea, button, summary, a, [data-keys]");
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (busy || !isPlain || trial === null || !byId("stage").contains(event.target)) {
      return;
    }
    const names = { ArrowLeft: "back", ArrowRight: "forward", Home: "first", End: "last" };
    if (event.key === " ") {
      toggle();
    } else if (event.key in names) {
      jump(names[event.key]);
    } else {
      return;
    }
    event.preventDefault();
  }

  play.addEventListener("click", toggle);
  for (const name of Object.keys(jumps)) {
    byId(`jump-${name}`).addEventListener("click", () => jump(name));
  }
  scrub.addEventListener("input", () => {
    stop();
    seek(Number(scrub.value));
  });
  byId("speed").addEventListener("change", () => {
    if (timer !== null) {
      start();
    }
  });
  document.addEventListener("keydown", onKey);
  onLanguage(draw);

  return {
    /** Put another trial on the stage, at its start or after `at` steps. */
    show(next, at = 0) {
      stop();
      trial = next;
      seek(at);
    },
    seek,
    redraw: draw,
    /** Change what the board shows: {showCosts, showOptimal, cursor}. */
    setView(change) {
      view = { ...view, ...change };
      draw();
    },
  };
}
