// What the explorer of the world is answered; tokens and wallets as REST gives them.

export type { Timeframe } from '../../../schema/rest/parameters.ts'
export type { ShownWallet as WalletRow } from '../../emulator/control/world.ts'
export type { ShownTokenPage as TokenPage, ShownWalletPage as WalletPage } from '../../emulator/control/world.ts'
export type { ShownToken as TokenRow } from '../../emulator/control/world.ts'
export type { Position, Trade } from '../../emulator/world/port.ts'
