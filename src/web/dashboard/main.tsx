import '../ui/valid-language.ts'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { HashRouter } from '../ui/router.tsx'
import { Theme } from '../ui/theme.tsx'
import { App } from './app.tsx'

const root = document.querySelector('#root')
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <Theme>
        <HashRouter>
          <App />
        </HashRouter>
      </Theme>
    </StrictMode>,
  )
}
