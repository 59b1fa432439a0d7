import { createHash } from 'node:crypto'
import { RetryableError, TerminalError, type SinkContext } from 'onchain-inbox'
import { readRetryAfter, refusal, type Answer } from './http.ts'
import { z } from 'zod'
import type { Severity } from './message.ts'

/** The option `minSeverity`: events below it open nothing. */
export const minSeverity = z.enum(['info', 'warning', 'critical']).default('warning')
export const region = z.enum(['us', 'eu']).default('us')

const ranks: Readonly<Record<Severity, number>> = { info: 0, warning: 1, critical: 2 }
const defaultWaitMs = 1_000

export function isAtLeast(severity: Severity, least: Severity): boolean {
  return ranks[severity] >= ranks[least]
}

/** An id as it is, or where it is too long a hash of it. */
export function fittingId(id: string, longest: number): string {
  return id.length <= longest ? id : `sha256:${createHash('sha256').update(id).digest('hex')}`
}

/** At most so many characters, none of them cut in two. */
export function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** Throws unless the answer is a success: a request that the service finds wrong will not be right the next time. */
export function expectSuccess(answer: Answer, who: string, ctx: SinkContext): void {
  const { status, headers } = answer
  if (status >= 200 && status < 300) return
  const error = refusal(answer, who)
  if (status === 400 || status === 413 || status === 422) throw new TerminalError(error.message)
  if (status !== 429) throw error
  const retryAfterMs = readRetryAfter(headers) ?? defaultWaitMs
  ctx.pause(retryAfterMs)
  throw new RetryableError(error.message, { retryAfterMs })
}

/** Members of an object that a handler enqueued, of which only these names are known. */
export function readPayload(payload: unknown, known: readonly string[], expected: string): Map<string, unknown> {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) throw new TerminalError(expected)
  const members = new Map(Object.entries(payload))
  for (const name of members.keys())
    if (!known.includes(name)) throw new TerminalError(`${expected}; received a member ${JSON.stringify(name)}`)
  return members
}

/** A member that is one of these, or is not there. */
export function readChoice<T extends string>(
  members: ReadonlyMap<string, unknown>,
  name: string,
  choices: readonly T[],
  expected: string,
): T | undefined {
  const value = members.get(name)
  if (value === undefined) return undefined
  const choice = choices.find((one) => one === value)
  if (choice === undefined) throw new TerminalError(`${expected}; ${name} is one of ${choices.join(', ')}`)
  return choice
}

/** A text that is not empty, or is not there. */
export function readText(members: ReadonlyMap<string, unknown>, name: string, expected: string): string | undefined {
  const value = members.get(name)
  if (value === undefined) return undefined
  if (typeof value !== 'string' || value === '') throw new TerminalError(`${expected}; ${name} is some text`)
  return value
}
