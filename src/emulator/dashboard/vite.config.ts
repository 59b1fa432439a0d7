import type { UserConfig } from 'vite'

/** `vite build` with this makes the static files that the emulator serves at `/`; `--outDir` says where to. */
export default {
  root: import.meta.dirname,
  base: './',
  build: {
    outDir: '../../../dist/src/emulator/dashboard',
    assetsDir: 'assets',
    emptyOutDir: true,
    sourcemap: false,
    target: 'es2023',
    modulePreload: { polyfill: false },
    // An image within the style sheet would be for the policy of the page to refuse.
    assetsInlineLimit: 0,
    // One script with all pages: together they are smaller than many an image.
    chunkSizeWarningLimit: 800,
    rolldownOptions: {
      onLog(level, log, report) {
        // `use client` means nothing to a page that is all client.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') report(level, log)
      },
    },
  },
} satisfies UserConfig
