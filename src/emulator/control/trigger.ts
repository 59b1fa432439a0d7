import { z } from 'zod'
import { eventTypes } from '../../../schema/index.ts'
import { InboxError } from '../../base/errors.ts'
import { pathProblem } from '../overrides.ts'
import type { TriggerRequest, Triggered, Triggering } from '../triggering.ts'
import { HttpError } from '../rest/error.ts'
import { type Route, route } from './route.ts'
import { numberFrom, wholeNumberFrom } from '../values.ts'

const maxCount = 10_000
const maxListed = 100
const maxOverrides = 100
const setProblem = 'expected an object of values by path, such as {"data.amount_usd": 250000}'

const set = z
  .record(z.string(), z.unknown(), { error: setProblem })
  .refine((overrides) => Object.keys(overrides).length <= maxOverrides, `expected at most ${maxOverrides} paths`)
  .superRefine((overrides, context) => {
    for (const path of Object.keys(overrides)) {
      const problem = pathProblem(path)
      if (problem !== null) context.addIssue({ code: 'custom', message: problem, path: [path] })
    }
  })

const triggerBody = z.strictObject({
  type: z.enum(eventTypes),
  set: z.exactOptional(set),
  count: wholeNumberFrom(1, maxCount).default(1),
  rate: z.exactOptional(numberFrom(0.001, 100_000)),
})

/** Triggers events. An event with overridden members is raw: the world has no record of it. */
export const triggerRoutes: readonly Route[] = [
  route('POST', '/trigger', {
    body: triggerBody,
    async answer({ triggering }, { body }) {
      return toShown(body, await trigger(triggering, body))
    },
  }),
]

/** Body of a trigger request. */
export type TriggerBody = z.input<typeof triggerBody>
export type ShownTriggered = ReturnType<typeof toShown>

/** Lists only the first of many events. */
function toShown({ type, count, set: overrides }: z.output<typeof triggerBody>, triggered: readonly Triggered[]) {
  return { type, count, events: triggered.slice(0, maxListed), isRaw: overrides !== undefined }
}

async function trigger(triggering: Pick<Triggering, 'many'>, request: TriggerRequest) {
  try {
    return await triggering.many(request)
  } catch (error) {
    // A path through a non-object is detected only with the event at hand.
    if (!(error instanceof InboxError) || error.code !== 'usage') throw error
    throw new HttpError(400, 'invalid_request', `set: ${error.message}`, { cause: error })
  }
}
