import { SignIn as Fields } from '../ui/sign-in.tsx'

/** `hasEnded`: true after a session has expired or was ended elsewhere. */
export function SignIn({ hasEnded }: { readonly hasEnded: boolean }) {
  return (
    <Fields
      name="onchain-inbox"
      site="Inbox"
      note={hasEnded && <p role="status">Your session has ended. Sign in again.</p>}
      fields={[
        {
          name: 'token',
          label: 'Token',
          description: (
            <>
              <code>INBOX_ADMIN_TOKEN</code>, or the content of <code>&lt;database&gt;.admin-token</code>. A viewer’s
              token shows everything and changes nothing.
            </>
          ),
          autoComplete: 'current-password',
          isSecret: true,
        },
      ]}
      toBody={(value) => ({ token: value('token').trim() })}
    />
  )
}
