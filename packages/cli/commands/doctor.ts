import { command } from '../command.ts';
import type { Check } from '../doctor/check.ts';

const lineOf = ({ check, result, detail, remedy }: Check): string =>
  `${result.toUpperCase().padEnd(8)}${check.padEnd(32)}${detail}${remedy ? `; ${remedy}` : ''}\n`;

/** Diagnosis of a deployment. */
export const doctorCommands = [
  command({
    name: 'doctor',
    summary:
      'check engines, settings, clocks, disks, queues, database roles and certificates; exits with 1 when one has a fault',
    examples: ['doctor', `doctor --json | jq '.[] | select(.result != "ok")'`],
    async run({ config, localUrl }) {
      // The drivers of the engines take as long to load as all the rest.
      const { diagnose } = await import('../doctor/diagnose.ts');
      const checks = await diagnose(config, config.ODOGRAPH_URL ?? localUrl);
      if (checks.some(({ result }) => result === 'fault')) process.exitCode = 1;
      return checks;
    },
    format: (checks) => (checks as Check[]).map(lineOf).join(''),
  }),
];
