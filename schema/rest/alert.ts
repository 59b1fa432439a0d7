import { z } from 'zod'
import { assumed } from '../fields.ts'
import { exampleIds, exampleTime } from './examples.ts'
import { aboutOtherMembers, address, network, openEnum, resource, text, timestamp } from './fields.ts'
import { endpointUrl } from './url.ts'

/** Types of alerts (R32). */
export const alertTypes = ['price_above', 'price_below', 'volume_spike', 'whale_buy', 'whale_sell'] as const
export type AlertType = (typeof alertTypes)[number]

const fields = {
  type: z.enum(alertTypes).describe('Condition that triggers the alert.'),
  address: assumed(address, 'A15', 'A70').describe(
    'Watched token contract or wallet. Alerts on a price or a volume are silent until a token is listed at the address.',
  ),
  network,
  threshold: assumed(z.number('expected a number').positive('expected a number above 0'), 'A14', 'A15', 'A64').describe(
    'Trigger value: USD for price_above and price_below; percentage increase of the last hour for volume_spike; size of ' +
      'a trade in USD for whale_buy and whale_sell.',
  ),
  webhook_url: endpointUrl.describe('URL that gets a POST when the alert triggers: https, or http to this machine.'),
  label: assumed(text('a label', 0, 100), 'A64')
    .optional()
    .describe('Label for people.'),
}

const example = {
  type: 'price_above',
  address: exampleIds.token,
  network: 'ethereum',
  threshold: 1.2,
  webhook_url: 'https://hooks.example.com/alerts',
  label: 'EXMPL above 1.20',
}

/** Body of POST /alerts (R57). */
export const newAlert = resource(`An alert to create. ${aboutOtherMembers}`, fields, example)

/** An alert: the nine fields of R30. */
export const alert = resource(
  'An alert.',
  {
    alert_id: z
      .string()
      .regex(/^alrt_.+/)
      .describe('Opaque identifier, the handle for managing the alert.'),
    ...fields,
    label: fields.label.unwrap().nullable().describe('Label for people; null if none was given.'),
    status: assumed(openEnum('active', 'triggered'), 'A17').describe('`active` on creation; more may come.'),
    created_at: timestamp.describe('When the alert was created, UTC.'),
  },
  { alert_id: exampleIds.alert, ...example, status: 'active', created_at: exampleTime },
)

/** `data` of DELETE /alerts/{alert_id} (A22). */
export const deletedAlert = resource(
  'A deleted alert.',
  { alert_id: z.string().describe('Its identifier.'), deleted: z.literal(true) },
  { alert_id: exampleIds.alert, deleted: true },
  'A22',
)
