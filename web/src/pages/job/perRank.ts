// The tabs that show a job rank by rank, fetched together by who opens one of them.
export { CountersTab } from "./Counters";
export { RanksTab } from "./Ranks";
