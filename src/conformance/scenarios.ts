import type { Scenario } from './port.ts'
import { acceptance } from './scenarios/acceptance.ts'
import { atOnce } from './scenarios/at-once.ts'
import { burst } from './scenarios/burst.ts'
import { forgery } from './scenarios/forgery.ts'
import { late } from './scenarios/late.ts'
import { methods } from './scenarios/methods.ts'
import { order } from './scenarios/order.ts'
import { outOfOrder } from './scenarios/out-of-order.ts'
import { race } from './scenarios/race.ts'
import { rawBytes } from './scenarios/raw-bytes.ts'
import { repeated } from './scenarios/repeated.ts'
import { restart } from './scenarios/restart.ts'
import { rotation } from './scenarios/rotation.ts'
import { sizes } from './scenarios/sizes.ts'
import { slow } from './scenarios/slow.ts'
import { tampering } from './scenarios/tampering.ts'
import { unknown } from './scenarios/unknown.ts'
import { unusable } from './scenarios/unusable.ts'

/** All scenarios, in the order in which they are gone through: what leaves much work behind comes late. */
export const scenarios: readonly Scenario[] = [
  acceptance,
  rawBytes,
  unknown,
  forgery,
  tampering,
  unusable,
  methods,
  sizes,
  rotation,
  repeated,
  atOnce,
  race,
  order,
  outOfOrder,
  slow,
  restart,
  late,
  burst,
]
