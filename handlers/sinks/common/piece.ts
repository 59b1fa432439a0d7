/** A piece of a message, before it is written the way a service wants it. */
export interface Piece {
  readonly text: string
  /** Where it leads, for a link. */
  readonly url?: string
  /** Of outside origin: it is to become no link and to call nobody. */
  readonly isForeign?: boolean
}

export const own = (text: string): Piece => ({ text })
export const foreign = (text: string): Piece => ({ text, isForeign: true })

/** `a · b · c`, of pieces. */
export function joined(groups: readonly (readonly Piece[])[]): Piece[] {
  return groups
    .filter((group) => group.length > 0)
    .flatMap((group, index) => (index === 0 ? group : [own(' · '), ...group]))
}
