export { createTestClock, type TestClock } from '../../base/clock.ts'
export { createEvent, type EventOverrides } from './create-event.ts'
export { createSignedRequest, type SignedRequestOfSource } from './source-request.ts'
export { signedRequest, type SignedRequest, type SignedRequestOptions } from './test-inbox.ts'
export {
  createTestInbox,
  type DeliveryAnswer,
  type TestInbox,
  type TestInboxOptions,
  type TestRun,
} from './test-inbox.ts'
