/** A view looks at so many rows in one call at the most, and takes about so long: then the others have their turn. */
const mostLookedAt = 20_000
const mostMs = 50
const rowsPerLook = 256

/**
 * To be asked after each row that was looked at: whether that was enough for one call. The clock is looked at now and then, so
 * what is small is never cut short, however slow the machine is. `rowsPerLook`: fewer where rows are large.
 */
export function createBudget(options: { readonly rows?: number; readonly rowsPerLook?: number } = {}): () => boolean {
  const { rows = mostLookedAt, rowsPerLook: every = rowsPerLook } = options
  const until = performance.now() + mostMs
  let seen = 0
  return () => {
    seen += 1
    return seen >= rows || (seen % every === 0 && performance.now() >= until)
  }
}
