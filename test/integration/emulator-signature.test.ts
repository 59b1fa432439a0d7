import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { has } from '../support/tools.ts'
import { createDeliveryStage, outgoing, stageEndpoint } from './emulator-delivery-stage.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'

/** What a tool makes of a body on its standard input. */
function digestBy(command: string, args: readonly string[], body: Buffer): string | undefined {
  const { status, stdout } = spawnSync(command, args, { input: body })
  expect(status).toBe(0)
  return /[0-9a-f]{64}/.exec(stdout.toString())?.[0]
}

const secret = 'whsec_é and "quotes"'
const python = `import hashlib, hmac, sys
print(hmac.new(sys.argv[1].encode(), sys.stdin.buffer.read(), hashlib.sha256).hexdigest())`
const tools = [
  ['openssl', ['dgst', '-sha256', '-hmac', secret]],
  ['python3', ['-c', python, secret]],
] as const

describe.each(tools)('%s', (tool, args) => {
  test.skipIf(!has(tool))(
    `R71 R72 what is sent verifies with it, over the bytes as they came (needs ${tool})`,
    async () => {
      await using receiver = await createTestReceiver(answerStatus(200))
      const { deliveries, send } = createDeliveryStage([stageEndpoint(receiver.url, { secret })])
      send(outgoing())
      await deliveries.settled()
      const [request] = receiver.requests
      const digest = digestBy(tool, args, request!.body)
      expect(digest).toBeDefined()
      expect(request!.headers['x-service-signature']).toBe(digest)
      expect(digestBy(tool, args, Buffer.from(JSON.stringify(JSON.parse(request!.body.toString()))))).not.toBe(digest)
    },
  )
})
