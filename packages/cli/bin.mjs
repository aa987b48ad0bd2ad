#!/usr/bin/env node
// Plain JavaScript, because node_modules/.bin must run on every Node.js from 20.19: main.ts goes through tsx where
// Node.js does not run TypeScript by itself.
if (!process.features.typescript) {
  const { register } = await import('tsx/esm/api');
  register();
}
await import('./main.ts');
