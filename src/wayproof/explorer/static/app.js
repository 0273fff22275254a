// The page's beginning: language and theme, the stage, and the checker.

import { dataBlock } from "../../web/static/dom.js";
import { startLocale } from "../../web/static/locale.js";
import { startCheck } from "./check.js";
import { Watch } from "./watch.js";

const sample = dataBlock("sample");
startLocale();
const watch = new Watch(sample);
startCheck(sample.pins, (source, fault) => watch.use(source, fault));
document.documentElement.dataset.ready = "true";
