import type { UserConfig } from 'vite'

/** How `vite build` makes the static files of a page: `root` has its `index.html`; `outDir` is seen from there. */
export function pageBuild(root: string, outDir: string): UserConfig {
  return {
    root,
    base: './',
    build: {
      outDir,
      assetsDir: 'assets',
      emptyOutDir: true,
      sourcemap: false,
      target: 'es2023',
      modulePreload: { polyfill: false },
      // An image within the style sheet would be for the policy of the page to refuse.
      assetsInlineLimit: 0,
      // One script with all pages: together they are smaller than many an image.
      chunkSizeWarningLimit: 1000,
      rolldownOptions: {
        onLog(level, log, report) {
          // `use client` means nothing to a page that is all client.
          if (log.code !== 'MODULE_LEVEL_DIRECTIVE') report(level, log)
        },
      },
    },
  }
}
