import { z } from 'zod'
import { maxDurationMs } from '../duration.ts'
import { originName, type EmulatorState } from '../emulator-state.ts'
import { HttpError } from '../rest/error.ts'
import { clockModes } from '../world-clock.ts'
import { route, toTime, type ControlContext, type Route } from './route.ts'
import { numberFrom, wholeNumberFrom } from '../values.ts'

const advanceBody = z.strictObject({ ms: wholeNumberFrom(0, maxDurationMs) })
const clockBody = z
  .strictObject({ mode: z.enum(clockModes), speed: z.exactOptional(numberFrom(0.001, 1e6)) })
  .refine((change) => change.mode !== 'scaled' || change.speed !== undefined, {
    error: 'expected a speed for the mode scaled: how many times as fast as real time',
    path: ['speed'],
  })

const stateNameProblem =
  'expected 1 to 64 letters, digits, dots, hyphens or underscores, starting with a letter or a digit'

/** Name of a saved state. */
const stateBody = z.strictObject({
  name: z.string({ error: stateNameProblem }).regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, stateNameProblem),
})

/** The world clock and saved states. */
export const clockRoutes: readonly Route[] = [
  route('GET', '/clock', { answer: ({ state }) => toClock(state) }),
  route('POST', '/clock', {
    body: clockBody,
    answer(context, { body: { mode, speed } }) {
      context.state.clock.set(mode, speed)
      return publishClock(context)
    },
  }),
  route('POST', '/clock/advance', {
    body: advanceBody,
    async answer(context, { body: { ms } }) {
      await context.state.advance(ms)
      return publishClock(context)
    },
  }),

  route('POST', '/reset', { answer: (context) => restoreState(context, originName) }),
  route('GET', '/snapshot', {
    answer: ({ state }) => state.saved().map(({ name, at }) => ({ name, at: toTime(at) })),
  }),
  route('POST', '/snapshot', {
    body: stateBody,
    status: 201,
    answer({ state }, { body: { name } }) {
      if (name === originName)
        throw new HttpError(409, 'conflict', `${originName} is reserved for the initial state; choose another name`)
      return { name, at: toTime(state.save(name)) }
    },
  }),
  route('DELETE', '/snapshot/:id', {
    answer({ state }, { id: name }) {
      if (name === originName)
        throw new HttpError(409, 'conflict', `${originName} is the initial state and can't be deleted`)
      if (!state.forget(name)) throw noSuchState(state, name)
      return { name, deleted: true }
    },
  }),
  route('POST', '/restore', { body: stateBody, answer: (context, { body: { name } }) => restoreState(context, name) }),
]

/** Publishes the clock to the stream and returns it. */
function publishClock({ state, stream }: ControlContext) {
  const clock = toClock(state)
  stream.publish('clock', clock)
  return clock
}

function restoreState(context: ControlContext, name: string) {
  if (context.state.restore(name)) return { name, ...publishClock(context) }
  throw noSuchState(context.state, name)
}

function noSuchState(state: EmulatorState, name: string): HttpError {
  const names = state.saved().map((state) => state.name)
  return new HttpError(404, 'not_found', `there is no saved state ${name}; expected one of ${names.join(', ')}`)
}

function toClock({ clock }: Pick<EmulatorState, 'clock'>) {
  const { mode, speed, now } = clock.state()
  return { mode, speed, now: toTime(now) }
}

export type ShownClock = ReturnType<typeof toClock>
