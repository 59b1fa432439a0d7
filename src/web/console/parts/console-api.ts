import { createContext, useContext } from 'react'
import type { ConsoleApi } from '../api-client.ts'

export const ConsoleApiContext = createContext<ConsoleApi | null>(null)

/** The API of the console, for what is no JSON; throws outside of its context. */
export function useConsoleApi(): ConsoleApi {
  const api = useContext(ConsoleApiContext)
  if (api === null) throw new Error('expected a ConsoleApiContext around the pages of the console')
  return api
}
