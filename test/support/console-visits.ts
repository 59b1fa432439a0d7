import { createConsolePages } from '../../src/admin/server.ts'
import { tokens } from '../integration/admin-server.ts'
import { startFilledAdmin } from './filled-admin.ts'
import { setUpVisits } from './visits.ts'

/** An error response of the admin API. */
export const failed = (status: number, code: string, message: string) => ({
  status,
  json: { error: { code, message } },
})

/** One page for the tests of a file; for each test a filled inbox, whose admin API serves the built console. */
export function setUpConsole() {
  const visits = setUpVisits('console', '/api/v1', async (folder) =>
    startFilledAdmin({ pages: await createConsolePages(folder) }),
  )
  const visit = visits.visit.bind(visits)
  return Object.assign(visits, {
    /** Loads the console at a path. `role` null: not signed in. */
    async visit(path: string, role: keyof typeof tokens | null = 'operator') {
      if (role !== null) {
        const [name = '', value = ''] = (await visits.stage.signIn(tokens[role])).Cookie.split('=')
        await visits.page.context().addCookies([{ name, value, url: visits.stage.url }])
      }
      return visit(path)
    },
  })
}
