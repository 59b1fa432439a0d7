import { Link } from 'wouter'
import { useGet } from '../../ui/api.tsx'
import { formatCount } from '../../ui/format.ts'
import { Panel } from '../../ui/shell.tsx'
import { Copy } from '../../ui/values.tsx'
import type { SettingsJson } from '../../../admin/health.ts'

/** A command for a terminal, with a copy button. */
function Command({ line }: { readonly line: string }) {
  return (
    <div className="ui-block ui-id">
      <code>{line}</code>
      <Copy value={line} label="command" />
    </div>
  )
}

/** How to get the first event. */
export function FirstRun({ rejects }: { readonly rejects: number }) {
  const url = receiverUrl(useGet<SettingsJson>('/settings').data?.settings)
  return (
    <Panel title="No events yet" note="the first one appears here at once">
      <p>Send a test event, signed with your secret:</p>
      <Command line={`onchain-inbox trigger wallet.large_trade --url ${url} --secret env:WEBHOOK_SECRET`} />
      <p>Register a public address with the sender:</p>
      <Command
        line={
          'onchain-inbox webhooks create --url https://inbox.example.com/webhooks --events "*" --secret env:WEBHOOK_SECRET'
        }
      />
      <p>
        Nothing arrives?{' '}
        {rejects > 0 ? (
          <Link href="/deliveries/rejected">See {formatCount(rejects)} rejected requests</Link>
        ) : (
          'No request has reached the receiver.'
        )}{' '}
        Check settings and network:
      </p>
      <Command line="onchain-inbox doctor" />
    </Panel>
  )
}

/** Address to call, by an address that listens everywhere. */
const callable: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** The receiver's address as a word for a shell. With port 0, only the log has the real port. */
function receiverUrl(settings: SettingsJson['settings'] | undefined): string {
  if (settings === undefined) return 'http://127.0.0.1:8080/webhooks'
  const rows = new Map(settings.map((row) => [row.name, row]))
  const valueOf = (name: string) => rows.get(name)?.value ?? ''
  const scheme = rows.get('INBOX_TLS_CERT_FILE')?.origin === 'default' ? 'http' : 'https'
  const host = callable[valueOf('INBOX_HOST')] ?? valueOf('INBOX_HOST')
  const place = `${valueOf('INBOX_PORT').replace(/^0$/, 'PORT')}${valueOf('INBOX_PATH')}`
  return host.includes(':') ? `'${scheme}://[${host}]:${place}'` : `${scheme}://${host}:${place}`
}
