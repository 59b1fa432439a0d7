import { pageBuild } from '../ui/page-build.ts'

/** `vite build` with this makes the static files that the emulator serves at `/`; `--outDir` says where to. */
export default pageBuild(import.meta.dirname, '../../../dist/src/web/dashboard')
