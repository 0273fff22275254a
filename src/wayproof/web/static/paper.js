// The list on paper: the first rows as a plain table, made when the page is printed.

import { byId, el } from "./dom.js";
import { number, text } from "./locale.js";

const MOST_ROWS = 2_000;

/** Print the rows of what `read` gives: {table: {columns}, order}. */
export function onPrint(read) {
  const place = byId("print-rows");
  addEventListener("beforeprint", () => {
    const { table, order } = read();
    const shown = order.slice(0, MOST_ROWS);
    const mark = (column) => (column.isNumber ? "number" : null);
    place.replaceChildren(
      el("p", { class: "small" }, text("print.rows", {
        shown: number(shown.length),
        count: number(order.length),
      })),
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, table.columns.map((column) =>
          el("th", { scope: "col", class: mark(column) }, text(`column.${column.key}`)),
        ))),
        el("tbody", {}, shown.map((index) =>
          el("tr", {}, table.columns.map((column) =>
            el("td", { class: mark(column) }, column.draw(index)),
          )),
        )),
      ),
    );
  });
  addEventListener("afterprint", () => place.replaceChildren());
}
