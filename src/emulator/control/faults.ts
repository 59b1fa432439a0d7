import { z } from 'zod'
import { listFaultKinds } from '../faults/kinds.ts'
import { packs } from '../faults/packs.ts'
import { faultRuleSchema } from '../faults/rules.ts'
import { HttpError } from '../rest/error.ts'
import { type Route, route } from './route.ts'

const names = packs.map(({ name }) => name)
const nameProblem = `expected one of ${names.join(', ')}`
const scenarioBody = z.strictObject({
  name: z.string(nameProblem).transform((name, context) => {
    const pack = packs.find((known) => known.name === name)
    if (pack !== undefined) return pack
    context.addIssue({ code: 'custom', message: nameProblem })
    return z.NEVER
  }),
})

/** Fault rules and named scenarios (2.8). */
export const faultRoutes: readonly Route[] = [
  route('GET', '/faults', { answer: ({ faults }) => faults.rules() }),
  route('POST', '/faults', {
    body: faultRuleSchema,
    status: 201,
    answer: ({ faults }, { body }) => faults.add(body),
  }),
  route('DELETE', '/faults', {
    answer({ faults }) {
      const deleted = faults.rules().length
      faults.clear()
      return { deleted }
    },
  }),
  // Listed before the routes with an id.
  route('GET', '/faults/kinds', { answer: () => listFaultKinds() }),
  route('DELETE', '/faults/:id', {
    answer({ faults }, { id }) {
      if (faults.remove(id)) return { id, deleted: true }
      throw new HttpError(404, 'not_found', `there is no fault rule ${id}; GET /_emulator/faults lists them`)
    },
  }),
  route('GET', '/scenarios', { answer: () => packs.map(({ name, about }) => ({ name, about })) }),
  route('POST', '/scenarios', {
    body: scenarioBody,
    answer({ faults, state }, { body: { name: pack } }) {
      // Commands first: if the world refuses one, the rules stay unchanged.
      for (const command of pack.commands) state.world.commands.apply(command)
      faults.clear()
      const rules = pack.rules.map((rule) => faults.add(rule))
      return { name: pack.name, rules, acts: pack.commands.length }
    },
  }),
]
