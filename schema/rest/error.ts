import { z } from 'zod'
import { assumed } from '../fields.ts'
import { openEnum } from './fields.ts'

/** All error codes with their status (A53) and their assumptions. */
export const errorCodes = {
  invalid_request: {
    status: 400,
    meaning: 'A parameter, a header or the body is invalid.',
    assumptions: ['A53'],
  },
  invalid_api_key: {
    status: 401,
    meaning: 'The key is missing, malformed, unknown or revoked.',
    assumptions: ['A28', 'A53'],
  },
  insufficient_scope: {
    status: 403,
    meaning: 'The key lacks the scope that the operation needs.',
    assumptions: ['A28', 'A53'],
  },
  not_found: { status: 404, meaning: 'There is no such path or resource.', assumptions: ['A3', 'A53'] },
  wallet_not_found: {
    status: 404,
    meaning: 'The address is well-formed, but no such wallet was ever seen.',
    assumptions: ['A11', 'A53'],
  },
  method_not_allowed: {
    status: 405,
    meaning: 'The path exists, but not with this method.',
    assumptions: ['A3', 'A53'],
  },
  limit_reached: {
    status: 409,
    meaning: 'The account is at its limit.',
    assumptions: ['A26', 'A53'],
  },
  payload_too_large: {
    status: 413,
    meaning: 'The body is too large.',
    assumptions: ['A3', 'A53'],
  },
  unsupported_media_type: {
    status: 415,
    meaning: 'The body is not `application/json`.',
    assumptions: ['A3', 'A53'],
  },
  rate_limited: { status: 429, meaning: 'The requests of this minute are used up.', assumptions: ['A53', 'A54'] },
  internal: { status: 500, meaning: 'The service failed.', assumptions: ['A53'] },
  not_documented: {
    status: 501,
    meaning: 'The operation exists, but is not documented.',
    assumptions: ['A2', 'A53'],
  },
  network_unavailable: {
    status: 503,
    meaning: 'The network is in maintenance.',
    assumptions: ['A18', 'A53'],
  },
} as const
export type ErrorCode = keyof typeof errorCodes

/** `error` of a failure (R10, R106). The service documents no field of it (A53). */
export const errorObject = assumed(
  z
    .object({
      code: openEnum(...Object.keys(errorCodes)).describe(
        'Stable code for programs; more codes may come. Switch on the status instead.',
      ),
      message: z.string().min(1).describe('Explanation for people: the expectation, and what to do.'),
      details: z
        .array(
          z.object({
            path: z.string().describe('Name of a parameter, or path of a member of the body.'),
            message: z.string().describe('The expectation.'),
          }),
        )
        .optional()
        .describe('The problem at each place.'),
      request_id: z.string().min(1).describe('Identifier of the request, also in the header X-Request-Id.'),
    })
    .describe('Reason of a failure.'),
  'A53',
)
