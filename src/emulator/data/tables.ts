import type { Database } from 'better-sqlite3'
import { InboxError } from '../../base/errors.ts'
import type { AccountsChange, AccountsState } from '../accounts/state.ts'
import type { Chunk, SavedState } from './archive.ts'

/** The accounts and what belongs to them, a row each. */
export function createRecords(db: Database) {
  const prepare = (table: 'account' | 'api_key' | 'webhook' | 'alert') => ({
    put: db.prepare<[string, string]>(
      `INSERT INTO ${table} (id, body) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body`,
    ),
    remove: db.prepare<[string]>(`DELETE FROM ${table} WHERE id = ?`),
    clear: db.prepare<[]>(`DELETE FROM ${table}`),
    all: db.prepare<[], { body: string }>(`SELECT body FROM ${table} ORDER BY seq`),
  })
  const account = prepare('account')
  const apiKey = prepare('api_key')
  const webhook = prepare('webhook')
  const alert = prepare('alert')
  const readAll = <T>({ all }: ReturnType<typeof prepare>) => all.all().map(({ body }) => JSON.parse(body) as T)

  function write(change: AccountsChange): void {
    switch (change.kind) {
      case 'account':
        return void account.put.run(change.value.accountId, JSON.stringify(change.value))
      case 'key':
        return void apiKey.put.run(change.value.keyId, JSON.stringify(change.value))
      case 'webhook':
        return void webhook.put.run(change.value.webhookId, JSON.stringify(change.value))
      case 'webhook-removed':
        return void webhook.remove.run(change.webhookId)
      case 'alert':
        return void alert.put.run(change.value.alertId, JSON.stringify(change.value))
      case 'alert-removed':
        return void alert.remove.run(change.alertId)
    }
  }

  return {
    write,
    read: (): AccountsState => ({
      accounts: readAll(account),
      keys: readAll(apiKey),
      webhooks: readAll(webhook),
      alerts: readAll(alert),
    }),
    replaceAll({ accounts, keys, webhooks, alerts }: AccountsState): void {
      for (const { clear } of [account, apiKey, webhook, alert]) clear.run()
      for (const value of accounts) write({ kind: 'account', value })
      for (const value of keys) write({ kind: 'key', value })
      for (const value of webhooks) write({ kind: 'webhook', value })
      for (const value of alerts) write({ kind: 'alert', value })
    },
  }
}

/** A chunk as a state names it. */
type Part = Omit<Chunk, 'bytes'>

export interface States {
  /** In one transaction; a state of the same name makes way. */
  put(name: string, state: SavedState): void
  get(name: string): SavedState | null
  /** With what no other state has. False if there is none of this name. */
  remove(name: string): boolean
  /** Oldest first. */
  list(): readonly { readonly name: string; readonly at: number }[]
}

/** Saved states by name. A chunk that several of them have is there once. */
export function createStates(db: Database): States {
  const removeState = db.prepare<[string]>('DELETE FROM state WHERE name = ?')
  const insert = db.prepare<[string, number, string, Uint8Array, string]>(
    'INSERT INTO state (name, at, accounts, core, parts) VALUES (?, ?, ?, ?, ?)',
  )
  const select = db.prepare<[string], { at: number; accounts: string; core: Uint8Array; parts: string }>(
    'SELECT at, accounts, core, parts FROM state WHERE name = ?',
  )
  const all = db.prepare<[], { name: string; at: number }>('SELECT name, at FROM state ORDER BY seq')
  const addChunk = db.prepare<[string, Uint8Array]>('INSERT OR IGNORE INTO chunk (digest, bytes) VALUES (?, ?)')
  const hasChunk = db.prepare<[string], unknown>('SELECT 1 FROM chunk WHERE digest = ?')
  const selectChunk = db.prepare<[string], { bytes: Uint8Array }>('SELECT bytes FROM chunk WHERE digest = ?')
  const dropUnused = db.prepare<[]>(
    `DELETE FROM chunk WHERE digest NOT IN (SELECT value ->> 'digest' FROM state, json_each(state.parts))`,
  )

  function toChunk(part: Part): Chunk {
    return {
      ...part,
      bytes() {
        const found = selectChunk.get(part.digest)
        if (found === undefined) throw new InboxError('database_corrupt', 'the data file lacks a part of its world')
        return found.bytes
      },
    }
  }

  return {
    put: db.transaction((name: string, { at, accounts, core, chunks }: SavedState) => {
      removeState.run(name)
      const parts = chunks.map(({ key, isFinal, digest }): Part => ({ key, isFinal, digest }))
      insert.run(name, at, JSON.stringify(accounts), core, JSON.stringify(parts))
      for (const chunk of chunks) {
        if (hasChunk.get(chunk.digest) === undefined) addChunk.run(chunk.digest, chunk.bytes())
      }
      dropUnused.run()
    }),
    get(name: string): SavedState | null {
      const row = select.get(name)
      if (row === undefined) return null
      const parts = JSON.parse(row.parts) as readonly Part[]
      return {
        at: row.at,
        accounts: JSON.parse(row.accounts) as AccountsState,
        core: row.core,
        chunks: parts.map(toChunk),
      }
    },
    remove: db.transaction((name: string) => {
      const isThere = removeState.run(name).changes > 0
      dropUnused.run()
      return isThere
    }),
    list: () => all.all(),
  }
}
