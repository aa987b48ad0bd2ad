import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Starts the fault tests first: they mostly wait, and a long one that starts last would leave processors idle. */
class FaultsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isFault = ({ moduleId }: TestSpecification): boolean => moduleId.includes('/test/faults/');
    return [...sorted.filter(isFault), ...sorted.filter((file) => !isFault(file))];
  }
}

export default defineConfig({
  test: {
    include: ['packages/**/*.test.ts', 'apps/**/*.test.ts', 'services/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['packages/testkit/global-setup.ts', 'scripts/build/build.ts'],
    // Platforms of many tests run at once, and only those of the gateway's tests need this port.
    env: { TELTONIKA_PORT: '0' },
    testTimeout: 120_000,
    hookTimeout: 180_000,
    // Tests wait a third of their time: a third worker keeps two processors busy.
    maxWorkers: 3,
    expect: { poll: { timeout: 20_000 } },
    // A line that a library writes while a worker ends would fail the run.
    disableConsoleIntercept: true,
    // The files of a worker share its modules: loading them again takes more CPU than most files take to run.
    isolate: false,
    sequence: { sequencer: FaultsFirst },
  },
});
