import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTempDir } from '../support/temp-dir.ts'
import { send, startDashboard } from './emulator-dashboard-stage.ts'

test('the dashboard is served at / to whoever asks, and everything else is as it was', async () => {
  await using dir = await createTempDir()
  await mkdir(join(dir.path, 'assets'))
  await writeFile(join(dir.path, 'index.html'), '<!doctype html><title>the page</title>')
  await writeFile(join(dir.path, 'assets/index-1.js'), '1')
  const options = { listen: { host: '127.0.0.1', port: 0, dashboard: dir.path } }
  await using stage = await startDashboard({}, options)
  const get = (path: string, headers = {}) => send(`${stage.url}${path}`, 'GET', headers)

  const page = await get('/', { Accept: 'text/html' })
  expect([page.status, page.text]).toEqual([200, '<!doctype html><title>the page</title>'])
  expect(page.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'")
  expect((await get('/assets/index-1.js')).status).toBe(200)
  expect(await send(`${stage.url}/`, 'HEAD')).toMatchObject({ status: 200, text: '' })

  for (const path of ['/deliveries', '/assets/other.js', '/v1', '/_emulators']) {
    const { status, json } = await get(path, { Accept: 'text/html' })
    expect([path, status, json.error.code]).toEqual([path, 404, 'not_found'])
  }
  const posted = await send(`${stage.url}/`, 'POST', {}, {})
  expect([posted.status, posted.json.success]).toEqual([404, false])
  expect((await get('/v1/networks')).status).toBe(401)
  expect((await get('/_emulator')).status).toBe(401)
})
