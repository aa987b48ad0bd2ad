import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/**/*.test.ts', 'services/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['packages/testkit/global-setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 180_000,
    maxWorkers: 2,
    // Deadlines of real parts can be missed once on a busy machine; what is wrong fails twice.
    retry: 1,
  },
});
