import { buildPage, type BuiltPage } from './page-build.ts'

export type BuiltConsole = BuiltPage

/** Builds the console. */
export function buildConsole(): Promise<BuiltConsole> {
  return buildPage('src/web/console/vite.config.ts')
}
