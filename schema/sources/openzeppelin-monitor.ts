import { z } from 'zod'

/** Both texts come from the user's template. https://docs.openzeppelin.com/monitor */
export const openzeppelinMonitor = { '*': z.looseObject({ title: z.string(), body: z.string() }) }
