const evmAddress = /^0x[0-9a-f]{40}$/i

/** Lowercases an EVM address and its prefix `0x`, which people may type as `0X`. Returns other text unchanged. */
export function foldAddress(text: string): string {
  return evmAddress.test(text) ? text.toLowerCase() : text
}
