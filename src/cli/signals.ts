const longestTimeoutMs = 2 ** 31 - 1

/**
 * Keeps the process alive until SIGINT or SIGTERM, or until `sooner` settles or, if that is a number, so many seconds have
 * passed, or until nobody reads standard output any more. A second signal ends the process at once.
 */
export async function untilSignal(sooner?: Promise<void> | number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const limitMs = typeof sooner === 'number' ? sooner * 1_000 : longestTimeoutMs
  const alive = setTimeout(resolve, Math.min(limitMs, longestTimeoutMs))
  const dispose = () => {
    clearTimeout(alive)
    process.off('SIGINT', stop)
    process.off('SIGTERM', stop)
    process.stdout.off('error', stop)
  }
  const stop = () => {
    dispose()
    resolve()
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  process.stdout.on('error', stop)
  await (typeof sooner === 'object' ? Promise.race([promise, sooner]) : promise)
  dispose()
}
