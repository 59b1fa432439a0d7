import { z } from 'zod'
import { assumed } from '../fields.ts'
import { openEnum } from './fields.ts'

/** All error codes: status, meaning, an example of the message, and assumptions. All of them rest on A53, too. */
export const errorCodes = {
  invalid_request: kind(
    400,
    'A parameter, a header or the body is invalid.',
    'network: expected one of ethereum, bnb, solana, polygon, base, avalanche, arbitrum, received "etherium".',
  ),
  invalid_api_key: kind(
    401,
    'The key is missing, malformed, unknown or revoked.',
    'The API key is unknown. Send one as `Authorization: Bearer <API_KEY>`.',
    'A28',
  ),
  insufficient_scope: kind(
    403,
    'The key lacks the scope that the operation needs.',
    'This needs a key with the scope read:wallets; yours has write:alerts.',
    'A28',
  ),
  not_found: kind(404, 'There is no such path or resource.', 'Nothing has this path or identifier. Check both.', 'A3'),
  wallet_not_found: kind(
    404,
    'The address is well-formed, but no such wallet was ever seen.',
    'No wallet with this address has been seen on ethereum.',
    'A11',
  ),
  method_not_allowed: kind(
    405,
    'The path exists, but not with this method.',
    'PUT is not allowed here. Use GET.',
    'A3',
  ),
  limit_reached: kind(
    409,
    'The account is at its limit.',
    'The account has reached the limit of 100 alerts. Delete one first.',
    'A26',
  ),
  payload_too_large: kind(413, 'The body is too large.', 'The body is longer than 65536 bytes.', 'A3'),
  unsupported_media_type: kind(
    415,
    'The body is not `application/json`.',
    'Expected the body as application/json, received text/plain.',
    'A3',
  ),
  rate_limited: kind(
    429,
    'The requests of this minute are used up.',
    'The 60 requests of this minute are used up. Try again in 12 seconds.',
    'A54',
  ),
  internal: kind(
    500,
    'The service failed.',
    'The service failed. Try again. If it fails again, report the request_id.',
  ),
  not_documented: kind(
    501,
    'The operation exists, but is not documented.',
    'This operation is not documented, so it is not emulated.',
    'A2',
  ),
  network_unavailable: kind(
    503,
    'The network is in maintenance.',
    'ethereum is in maintenance. Try again in 30 seconds.',
    'A18',
  ),
}
export type ErrorCode = keyof typeof errorCodes

function kind(status: number, meaning: string, example: string, ...assumptions: readonly string[]) {
  return { status, meaning, example, assumptions }
}

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
