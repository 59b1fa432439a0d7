import { pageBuild } from '../ui/page-build.ts'

/** `vite build` with this makes the static files that the admin port serves at `/`; `--outDir` says where to. */
export default pageBuild(import.meta.dirname, '../../../dist/src/web/console')
