import { originName, type Keeper } from '../keeper.ts'
import { ControlError } from './answers.ts'
import { advanceBody, clockBody, stateBody } from './bodies.ts'
import { route, type Controlled, type Route } from './route.ts'
import { toClock, toTime } from './shown.ts'

/** The time of the world: its clock, and states that it can be put back to. */
export const clockRoutes: readonly Route[] = [
  route('GET', '/clock', { answer: ({ keeper }) => toClock(keeper) }),
  route('POST', '/clock', {
    body: clockBody,
    answer(on, { body: { mode, speed } }) {
      on.keeper.clock.set(mode, speed)
      return tellClock(on)
    },
  }),
  route('POST', '/clock/advance', {
    body: advanceBody,
    async answer(on, { body: { ms } }) {
      await on.keeper.advance(ms)
      return tellClock(on)
    },
  }),

  route('POST', '/reset', { answer: (on) => putBack(on, originName) }),
  route('GET', '/snapshot', {
    answer: ({ keeper }) => keeper.saved().map(({ name, at }) => ({ name, at: toTime(at) })),
  }),
  route('POST', '/snapshot', {
    body: stateBody,
    status: 201,
    answer({ keeper }, { body: { name } }) {
      if (name === originName)
        throw new ControlError(409, 'conflict', `${originName} is how the world began; take another name`)
      return { name, at: toTime(keeper.save(name)) }
    },
  }),
  route('DELETE', '/snapshot/:id', {
    answer({ keeper }, { id: name }) {
      if (name === originName) throw new ControlError(409, 'conflict', `${originName} is how the world began; it stays`)
      if (!keeper.forget(name)) throw noSuchState(keeper, name)
      return { name, deleted: true }
    },
  }),
  route('POST', '/restore', { body: stateBody, answer: (on, { body: { name } }) => putBack(on, name) }),
]

/** Tells those who listen where the clock is now, and gives it. */
function tellClock({ keeper, stream }: Controlled) {
  const clock = toClock(keeper)
  stream.publish('clock', clock)
  return clock
}

function putBack(on: Controlled, name: string) {
  if (on.keeper.restore(name)) return { name, ...tellClock(on) }
  throw noSuchState(on.keeper, name)
}

function noSuchState(keeper: Keeper, name: string): ControlError {
  const names = keeper.saved().map((state) => state.name)
  return new ControlError(404, 'not_found', `no state is saved as ${name}; expected one of ${names.join(', ')}`)
}
