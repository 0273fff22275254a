// Elements made from parts. Text only ever becomes a text node: nothing here, and nothing
// that uses it, turns a string into markup.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

// Control, format (direction overrides, zero-width), surrogate, private, unassigned, and
// line separators; the zero-width joiner stays, since emoji need it and it reorders nothing.
const UNSAFE = /(?!\u200d)[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
const UNSAFE_IN_BLOCK = /(?![\u200d\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

function spelledOut(character) {
  const code = character.codePointAt(0);
  if (code < 0x100) {
    return `\\x${code.toString(16).padStart(2, "0")}`;
  }
  return code < 0x10000
    ? `\\u${code.toString(16).padStart(4, "0")}`
    : `\\U${code.toString(16).padStart(8, "0")}`;
}

/** Hostile text on one line, with every unsafe character spelled out. */
export function visible(text) {
  return String(text).replace(UNSAFE, spelledOut);
}

/** Like visible(), but keeps line feeds and tabs: for text shown as a block. */
export function visibleBlock(text) {
  return String(text).replace(UNSAFE_IN_BLOCK, spelledOut);
}

/** Shorten text, saying how much was left out. */
export function clip(text, limit) {
  return text.length <= limit ? text : `${text.slice(0, limit)}… (+${text.length - limit})`;
}

function dress(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) {
      continue;
    }
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) {
        element.addEventListener(event, handler);
      }
    } else if (name === "css") {
      for (const [property, setting] of Object.entries(value)) {
        element.style.setProperty(property, setting);
      }
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

/** Make an HTML element: el("td", {class: "number"}, "12"). */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  dress(element, attributes);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Make an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG_NAMESPACE, tag);
  dress(element, attributes);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Hostile text, isolated so that its direction can't reach its neighbours. */
export function foreign(text, attributes = {}) {
  return el("bdi", attributes, visible(text));
}

/** The element with this id; it is a fault of the page if there is none. */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) {
    throw new Error(`no element ${id}`);
  }
  return element;
}

/** Give a tab stop to frames whose content is wider than they are, and to no others. */
export function keepFramesReachable() {
  for (const frame of document.querySelectorAll(".scroll")) {
    if (frame.scrollWidth > frame.clientWidth) {
      frame.setAttribute("tabindex", "0");
    } else {
      frame.removeAttribute("tabindex");
    }
  }
}

/** Parse a data block of the page. */
export function dataBlock(id) {
  return JSON.parse(byId(id).textContent);
}
