import { setTimeout as delay } from 'node:timers/promises'

/** Polls until `condition` is true. Throws an error that names `what` if it isn't within `deadlineMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  deadlineMs = 20_000,
): Promise<void> {
  const start = performance.now()
  for (let waited = 0; !(await condition()); waited = performance.now() - start) {
    if (waited > deadlineMs) throw new Error(`${what}: not within ${deadlineMs} ms`)
    // Some conditions cost a request, which would slow down what they wait for.
    await delay(Math.min(50, 5 + waited / 10))
  }
}
