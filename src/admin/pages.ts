import { builtFolder, createPages, type Pages } from '../base/http/page-files.ts'

const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>onchain-inbox</title>
<h1>The console was not built</h1>
<p>The receiver runs, and so do its admin API below <code>/api/v1</code> and <code>/metrics</code>. For the console run
<code>npm run build</code>, then start the receiver anew.</p>
</html>
`

/**
 * The console as static files of a folder; by default of the one where the build puts it. There is no data in them, so they need
 * no credential. Where the folder is not there, `/` says how to build it. Rejects if it cannot be read.
 */
export function createConsolePages(folder: string = builtFolder('console')): Promise<Pages> {
  return createPages(folder, notBuilt)
}
