// English and French, switched in the page. Static text carries data-t="key"; what the
// script writes asks text(key) and is redrawn when the language changes.

import { byId, dataBlock, keepFramesReachable } from "./dom.js";

const LANGUAGES = ["en", "fr"];
const listeners = [];
let messages = {};
let language = "en";

function wanted() {
  const asked = new URLSearchParams(location.search).get("lang");
  const first = asked ?? navigator.language.slice(0, 2);
  return LANGUAGES.includes(first) ? first : "en";
}

/** French puts a space before its high marks and inside its quotes: no line may break there. */
function frenchSpaced(sentence) {
  return sentence.replace(/ (?=[;:!?»%])/g, "\u00a0").replace(/« /g, "«\u00a0");
}

/** The message for `key`; {name} is replaced by values.name. */
export function text(key, values = {}) {
  const message = messages[key];
  if (message === undefined) {
    throw new Error(`no message ${key}`);
  }
  const filled = message[language].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
  return language === "fr" ? frenchSpaced(filled) : filled;
}

/** Whether there is a message for `key`. */
export function hasText(key) {
  return Object.hasOwn(messages, key);
}

/** A number in the language's spelling. */
export function number(value, digits = 0) {
  return new Intl.NumberFormat(language, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(value);
}

/** A number with up to `digits` decimals, or a dash where there is none. */
export function numberOrDash(value, digits = 0) {
  return value === null || value === undefined
    ? "–"
    : new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(value);
}

const MOST_DIGITS = 15;

/** As many digits as it takes to keep a value apart from each of `others`, at least `digits`. */
function digitsApart(value, others, digits) {
  // Rounded as it will be shown: toFixed and Intl disagree about ties.
  const rounded = (count) =>
    Number(
      new Intl.NumberFormat("en", { useGrouping: false, maximumFractionDigits: count }).format(value),
    );
  const isHidden = (count) => others.some((other) => value !== other && rounded(count) === other);
  let count = digits;
  while (count < MOST_DIGITS && isHidden(count)) {
    count += 1;
  }
  return count;
}

/** A number that is rounded to 1 only if it is 1. */
export function apartFromOne(value, digits) {
  return number(value, digitsApart(value, [1], digits));
}

/** A share of 1 in per cent; rounded to all or to nothing only if it is that. */
export function percent(share, digits = 1) {
  if (share === null || share === undefined) {
    return "–";
  }
  const shown = digitsApart(share, [0, 1], digits + 2) - 2;
  return new Intl.NumberFormat(language, {
    style: "percent",
    minimumFractionDigits: shown,
    maximumFractionDigits: shown,
  }).format(share);
}

/** Current language: "en" or "fr". */
export function currentLanguage() {
  return language;
}

/** Call `listener` now and at each change of language. */
export function onLanguage(listener) {
  listeners.push(listener);
  listener();
}

function translateStatic() {
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-t]")) {
    element.textContent = text(element.dataset.t);
  }
  for (const element of document.querySelectorAll("[data-t-label]")) {
    element.setAttribute("aria-label", text(element.dataset.tLabel));
  }
  for (const element of document.querySelectorAll("[data-t-placeholder]")) {
    element.setAttribute("placeholder", text(element.dataset.tPlaceholder));
  }
  for (const element of document.querySelectorAll("[data-fr]")) {
    element.textContent =
      language === "fr" ? frenchSpaced(element.dataset.fr) : element.dataset.en;
  }
  for (const element of document.querySelectorAll("[data-n]")) {
    const digits = Number(element.dataset.digits ?? 0);
    const value = Number(element.dataset.n);
    const { unit } = element.dataset;
    element.textContent =
      unit === "share"
        ? percent(value, digits)
        : numberOrDash(value, unit === "mean" ? digitsApart(value, [0, 1], digits) : digits);
  }
}

/** Switch to a language and redraw everything that speaks. */
export function setLanguage(next) {
  language = next;
  translateStatic();
  for (const button of document.querySelectorAll("[data-language]")) {
    button.setAttribute("aria-pressed", String(button.dataset.language === language));
  }
  for (const listener of listeners) {
    listener();
  }
  carryAll();
  keepFramesReachable();
}

const THEMES = ["auto", "light", "dark"];

/** Let a link to another page of the report keep the language and colours chosen here. */
function carry(link) {
  const target = link.getAttribute("href");
  if (target.startsWith("#") || target.includes("://")) {
    return;
  }
  const [, path, hash] = /^([^?#]*)[^#]*(.*)$/.exec(target);
  const query = new URLSearchParams({ lang: language, theme: document.documentElement.dataset.theme });
  link.setAttribute("href", `${path}?${query}${hash}`);
}

function carryAll() {
  document.querySelectorAll("a[href]").forEach(carry);
}

/** Links that are made later are met when they are about to be used. */
function onUse(event) {
  const link = event.target.closest?.("a[href]");
  if (link) {
    carry(link);
  }
}

function startTheme() {
  const root = document.documentElement;
  const buttons = document.querySelectorAll("[data-theme-choice]");
  const choose = (theme) => {
    root.dataset.theme = theme;
    carryAll();
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === theme));
    }
  };
  for (const button of buttons) {
    button.addEventListener("click", () => choose(button.dataset.themeChoice));
  }
  const asked = new URLSearchParams(location.search).get("theme");
  choose(THEMES.includes(asked) ? asked : "auto");
}

/** Read the page's messages and start the switches of language and theme. */
export function startLocale() {
  messages = dataBlock("messages");
  startTheme();
  for (const button of byId("languages").querySelectorAll("[data-language]")) {
    button.addEventListener("click", () => setLanguage(button.dataset.language));
  }
  setLanguage(wanted());
  document.addEventListener("pointerdown", onUse, true);
  document.addEventListener("focusin", onUse, true);
  addEventListener("resize", keepFramesReachable);
}
