/** Somebody who has the console open: what its pages ask for, as often as they do, and the live stream. */
export interface Visitor {
  /** Resolves when nothing of it is under way any more. */
  leave(): Promise<void>
}

/** What is asked for again and again, and how often: the page of events is the busiest, and stands for all that are open. */
const polls = [
  { path: '/events?limit=200', everyMs: 5_000 },
  { path: '/activity?window=hour', everyMs: 5_000 },
  { path: '/handlers', everyMs: 10_000 },
] as const

/** Visits the console of a product, by its API. */
export function visitConsole(api: string, token: string): Visitor {
  const ending = new AbortController()
  const { signal } = ending
  const headers = { authorization: `Bearer ${token}` }
  const open = (path: string) => fetch(`${api}${path}`, { headers, signal })

  async function listen(): Promise<void> {
    const { body } = await open('/stream?kinds=events,overview,changed')
    for await (const _part of body ?? []);
  }

  async function poll({ path, everyMs }: (typeof polls)[number]): Promise<void> {
    while (!signal.aborted) {
      await (await open(path)).arrayBuffer()
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, everyMs)
        signal.addEventListener('abort', () => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }

  const underWay = [listen(), ...polls.map(poll)].map((part) =>
    part.catch((error: unknown) => {
      if (!signal.aborted) throw error
    }),
  )
  return {
    async leave() {
      ending.abort()
      await Promise.all(underWay)
    },
  }
}
