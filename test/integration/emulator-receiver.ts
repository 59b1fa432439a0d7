import { AppServer, type AppAnswer } from '../support/app-server.ts'

export type TestReceiver = Awaited<ReturnType<typeof createTestReceiver>>

/** Creates the answer to a request from its index. */
export type Answer = (index: number) => AppAnswer | Promise<AppAnswer>

/** Answers with a status and an empty body. */
export function answerStatus(status: number, headers: Readonly<Record<string, string>> = {}): Answer {
  return () => ({ status, headers })
}

/** A receiver of deliveries, which records them. */
export async function createTestReceiver(answer: Answer) {
  const server = await AppServer.start()
  const { requests, port } = server
  server.answer = () => answer(requests.length - 1)
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    requests,
    received: (count: number) => server.received(count),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
