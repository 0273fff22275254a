// The shape of what is read. Evidence given to the page can be anything; a record is used
// only after every field it must have was found, with the right type, and no other.

/** A record that isn't what its file should hold. */
export class ShapeError extends Error {
  constructor(field, expected) {
    super(`${field}: expected ${expected}`);
    this.field = field;
    this.expected = expected;
  }
}

const isInteger = (value) => Number.isSafeInteger(value);
const isCount = (value) => isInteger(value) && value >= 0;
const isText = (value) => typeof value === "string";
const isFlag = (value) => typeof value === "boolean";

function named(check, name) {
  return (value, field) => {
    if (!check(value)) {
      throw new ShapeError(field, name);
    }
  };
}

/** Checks of single values. */
export const integer = named(isInteger, "an integer");
export const count = named(isCount, "an integer from 0");
export const string = named(isText, "a string");
export const flag = named(isFlag, "true or false");
export const cell = named(
  (value) => Array.isArray(value) && value.length === 2 && value.every(isInteger),
  "[row, column]",
);
export const object = named(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  "an object",
);
export const action = named((value) => {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 1) {
    return false;
  }
  const { move, finish } = value;
  return finish === true || (Array.isArray(move) && move.length === 2 && move.every(isInteger));
}, '{"move": [row, column]} or {"finish": true}');

/** One of a few words. */
export function oneOf(...words) {
  return named((value) => words.includes(value), words.join(" or "));
}

/** A text of a form. */
export function matching(pattern, name) {
  return named((value) => isText(value) && pattern.test(value), name);
}

/** A text of at most `most` characters (code points). */
export function upTo(most) {
  return named(
    (value) => isText(value) && (value.length <= most || Array.from(value).length <= most),
    `a text of at most ${most} characters`,
  );
}

/** An integer within bounds. */
export function integerWithin(low, high) {
  return named(
    (value) => isInteger(value) && value >= low && value <= high,
    `an integer from ${low} to ${high}`,
  );
}

/** A number within bounds. */
export function within(low, high) {
  return named(
    (value) => typeof value === "number" && value >= low && value <= high,
    `a number from ${low} to ${high}`,
  );
}

/** The check, or null. */
export function orNull(check) {
  return (value, field) => {
    if (value !== null) {
      check(value, field);
    }
  };
}

/** A list whose every item passes. */
export function listOf(check) {
  return (value, field) => {
    if (!Array.isArray(value)) {
      throw new ShapeError(field, "a list");
    }
    value.forEach((item, index) => check(item, `${field}[${index}]`));
  };
}

/** An object of any keys that pass, with values that pass. */
export function mapOf(checkKey, checkValue) {
  return (value, field) => {
    object(value, field);
    for (const [key, each] of Object.entries(value)) {
      checkKey(key, field);
      checkValue(each, `${field}.${key}`);
    }
  };
}

/** An object whose fields pass where they are there; others may stand beside them. */
export function having(fields) {
  return (value, field) => {
    object(value, field);
    for (const [name, check] of Object.entries(fields)) {
      if (Object.hasOwn(value, name)) {
        check(value[name], `${field}.${name}`);
      }
    }
  };
}

/** An object with exactly these fields, and perhaps the optional ones. */
export function record(fields, optional = {}) {
  const names = Object.keys(fields).sort();
  return (value, field) => {
    object(value, field || "record");
    const found = Object.keys(value).filter((name) => !Object.hasOwn(optional, name));
    // Name by name: a joined list would let one key pass that spells several.
    if (found.length !== names.length || found.sort().some((name, at) => name !== names[at])) {
      throw new ShapeError(field || "record", `the fields ${names.join(", ")}`);
    }
    for (const [name, check] of Object.entries({ ...fields, ...optional })) {
      if (Object.hasOwn(value, name)) {
        check(value[name], field ? `${field}.${name}` : name);
      }
    }
  };
}
