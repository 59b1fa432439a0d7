import { lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { withoutBrackets } from '../base/loopback.ts'

/** What belongs to this machine or its network: nobody outside may have requests sent there. */
const privateNetworks =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.168.0.0/16 198.18.0.0/15 ' +
  '224.0.0.0/3 ::/127 64:ff9b::/96 fc00::/7 fe80::/10 ff00::/8'
const privateAddresses = new BlockList()
for (const network of privateNetworks.split(' ')) {
  const [address = '', bits] = network.split('/')
  privateAddresses.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

function isPrivate(address: string): boolean {
  return privateAddresses.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

/** Whether a URL names an address, not a name, and it is not a public one. */
export function namesPrivateAddress({ hostname }: URL): boolean {
  const host = withoutBrackets(hostname)
  return isIP(host) !== 0 && isPrivate(host)
}

export const notPublic = 'the address is not a public one: who is outside may register public URLs only'

/** Finds the addresses of a name for a connection; fails if one of them is not a public one, whatever the name was before. */
export const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error !== null) return callback(error, [])
    if (found.some(({ address }) => isPrivate(address))) return callback(new Error(notPublic), [])
    const [first] = found
    if (options.all === true || first === undefined) callback(null, found)
    else callback(null, first.address, first.family)
  })
}
