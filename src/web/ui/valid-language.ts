// Import this first. Chromium under LANG=C reports the language `en-US@posix`. Intl throws for it, and uPlot calls Intl while it loads.
try {
  Intl.getCanonicalLocales(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true })
}
