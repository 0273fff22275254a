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

/** The message for `key`; {name} is replaced by values.name. */
export function text(key, values = {}) {
  const message = messages[key];
  if (message === undefined) {
    throw new Error(`no message ${key}`);
  }
  return message[language].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
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

/** A share of 1 in per cent. */
export function percent(share, digits = 1) {
  return share === null || share === undefined
    ? "–"
    : new Intl.NumberFormat(language, {
        style: "percent",
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
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
    element.textContent = element.dataset[language];
  }
  for (const element of document.querySelectorAll("[data-n]")) {
    const digits = Number(element.dataset.digits ?? 0);
    element.textContent =
      element.dataset.unit === "share"
        ? percent(Number(element.dataset.n), digits)
        : numberOrDash(Number(element.dataset.n), digits);
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
  keepFramesReachable();
}

function startTheme() {
  const root = document.documentElement;
  const buttons = document.querySelectorAll("[data-theme-choice]");
  const choose = (theme) => {
    root.dataset.theme = theme;
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === theme));
    }
  };
  for (const button of buttons) {
    button.addEventListener("click", () => choose(button.dataset.themeChoice));
  }
  choose("auto");
}

/** Read the page's messages and start the switches of language and theme. */
export function startLocale() {
  messages = dataBlock("messages");
  startTheme();
  for (const button of byId("languages").querySelectorAll("[data-language]")) {
    button.addEventListener("click", () => setLanguage(button.dataset.language));
  }
  setLanguage(wanted());
  addEventListener("resize", keepFramesReachable);
}
