import type { UserConfig } from 'vite'

/** Settings of `vite build <page folder>`, which makes the static files of a page. `.ci/build.mjs` says where to. */
export default {
  base: './',
  build: {
    assetsDir: 'assets',
    emptyOutDir: true,
    sourcemap: false,
    target: 'es2023',
    // The first versions with `light-dark()`.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    // The content policy refuses images inside the style sheet.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      onLog(level, log, report) {
        // `use client` has no meaning here.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') report(level, log)
      },
    },
  },
} satisfies UserConfig
