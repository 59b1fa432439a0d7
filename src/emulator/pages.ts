import { builtFolder, createPages as createPagesOf, type Pages } from '../base/http/page-files.ts'

const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>onchain-inbox emulator</title>
<h1>The dashboard was not built</h1>
<p>The emulator runs, and serves <code>/v1</code> and <code>/_emulator</code>. For the dashboard run
<code>npm run build</code>, then start the emulator anew.</p>
</html>
`

/** Where the build puts the dashboard, seen from a source as from a built file. */
export function builtDashboard(): string {
  return builtFolder('dashboard')
}

/** The dashboard as static files of a folder; where that is not there, `/` says how to build it. Rejects if it cannot be read. */
export function createPages(folder: string): Promise<Pages> {
  return createPagesOf(folder, notBuilt)
}
