// To be imported before all else. Chromium under LANG=C says that its language is `en-US@posix`, which is no language tag: Intl throws, and
// so does whatever module asks for it while it is loaded, as uPlot does. The page would stay empty.
try {
  Intl.getCanonicalLocales(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true })
}
