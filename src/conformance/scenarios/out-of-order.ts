import { isAccepted, judgeAccepted } from '../judge.ts'
import { defineScenario, type Answer } from '../port.ts'

const minute = 60_000
/** How much older than the first one each event is: the last retry of the service comes 10 h 36 min after the first delivery. */
const agesMs = [0, 636 * minute, minute, 300 * minute]

/** Events that arose earlier and come later: the service retries, and promises no order (A44). */
export const outOfOrder = defineScenario({
  name: 'out-of-order',
  checks: {
    answers: { rule: 'A44', title: 'events that arose before others that came earlier are acknowledged' },
    effects: {
      rule: 'A44',
      title: 'events that arose before others that came earlier are done once',
      needs: ['effects'],
    },
  },
  async run({ newEvent, deliver, effects, timeoutMs }, tell) {
    const wallet = `0x${'c0'.repeat(20)}`
    const events = agesMs.map((ageMs) => newEvent({ wallet, ageMs }))
    const sent = `${events.length} events of one wallet that arose now, 10 h 36 min ago, 1 min ago and 5 h ago`
    const answers: Answer[] = []
    const accepted: string[] = []
    for (const event of events) {
      const answer = await deliver(event)
      answers.push(answer)
      if (isAccepted(answer, Infinity)) accepted.push(event.id)
    }
    tell('answers', judgeAccepted({ sent, answers, timeoutMs }))
    const todo = 'do not drop what is older than the newest event: it was late, and it is new'
    tell('effects', await effects({ sent, once: accepted, todo }))
  },
})
