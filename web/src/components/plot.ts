// The library of charts, apart: pages without a chart do not load it.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export { uPlot };
