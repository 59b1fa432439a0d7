import { buildPage, type BuiltPage } from './page-build.ts'

export type BuiltDashboard = BuiltPage

/** Builds the emulator's dashboard. */
export function buildDashboard(): Promise<BuiltDashboard> {
  return buildPage('src/web/dashboard/vite.config.ts')
}
