/** Clocks that are kept right differ by less. */
const mostOffMs = 2_000

/**
 * Warns where the clock of this machine differs from the database's: what is due would be so early or late. Gives what is to be called with
 * the time that the database answered with, and the times of this machine when it was asked and had the answer: milliseconds since 1970.
 */
export function createClockWarning(onWarning: (text: string) => void) {
  let isTold = false
  return (databaseNow: number, { from, to }: { readonly from: number; readonly to: number }): void => {
    const offMs = databaseNow < from ? from - databaseNow : Math.max(0, databaseNow - to)
    if (offMs > mostOffMs && !isTold) {
      const which = databaseNow < from ? 'ahead of' : 'behind'
      onWarning(
        `the clock of this machine is ${(offMs / 1_000).toFixed(1)} s ${which} that of the database: retries come early or late, and runs of ` +
          'what it accepts may wait. Have all machines keep the time (NTP)',
      )
    }
    isTold = offMs > mostOffMs / 2 && (isTold || offMs > mostOffMs)
  }
}
