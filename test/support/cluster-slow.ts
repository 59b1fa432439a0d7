import { readFile } from 'node:fs/promises'
import { toDelivery, type RecordingClient } from './history.ts'
import type { Sidecar } from './sidecar.ts'
import { eventBytes } from './signed.ts'
import { until } from './until.ts'

const prefix = 'slow_'

/**
 * Source of a handler whose runs take `ms` each, unless they are cut off. Each leaves a line where it begins, and an entry in the ledger when it
 * is through.
 */
export function slowSource(ms: number): string {
  return `
import { appendFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { defineHandler } from 'onchain-inbox'

export default defineHandler({
  type: 'test.slow',
  async run(event, ctx) {
    appendFileSync(process.env.EFFECTS, event.id + '\\n')
    await wait(${ms}, undefined, { signal: ctx.signal })
    const entries = (await ctx.state.get(event.id)) ?? []
    ctx.state.set(event.id, [...entries, [event.id, ctx.attempt, '']])
  },
})
`
}

export function isSlow(id: string): boolean {
  return id.startsWith(prefix)
}

/** Sends slow events by this client until the replica has begun one of them; gives the id of that one. */
export async function occupy(replica: Sidecar, client: RecordingClient): Promise<string> {
  const before = (await begun(replica)).length
  let found: string | undefined
  await until(async () => {
    const id = `${prefix}${replica.pid}_${client.requests.length}`
    await client.deliver(toDelivery(eventBytes({ id, type: 'test.slow', data: {} }), { id }))
    found = (await begun(replica))[before]
    return found !== undefined
  }, 'the replica does what takes long')
  return found ?? ''
}

/** Ids of the slow events that a replica has begun, as often as it has. */
export async function begun(replica: Sidecar): Promise<readonly string[]> {
  const lines = await readFile(replica.effectsFile, 'utf8').catch(() => '')
  return lines.split('\n').filter((line) => line !== '')
}
