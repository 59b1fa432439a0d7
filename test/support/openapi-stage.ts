import { expect } from 'vitest'
import { createRestStage, type Answer } from '../integration/emulator-rest-stage.ts'
import type { RestSettings } from '../../src/emulator/rest/input.ts'
import { createSamples } from './openapi-samples.ts'
import type { createContract } from './openapi-contract.ts'
import type { DocumentedOperation } from './openapi-document.ts'

export interface Asked {
  readonly method?: string
  readonly params?: Readonly<Record<string, string>>
  /** A list repeats the parameter. */
  readonly query?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: Readonly<Record<string, unknown>>
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

export type ContractStage = Awaited<ReturnType<typeof createContractStage>>

/** The REST service over a world of 12 hours. Every exchange is checked against the document. */
export async function createContractStage(
  contract: ReturnType<typeof createContract>,
  settings: Partial<RestSettings>,
) {
  const fault = { isOn: false }
  const stage = await createRestStage({ seed: 'contract', hours: 12, settings })
  const { accounts, world } = stage
  const advanceTo = world.advanceTo.bind(world)
  world.advanceTo = (at) => {
    if (fault.isOn) throw new Error('an injected fault')
    advanceTo(at)
  }
  const samples = createSamples(contract.document, stage)
  const owned = () => ({ alerts: accounts.alerts(), webhooks: accounts.webhooks() })

  async function call(operation: DocumentedOperation, asked: Asked): Promise<Answer> {
    const { body, headers = {}, method = operation.method } = asked
    const target = toTarget(operation, asked)
    const answer = await stage.request(target, {
      method,
      headers,
      ...(asked.key !== undefined && { key: asked.key }),
      ...(body !== undefined && { body }),
    })
    const problems = contract.check(operation, method, answer)
    if (problems.length === 0) return answer
    throw new Error(`${method} ${target} ${JSON.stringify(body)}: ${problems.join('; ')}\n${answer.text}`)
  }

  return {
    stage,
    /** If on, the world throws. */
    fault,
    /** Sends a request. The response must match the document, have the status and contain `hint`. */
    async expect(status: number, operation: DocumentedOperation, asked: Asked, hint = ''): Promise<Answer> {
      const answer = await call(operation, asked)
      const found = [answer.status, answer.text]
      expect(found, `${operation.id} ${JSON.stringify(asked)}`).toEqual([status, expect.stringContaining(hint)])
      return answer
    },
    /** Valid requests. */
    samplesOf: ({ id }: Pick<DocumentedOperation, 'id'>) => samples(id),
    /** All alerts and webhooks. */
    owned,
    /** The same and a digest of the world. */
    fingerprint: () => ({ ...owned(), world: world.digest() }),
    /** Deletes all alerts and webhooks. */
    clear() {
      for (const webhook of accounts.webhooks()) accounts.removeWebhook(webhook)
      for (const alert of accounts.alerts()) accounts.removeAlert(alert)
    },
    [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
  }
}

function toTarget({ path }: DocumentedOperation, { params = {}, query = {} }: Asked): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(params[name] ?? ''))
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map((one) => `${name}=${encodeURIComponent(one)}`),
  )
  return `/v1${filled}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`
}
