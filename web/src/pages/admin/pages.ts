// What is fetched together.
export { Account } from "./Account";
export { Administration } from "./Administration";
