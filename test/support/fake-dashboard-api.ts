import { sampleAnswers } from './dashboard-samples.ts'
import { startFakeApiServer, type FakeAnswer, type FakeApiServer } from './fake-api-server.ts'
import { createPages } from '../../src/emulator/server.ts'

/** A success. */
export const ok = (data: unknown, status = 200): FakeAnswer => ({ status, body: { success: true, data } })

/** An error as the emulator says it. */
export const failed = (status: number, code: string, message: string): FakeAnswer => ({
  status,
  body: { success: false, error: { code, message } },
})

/**
 * Serves the built page as the emulator does, and in place of the control routes answers that are always the same: for texts
 * and errors that a true emulator does not bring forth. Everybody is signed in from the start.
 */
export async function startFakeApi(folder: string): Promise<FakeApiServer> {
  const samples = { ...sampleAnswers, '/session': { signedIn: true, user: 'demo', demo: null } }
  return startFakeApiServer({
    pages: await createPages(folder),
    prefix: '/_emulator',
    answers: Object.entries(samples).map(([path, data]) => [`GET ${path}`, ok(data)]),
    notFound: (message) => failed(404, 'not_found', message),
  })
}
