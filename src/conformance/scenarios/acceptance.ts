import { eventTypes } from '../../../schema/index.ts'
import { judgeAccepted } from '../judge.ts'
import { defineScenario } from '../port.ts'

/** One signed event of each documented type. */
export const acceptance = defineScenario({
  name: 'acceptance',
  checks: Object.fromEntries(
    eventTypes.map((type) => [type, { rule: 'R92', title: `${type} is acknowledged in time` }]),
  ),
  async run({ sample, deliver, timeoutMs }, tell) {
    for (const type of eventTypes) {
      const answers = [await deliver(sample(type))]
      tell(type, judgeAccepted({ sent: `a signed ${type}`, answers, timeoutMs }))
    }
  },
})
