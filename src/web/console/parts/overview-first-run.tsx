import { Anchor } from '@mantine/core'
import type { ReactNode } from 'react'
import { CopyButton } from '../../ui/copy-button.tsx'
import { formatCount } from '../../ui/format.ts'
import { Panel } from '../../ui/page.tsx'
import { useApi } from '../../ui/use-api.ts'
import type { SettingsJson } from '../contract.ts'

/** A command for a terminal, with a button that copies it. */
export function Command({ line }: { readonly line: string }) {
  return (
    <div className="console-command">
      <code className="ui-mono">{line}</code>
      <CopyButton value={line} what="the command" />
    </div>
  )
}

/** What to do where no event has ever come. */
export function FirstRun({ rejects }: { readonly rejects: number }) {
  const settings = useApi<SettingsJson>('/settings').data?.settings ?? []
  const receiver = receiverOf(settings.find(({ name }) => name === 'webhook address')?.value)
  return (
    <Panel
      title="No event has come yet"
      about="Two ways to see the first one; it appears here as soon as it is stored."
    >
      <ol className="console-steps">
        <li>
          Send a test, signed with a secret of yours, {receiver.where}:
          <Command
            line={`onchain-inbox trigger wallet.large_trade --url ${receiver.url} --secret env:WEBHOOK_SECRET`}
          />
        </li>
        <li>
          Register the receiver with the service, with the address that the service can reach:
          <Command line={'onchain-inbox subscribe --url https://inbox.example.com/webhooks --events "*"'} />
        </li>
        <li>
          Something was sent and did not come?{' '}
          {rejects > 0 ? (
            <>
              {formatCount(rejects)} {rejects === 1 ? 'request was' : 'requests were'} refused:{' '}
              <Anchor href="#/rejects" className="console-link">
                see why
              </Anchor>
              .
            </>
          ) : (
            <>
              Nothing was refused either, so no request has reached the receiver.{' '}
              <Anchor href="#/settings" className="console-link">
                Settings
              </Anchor>{' '}
              say where it listens, and this looks for what is in the way:
            </>
          )}
          <Command line="onchain-inbox doctor" />
        </li>
      </ol>
    </Panel>
  )
}

interface Receiver {
  readonly where: ReactNode
  /** As a word for a shell. */
  readonly url: string
}

/** Where a command on the same machine reaches the receiver, by the address that is set; undefined: it is not known. */
function receiverOf(set: string | undefined): Receiver {
  if (set === undefined || !URL.canParse(set))
    return {
      where: (
        <>
          to the address of <code>INBOX_HOST</code>, <code>INBOX_PORT</code> and <code>INBOX_PATH</code>
        </>
      ),
      url: 'http://127.0.0.1:8080/webhooks',
    }
  const url = new URL(set)
  // All addresses of a machine are none that can be called.
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.hostname === '[::]') url.hostname = '[::1]'
  if (url.port !== '0') return { where: 'to the address that is set', url: toWord(url.href) }
  return {
    where: (
      <>
        at the address in the log line <code>listening</code>
      </>
    ),
    url: toWord(url.href.replace(':0/', ':PORT/')),
  }
}

function toWord(text: string): string {
  return /^[\w:/.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
