/** Texts that an attacker may send in any field: markup, and characters that change the text direction. */
export const nasty = {
  markup: '<img src=x onerror="globalThis.isHacked = true"><script>globalThis.isHacked = true</script>',
  bidi: 'EVIL\u202eLOOC\u2066\u200f\u0007',
  /** Every control character that JSON must escape. */
  controls: Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join(''),
  long: 'x'.repeat(100_000),
  formula: '=HYPERLINK("http://localhost/","click")',
} as const
