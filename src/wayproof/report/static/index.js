// The index over several reports: nothing but its language and colours.

import { startLocale } from "../../web/static/locale.js";

startLocale();
document.documentElement.dataset.ready = "true";
