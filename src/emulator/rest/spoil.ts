import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../base/clock.ts'
import type { AnswerPlan, Faults } from '../faults/port.ts'
import { RestError } from './error.ts'
import type { Exchange } from './exchange.ts'
import { versionPrefix } from './refusals.ts'

/** Lets a request be processed by `process`, at once or later, or in its place refuses it. */
export type Spoil = (request: IncomingMessage, exchange: Exchange, process: () => void) => void

/**
 * Injects the faults of answers (2.8) under `/v1`, for requests with a valid key: their quota was counted before, so that even an
 * injected error says how much is left (R117). Those of whoever has no key are refused as ever.
 */
export function createSpoiling(wall: Clock, faults: Pick<Faults, 'planAnswer'> | undefined): Spoil {
  return (request, exchange, process) => {
    const { method = '', url = '' } = request
    const [path = ''] = url.split('?')
    const isMeant = exchange.caller !== null && path.startsWith(`${versionPrefix}/`)
    const plan = isMeant ? (faults?.planAnswer({ method, path }) ?? null) : null
    if (plan === null) {
      process()
      return
    }
    exchange.suffer(plan)
    const answer = () => {
      const error = toInjected(plan)
      if (error === null) process()
      else exchange.fail(error)
    }
    if (plan.delayMs > 0) wall.after(plan.delayMs, answer)
    else answer()
  }
}

function toInjected({ instead }: AnswerPlan): RestError | null {
  if (instead?.kind !== 'error') return null
  if (instead.status === 500) return new RestError('internal', 'the service failed on purpose: a fault was injected')
  const message = 'refused on purpose, a fault was injected; try again later, as Retry-After says'
  const headers = { 'Retry-After': String(instead.retryAfterS) }
  return new RestError(instead.status === 429 ? 'rate_limited' : 'network_unavailable', message, { headers })
}
