// For generators that need the compiler API removed in TypeScript 7: `node --import ./.ci/old-typescript.mjs …`.
import { registerHooks } from 'node:module'

registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'typescript' ? 'typescript-5' : specifier, context),
})
