/** What an API key may be allowed to do (R69, A29). The networks are open to every key. */
export const scopes = {
  'read:wallets': 'All wallet endpoints.',
  'write:alerts': 'Create, read and delete alerts.',
  'read:tokens': 'Read and search tokens.',
  'write:webhooks': 'Create, read, change and delete webhooks.',
} as const
export type Scope = keyof typeof scopes
export const scopeNames = Object.keys(scopes) as [Scope, ...Scope[]]
