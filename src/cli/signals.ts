import { host } from './host.ts'
const longestTimeoutMs = 2 ** 31 - 1

/**
 * Keeps the process alive until SIGINT or SIGTERM, or until `sooner` settles or, if that is a number, so many seconds have
 * passed, or until nobody reads standard output any more. A second signal ends the process at once.
 */
export async function untilSignal(sooner?: Promise<void> | number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  // Signals come outside of the command's own context.
  const own = host()
  const limitMs = typeof sooner === 'number' ? sooner * 1_000 : longestTimeoutMs
  const alive = setTimeout(resolve, Math.min(limitMs, longestTimeoutMs))
  const dispose = () => {
    clearTimeout(alive)
    own.off('SIGINT', stop)
    own.off('SIGTERM', stop)
    own.stdout.off('error', stop)
  }
  const stop = () => {
    dispose()
    resolve()
  }
  own.on('SIGINT', stop)
  own.on('SIGTERM', stop)
  own.stdout.on('error', stop)
  await (typeof sooner === 'object' ? Promise.race([promise, sooner]) : promise)
  dispose()
}
