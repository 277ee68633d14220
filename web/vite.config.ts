import { defineConfig } from "vite";

export default defineConfig({
  build: {
    target: "es2022",
    // A data: address in a style sheet would be a second home for an image; files are few anyway.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: {
    // `npx vite` beside `hpvm serve --listen 127.0.0.1:8080` while working on the page.
    proxy: { "/api": "http://127.0.0.1:8080" },
  },
});
