/** How a delivery is called. */
export function deliveryIdOf(seq: number): string {
  return `dlv_${String(seq).padStart(12, '0')}`
}

/** Undefined for what is no id of a delivery. */
export function seqOf(deliveryId: string): number | undefined {
  const [, digits] = /^dlv_(\d{12,15})$/.exec(deliveryId) ?? []
  return digits === undefined ? undefined : Number(digits)
}
