#!/usr/bin/env node
// Plain JavaScript, because node_modules/.bin must run on every Node.js from 20.19: main.ts needs tsx where
// Node.js cannot run TypeScript.
if (!process.features.typescript) {
  const { register } = await import('tsx/esm/api');
  register();
}
await import('./main.ts');
