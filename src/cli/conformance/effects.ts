import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import readBytes from 'raw-body'
import { codeOf, InboxError, messageOf } from '../../base/errors.ts'
import { safeText } from '../../base/log.ts'
import { failed, notChecked, passed, type EffectsRule, type Outcome } from './judge.ts'

interface EffectsOptions {
  /** A URL that answers GET, or a shell command. */
  readonly location: string
  readonly signal: AbortSignal
  /** Time limit in ms until the receiver is quiet. */
  readonly settleMs: number
  /** Prefix of the ids of this run. Other ids are ignored. */
  readonly prefix: string
}

export interface ExpectedEffects {
  /** The requests, described for people. */
  readonly sent: string
  readonly rule: EffectsRule
  /** Ids of acknowledged events. */
  readonly ids: readonly string[]
  /** Ids of rejected events, which must not be done. */
  readonly never?: readonly string[]
  /** What to do if the rule is broken. */
  readonly fix: string
}

const readLimitMs = 10_000
const maxBytes = 64 * 1024 * 1024
const pollMs = 100
const quietMs = 500
const maxShown = 3
const finishWork =
  'do the work of every acknowledged event, whichever of its deliveries came first; --settle waits longer for slow work'

/** Reads the effects of the receiver from a URL or a command. */
export function createEffects({ location, signal, settleMs, prefix }: EffectsOptions) {
  const isUrl = /^https?:\/\//i.test(location) && URL.canParse(location)
  const read = async () =>
    eventIdsIn(
      isUrl ? await get(location, signal) : await runShell(location, { limitMs: readLimitMs, signal, isRead: true }),
    )

  /** Reads until all ids are done and the effects stop changing, or the time is up. */
  async function settle(ids: readonly string[], never: readonly string[]) {
    const deadline = Date.now() + settleMs
    let last = { effects: [] as readonly string[], since: Date.now() }
    for (;;) {
      const isDue = Date.now() >= deadline
      try {
        const effects = (await read()).filter((id) => id.startsWith(prefix) || never.includes(id))
        if (effects.length !== last.effects.length) last = { effects, since: Date.now() }
        const isQuiet = Date.now() - last.since >= quietMs
        const seen = new Set(effects)
        if (isDue || (isQuiet && ids.every((id) => seen.has(id)))) return { effects, isQuiet }
      } catch (error) {
        // The receiver may be busy.
        if (isDue || signal.aborted) throw error
      }
      await wait(pollMs, undefined, { signal })
    }
  }

  return {
    /**
     * Reads the effects once, to find a wrong option before anything is sent.
     *
     * @throws InboxError `usage` if they cannot be read
     */
    async check(): Promise<void> {
      try {
        await read()
      } catch (error) {
        signal.throwIfAborted()
        throw new InboxError(
          'usage',
          `can't read --effects: ${safeText(messageOf(error))}. It must be a URL that answers 200, or a command that exits with 0, ` +
            'also before the first event',
          { cause: error },
        )
      }
    },
    /** Waits until the receiver is quiet, and compares its effects. */
    async judge({ sent, rule, ids, never = [], fix }: ExpectedEffects): Promise<Outcome> {
      if (ids.length === 0) return notChecked('no event was accepted')
      const times = rule === 'once' ? 'each event done once' : 'each event done'
      const expected = never.length > 0 ? `${times}, no rejected event done` : times
      const wrong = (got: string, advice = fix) => failed({ sent, expected, got, fix: advice })
      let settled: { readonly effects: readonly string[]; readonly isQuiet: boolean }
      try {
        settled = await settle(ids, never)
      } catch (error) {
        signal.throwIfAborted()
        const advice = 'set --effects to a URL or a command that lists the processed events: see docs/conformance.md'
        return wrong(`can't read the effects: ${safeText(messageOf(error))}`, advice)
      }
      const { effects, isQuiet } = settled
      const counts = Map.groupBy(effects, (id) => id)
      const timesOf = (id: string) => counts.get(id)?.length ?? 0
      const repeated = rule === 'once' ? ids.filter((id) => timesOf(id) > 1) : []
      if (repeated.length > 0) return wrong(`done ${timesOf(repeated[0] ?? '')} times: ${list(repeated)}`)
      const forbidden = never.filter((id) => counts.has(id))
      if (forbidden.length > 0) return wrong(`done: ${list(forbidden)}`)
      const limit = `${settleMs / 1_000} s`
      const missing = ids.filter((id) => !counts.has(id))
      if (missing.length > 0)
        return wrong(
          `${missing.length} of ${ids.length} acknowledged events not done within ${limit}: ${list(missing)}`,
          rule === 'once' ? finishWork : fix,
        )
      if (!isQuiet) return notChecked(`the receiver was still working after ${limit} (--settle waits longer)`)
      return passed(expected)
    },
  }
}

function list(ids: readonly string[]): string {
  const shown = ids.slice(0, maxShown).map((id) => safeText(id))
  return `${shown.join(', ')}${ids.length > maxShown ? ` and ${ids.length - maxShown} more` : ''}`
}

/** The event ids in a text, with duplicates. */
export function eventIdsIn(text: string): readonly string[] {
  return text.match(/\bevt_\w+/g) ?? []
}

async function get(url: string, signal: AbortSignal): Promise<string> {
  const limit = AbortSignal.timeout(readLimitMs)
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.any([signal, limit]) })
    if (response.status === 200) return await response.text()
    throw new Error(`a GET of the effects was answered ${response.status}, expected 200`)
  } catch (error) {
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error
    throw new Error(limit.aborted ? `no answer within ${readLimitMs / 1_000} s` : describe(reason), { cause: error })
  }
}

interface ShellOptions {
  readonly limitMs: number
  readonly signal: AbortSignal
  /** Reads the output. Otherwise the command may leave processes running. */
  readonly isRead: boolean
}

/**
 * Runs a shell command without input and returns its standard output.
 *
 * @throws Error that says why it failed, without any of its output
 */
export async function runShell(command: string, { limitMs, signal, isRead }: ShellOptions): Promise<string> {
  const limit = AbortSignal.timeout(limitMs)
  const ending = AbortSignal.any([signal, limit])
  // A new process group, so that all of it can be killed.
  const child = spawn(command, { shell: true, detached: true, stdio: ['ignore', isRead ? 'pipe' : 'ignore', 'ignore'] })
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // The group has already ended.
    }
  }
  ending.addEventListener('abort', kill, { once: true })
  try {
    const output = child.stdout === null ? '' : readBytes(child.stdout, { encoding: 'utf8', limit: maxBytes })
    const [text, [code, endedBy]] = await Promise.all([output, once(child, 'exit')])
    if (code === 0) return text
    throw new Error(`the command exited with ${code ?? endedBy}; run it by hand to see its output`)
  } catch (error) {
    if (isRead) kill()
    throw limit.aborted ? new Error(`the command did not end within ${limitMs / 1_000} s`, { cause: error }) : error
  } finally {
    ending.removeEventListener('abort', kill)
  }
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut without an answer',
  EPIPE: 'the connection was cut without an answer',
  ENOTFOUND: 'the host name is unknown',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed (NODE_EXTRA_CA_CERTS names one to trust)',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is self-signed (NODE_EXTRA_CA_CERTS names one to trust)',
}

/** Why a connection failed, for people. */
export function describe(error: unknown): string {
  return reasons[codeOf(error)] ?? safeText(messageOf(error))
}
