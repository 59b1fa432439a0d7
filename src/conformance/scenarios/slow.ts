import { judgeAccepted, summarize } from '../judge.ts'
import { defineScenario, failed, passed, type Answer, type WriteBytes } from '../port.ts'

const slowMs = 3_000
const pieces = 6
const others = 20

/** A body that takes its time, and others meanwhile. */
export const slow = defineScenario({
  name: 'slow',
  checks: {
    others: { rule: 'R79', title: 'events are acknowledged in time while the body of another one is still coming' },
    answered: { rule: 'R79', title: 'a body that takes 3 s is answered in the end' },
  },
  async run({ newEvent, deliver, wait, timeoutMs }, tell) {
    const event = newEvent()
    const size = Math.ceil(event.body.length / pieces)
    const pace = async (write: WriteBytes) => {
      for (let piece = 0; piece < pieces; piece++) {
        if (piece > 0) await wait(slowMs / (pieces - 1))
        await write(event.body.subarray(piece * size, (piece + 1) * size))
      }
    }
    const late = deliver(event, { pace, limitMs: slowMs + timeoutMs })
    const answers: Answer[] = []
    for (let n = 0; n < others; n++) {
      await wait(slowMs / 2 / others)
      answers.push(await deliver(newEvent()))
    }
    const sent = `${others} events while the body of another one takes ${slowMs} ms`
    const todo = 'let one connection not wait for another: a thread for each, or reading that does not block'
    const isLate = answers.some(({ status, ms }) => status === null || ms > timeoutMs)
    tell('others', judgeAccepted({ sent, answers, timeoutMs, ...(isLate && { todo }) }))

    const answer = await late
    const came = summarize([answer])
    const isFine = answer.status !== null && (answer.status < 300 || answer.status === 408)
    tell(
      'answered',
      isFine
        ? passed(came)
        : failed({
            sent: `an event whose body takes ${slowMs} ms`,
            expected: `2xx, or 408, within ${timeoutMs} ms of its end`,
            came,
            todo: 'read the whole body, as long as Content-Length says, before anything is done with it',
          }),
    )
  },
})
