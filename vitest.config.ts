import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Starts the longest files first, alternating fault and console tests: fault tests mostly wait, console tests need most of
 * the CPU time. A long file that starts last would leave processors idle.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const [faults, screens] = ['/test/faults/', '/test/console/'].map((folder) =>
      sorted.filter(({ moduleId }) => moduleId.includes(folder)),
    );
    const inTurn = sorted.flatMap((_file, index) => [faults?.[index] ?? [], screens?.[index] ?? []].flat());
    return [...new Set([...inTurn, ...sorted])];
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
    // Tests wait almost half of the time: four workers keep two processors busy.
    maxWorkers: 4,
    expect: { poll: { timeout: 20_000 } },
    // A line that a library writes while a worker ends would fail the run.
    disableConsoleIntercept: true,
    // The files of a worker share its modules: loading them again takes more CPU than most files take to run.
    isolate: false,
    sequence: { sequencer: LongestFirst },
  },
});
