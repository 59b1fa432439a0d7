/** What can be an admin token. It travels in a header, so it is visible ASCII only. */
export const adminTokenPattern = /^[\x21-\x7e]{16,}$/
