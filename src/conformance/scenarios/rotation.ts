import { judgeAccepted } from '../judge.ts'
import { defineScenario } from '../port.ts'

/** Two secrets at a time, while one is exchanged for the other: retries come under either. */
export const rotation = defineScenario({
  name: 'rotation',
  checks: {
    current: { rule: 'A32', title: 'the present secret is good while the next one is, too', needs: ['nextSecret'] },
    next: { rule: 'A32', title: 'the next secret is good', needs: ['nextSecret'] },
  },
  async run({ newEvent, deliver, nextSecret = '', timeoutMs }, tell) {
    const todo = 'keep both secrets while they are exchanged, and take what is signed with either'
    const current = [await deliver(newEvent())]
    tell('current', judgeAccepted({ sent: 'an event signed with --secret', answers: current, timeoutMs, todo }))
    const next = [await deliver(newEvent(), { secret: nextSecret })]
    tell('next', judgeAccepted({ sent: 'an event signed with --next-secret', answers: next, timeoutMs, todo }))
  },
})
