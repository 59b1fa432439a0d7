import { PgBoss } from 'pg-boss'
import { handle, isHandling, serve } from './serve.mjs'

/** Express and pg-boss. */
const boss = new PgBoss(process.env.BENCH_STORE)
boss.on('error', (error) => process.stderr.write(`${error.message}\n`))
await boss.start()
await boss.createQueue('events', { retryLimit: 10, retryBackoff: true })
if (isHandling) {
  const options = { batchSize: 100, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true }
  await boss.work('events', options, async (jobs) => {
    for (const { data } of jobs) handle(data)
  })
}

serve(
  (event) => boss.send('events', event),
  async () => {
    const { rows } = await boss.getDb().executeSql(`SELECT data->>'id' AS id FROM pgboss.job WHERE state < 'completed'`)
    return rows.map(({ id }) => id)
  },
)
