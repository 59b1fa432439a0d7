import { isAccepted, summarize } from '../judge.ts'
import { defineScenario, failed, passed } from '../port.ts'

/** Requests that are no deliveries. */
export const methods = defineScenario({
  name: 'methods',
  checks: { get: { rule: 'R78', title: 'a GET is not acknowledged' } },
  async run({ send }, tell) {
    const answer = await send({ method: 'GET' })
    const came = summarize([answer])
    const isFine = answer.status !== null && !isAccepted(answer, Infinity)
    const todo = 'take POST only and answer anything else 405'
    tell(
      'get',
      isFine
        ? passed(came)
        : failed({ sent: 'a GET without a signature', expected: 'an answer that is not 2xx', came, todo }),
    )
  },
})
