import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { startPostgres, type TestPostgres } from './support/postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Answers with the URL of a database on the server that test files share. */
    readonly sharedPostgres: string
  }
}

/** One PostgreSQL server for a whole run, started when the first test file asks for it. */
export default async function setUp({ provide }: TestProject): Promise<() => Promise<void>> {
  let server: Promise<TestPostgres> | undefined
  let url: Promise<string> | undefined
  const gate = createServer((_, response) => {
    url ??= (server = startPostgres()).then((postgres) => postgres.createDatabase('shared'))
    url.then(
      (text) => response.end(text),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  gate.listen(0, '127.0.0.1')
  await once(gate, 'listening')
  provide('sharedPostgres', `http://127.0.0.1:${(gate.address() as AddressInfo).port}`)
  return async () => {
    gate.close()
    const postgres = await server?.catch(() => undefined)
    await postgres?.[Symbol.asyncDispose]()
  }
}
