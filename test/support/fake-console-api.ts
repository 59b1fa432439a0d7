import { createConsolePages } from '../../src/admin/server.ts'
import { body, idOf, samples as samplesA } from './console-samples/a.ts'
import { samples as samplesB } from './console-samples/b.ts'
import { samples as samplesC } from './console-samples/c.ts'
import { startFakeApiServer, type FakeAnswer, type FakeApiServer } from './fake-api-server.ts'

/** A success. */
export const ok = (data: unknown): FakeAnswer => ({ status: 200, body: data })

/** An error response in the format of the admin API. */
export const failed = (status: number, code: string, message: string): FakeAnswer => ({
  status,
  body: { error: { code, message } },
})

/** What GET answers at first, by path. */
export const consoleSamples: Readonly<Record<string, unknown>> = { ...samplesA, ...samplesB, ...samplesC }

/**
 * Serves the built console like the admin port, with constant responses instead of the admin API: for texts and errors that a real
 * inbox doesn't produce. The operator is signed in from the start.
 */
export async function startFakeApi(folder: string): Promise<FakeApiServer> {
  const samples = { ...consoleSamples, [`/events/${idOf(7)}/raw`]: Buffer.from(body) }
  return startFakeApiServer({
    pages: await createConsolePages(folder),
    prefix: '/api/v1',
    answers: Object.entries(samples).map(([path, data]) => [`GET ${path}`, ok(data)]),
    notFound: (message) => failed(404, 'not_found', message),
  })
}
