import { render } from "preact";
import "./style/tokens.css";
import "./style/base.css";
import "./style/parts.css";
import "./style/pages.css";
import { App } from "./App";
import { startKeys } from "./keys/keys";
import { startClock } from "./state/clock";
import { watchLinks } from "./state/route";
import { startSession } from "./state/session";
import { startTheme } from "./state/theme";

startTheme();
startClock();
watchLinks();
startKeys();
void startSession();

const root = document.getElementById("page");
if (root) render(<App />, root);
