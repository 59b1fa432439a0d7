import type { SenderMeter } from '../port.ts'

/** How many deliveries were signed with one of our secrets for certain: what was refused with 503 may not have been looked at. */
export const authenticIn = ({ acknowledged, late, unusable }: SenderMeter): number => acknowledged + late + unusable
