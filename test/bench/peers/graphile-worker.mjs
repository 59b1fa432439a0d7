import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { handle, isHandling, serve } from './serve.mjs'

/** Express and Graphile Worker. By default it logs a line per event. */
const options = {
  connectionString: process.env.BENCH_STORE,
  maxPoolSize: 20,
  logger: new Logger(() => () => {}),
}
const utils = await makeWorkerUtils(options)
await utils.migrate()
if (isHandling) await run({ ...options, concurrency: 10, noHandleSignals: true, taskList: { event: handle } })

serve(
  (event) => utils.addJob('event', event, { jobKey: event.id, maxAttempts: 10 }),
  async () => {
    const ids = `SELECT payload->>'id' AS id FROM graphile_worker._private_jobs`
    const { rows } = await utils.withPgClient((client) => client.query(ids))
    return rows.map(({ id }) => id)
  },
)
