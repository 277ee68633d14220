// What is fetched together, by who opens one of them.
export { Account } from "./admin/Account";
export { Administration } from "./admin/Administration";
export { Comparison } from "./reports/Comparison";
export { Report } from "./reports/Report";
export { Reports } from "./reports/Reports";
