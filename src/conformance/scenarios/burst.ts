import { connections, deliverMany } from '../deliver-many.ts'
import { idsOf, judgeAccepted } from '../judge.ts'
import { defineScenario } from '../port.ts'

/** Many events at once, whatever the receiver does with each of them. */
export const burst = defineScenario({
  name: 'burst',
  checks: {
    answers: { rule: 'R79', title: 'each event of a burst is acknowledged in time' },
    effects: { rule: 'P1', title: 'each acknowledged event of a burst is done', needs: ['effects'] },
  },
  async run(context, tell) {
    const { effects, many, timeoutMs } = context
    const sent = `${many} events over ${connections} connections`
    const deliveries = await deliverMany(context)
    const answers = deliveries.map(({ answer }) => answer)
    tell('answers', judgeAccepted({ sent, answers, timeoutMs }))
    const done = idsOf(deliveries.map(({ event, answer }) => ({ event, answers: [answer] })))
    tell('effects', await effects({ sent, done, todo: 'store an event before its delivery is answered 2xx' }))
  },
})
