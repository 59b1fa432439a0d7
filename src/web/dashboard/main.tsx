import '../ui/valid-language.ts'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { UiProvider } from '../ui/ui-provider.tsx'
import { App } from './app.tsx'

const root = document.querySelector('#root')
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <UiProvider>
        <App />
      </UiProvider>
    </StrictMode>,
  )
}
