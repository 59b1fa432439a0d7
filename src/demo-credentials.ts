/** Published with the program, so of no protection: the demo uses them, `loadConfig` refuses them everywhere else. */
export const demoCredentials = {
  secret: 'demo-secret-do-not-use-0001',
  adminToken: 'demo-admin-token-do-not-use',
} as const
