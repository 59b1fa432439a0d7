/** What anybody may write into a field: markup, and marks that turn the direction of what follows. */
export const nasty = {
  markup: '<img src=x onerror="globalThis.isHacked = true"><script>globalThis.isHacked = true</script>',
  bidi: 'EVIL\u202eLOOC\u2066\u200f\u0007',
  /** Every character that JSON writes as a code. */
  controls: Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join(''),
  long: 'x'.repeat(100_000),
  formula: '=HYPERLINK("http://localhost/","click")',
} as const
