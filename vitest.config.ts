import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const isIn = (folder: string) => (file: TestSpecification) => file.moduleId.includes(`/test/${folder}/`);

/**
 * Starts the longest kinds of files first, so that no long one runs alone at the end. Every third one is a fault test: these
 * mostly wait, while those of the console use the processors.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const faults = sorted.filter(isIn('faults'));
    const [console, flows] = [sorted.filter(isIn('console')), sorted.filter(isIn('flows'))];
    const others = sorted.filter((file) => ![faults, console, flows].some((kind) => kind.includes(file)));
    const beside = [...console, ...flows, ...others];
    const mixed = faults.flatMap((fault) => [fault, ...beside.splice(0, 2)]);
    return [...mixed, ...beside];
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
    sequence: { sequencer: LongestFirst },
  },
});
