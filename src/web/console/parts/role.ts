import { createContext, useContext } from 'react'
import type { SessionJson } from '../contract.ts'

export type Role = SessionJson['role']

export const RoleContext = createContext<Role>('viewer')

/** Who is signed in: a viewer is shown no acts, and the server would refuse them. */
export function useRole(): Role {
  return useContext(RoleContext)
}
