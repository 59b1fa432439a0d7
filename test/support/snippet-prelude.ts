/** What a block may use without having said where it comes from, because the page said so before. */
const known: Readonly<Record<string, string>> = {
  ...from(
    'onchain-inbox',
    'createInbox',
    'defineHandler',
    'defineSink',
    'InboxError',
    'RetryableError',
    'TerminalError',
  ),
  ...from('onchain-inbox/client', 'createClient'),
  ...from('onchain-inbox/emulator', 'createEmulator'),
  ...from('onchain-inbox/schema', 'eventSchemas', 'eventTypes'),
  ...from('onchain-inbox/testing', 'createEvent', 'createTestInbox', 'signedRequest'),
  ...from('vitest', 'expect', 'test'),
  express: "import express from 'express'",
  app: "declare const app: import('express').Express",
  inbox: "declare const inbox: import('onchain-inbox').EmbeddedInbox",
  client: "declare const client: ReturnType<typeof import('onchain-inbox/client').createClient>",
  event: "declare const event: import('onchain-inbox').EventOf<'wallet.large_trade'>",
  ctx: "declare const ctx: import('onchain-inbox').HandlerContext",
  secret: 'declare const secret: string',
  url: 'declare const url: string',
}

function from(module: string, ...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, `import { ${name} } from '${module}'`]))
}

/** A block as a module that stands by itself: what it uses of the above and does not say itself comes first. */
export function completed(code: string): { readonly prelude: string; readonly text: string } {
  const missing = Object.entries(known).filter(([name]) => uses(code, name) && !declares(code, name))
  const prelude = missing.map(([, statement]) => `${statement}\n`).join('')
  return { prelude, text: `${prelude}${code}export {}\n` }
}

/** Not as a member or a key. */
function uses(code: string, name: string): boolean {
  return new RegExp(String.raw`(?<![.\w$'"/-])${name}(?![\w$'"/:-])`).test(code)
}

function declares(code: string, name: string): boolean {
  const imports = [...code.matchAll(/^import\s+(?:type\s+)?([^'"]*?)\s+from/gm)]
    .map(([, names = '']) => names)
    .join(' ')
  if (new RegExp(String.raw`\b${name}\b`).test(imports)) return true
  const declaration = String.raw`\b(?:const|let|var|function|class|using)\s+(?:\{[^}=]*\b)?${name}\b`
  return (
    new RegExp(declaration).test(code) ||
    new RegExp(String.raw`[(,]\s*\{?\s*${name}\s*(?:[,)}].*(?:=>|\{)|\) \{)`).test(code)
  )
}
