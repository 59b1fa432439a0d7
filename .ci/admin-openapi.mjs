// Writes schema/admin-openapi.json, the admin API as the program itself describes it; with --check it only reports that it is not as
// it would write it.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { toAdminOpenApi } from '../src/admin/openapi.ts'
import { describedRoutes } from '../src/admin/routes.ts'

const file = fileURLToPath(new URL('../schema/admin-openapi.json', import.meta.url))
const text = `${JSON.stringify(toAdminOpenApi(describedRoutes), null, 2)}\n`

if (!process.argv.includes('--check')) writeFileSync(file, text)
else if (read() !== text) {
  console.error('stale: schema/admin-openapi.json does not match src/admin/: run `npm run generate`.')
  process.exitCode = 1
}

function read() {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return null
    throw error
  }
}
