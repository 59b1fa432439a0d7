// For generators that need the compiler's old API, which TypeScript 7 has not: `node --import ./.ci/old-typescript.mjs …`.
import { registerHooks } from 'node:module'

registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'typescript' ? 'typescript-5' : specifier, context),
})
