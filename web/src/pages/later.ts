// What is fetched together, by who opens one of them.
export { Account } from "./admin/Account";
export { Administration } from "./admin/Administration";
export { Comparison } from "./reports/Comparison";
export { FilesTab } from "./job/Files";
export { ScriptTab } from "./job/Script";
export { TimelineTab } from "./job/Timeline";
export { Report } from "./reports/Report";
export { Reports } from "./reports/Reports";
