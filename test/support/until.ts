import { setTimeout as delay } from 'node:timers/promises'

/** Polls until `condition` is true. Throws an error that names `what` if it isn't within `deadlineMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  deadlineMs = 20_000,
): Promise<void> {
  const deadline = performance.now() + deadlineMs
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${deadlineMs} ms`)
    await delay(10)
  }
}
