import { createContext, useContext } from 'react'
import type { SessionJson } from '../../admin/session.ts'

export const RoleContext = createContext<SessionJson['role']>('viewer')

/** True for operators. Viewers see no buttons that change something; the server would reject them. */
export function useIsOperator(): boolean {
  return useContext(RoleContext) === 'operator'
}
