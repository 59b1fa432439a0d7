import { sampleAnswers } from './dashboard-samples.ts'
import { startFakeApiServer, type FakeAnswer, type FakeApiServer } from './fake-api-server.ts'
import { createPages } from '../../src/emulator/server.ts'

/** A success. */
export const ok = (data: unknown, status = 200): FakeAnswer => ({ status, body: { success: true, data } })

/** An error in the emulator's envelope. */
export const failed = (status: number, code: string, message: string): FakeAnswer => ({
  status,
  body: { success: false, error: { code, message } },
})

/**
 * Serves the built dashboard as the emulator does, with constant responses instead of the control API: for texts and errors that
 * an emulator doesn't produce. The session is signed in.
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
