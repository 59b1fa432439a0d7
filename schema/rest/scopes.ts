/** Scopes of API keys (R69, A29). The network list needs none. */
export const scopes = {
  'read:wallets': 'All wallet endpoints.',
  'write:alerts': 'Create, read and delete alerts.',
  'read:tokens': 'Read and search tokens.',
  'write:webhooks': 'Create, read, change and delete webhooks.',
} as const
export type Scope = keyof typeof scopes
export const scopeNames = Object.keys(scopes) as [Scope, ...Scope[]]
