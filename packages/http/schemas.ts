import { type FailureCode, failures } from '@odograph/contracts/failures';
import Type, { type TSchema } from 'typebox';

/** The answer of every failure; `message`, `field` and `reason` are additions for people and programs. */
export const FailureAnswer = Type.Object(
  {
    error: Type.String({ description: 'the code of the failure' }),
    message: Type.Optional(Type.String()),
    field: Type.Optional(Type.String()),
    reason: Type.Optional(Type.String()),
  },
  { $id: 'Failure' },
);

/** Failures that any route with a token can answer. */
const common: readonly FailureCode[] = [
  'INVALID_PARAMETER',
  'MISSING_TOKEN',
  'INVALID_TOKEN',
  'TOKEN_EXPIRED',
  'TOO_MANY_REQUESTS',
  'INTERNAL_ERROR',
  'OVERLOADED',
];

/** The `response` of a route: its success schema, and each failure it can answer under the status of its code. */
export function answers<Success extends TSchema>(
  success: Success,
  ...codes: FailureCode[]
): { 200: Success } & Record<number, TSchema> {
  const byStatus = new Map<number, FailureCode[]>();
  for (const code of [...common, ...codes]) {
    const status = failures[code][0];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const failed: Record<number, TSchema> = {};
  for (const [status, listed] of byStatus) failed[status] = Type.Ref('Failure', { description: listed.join(', ') });
  return { ...failed, 200: success };
}

/** An answer of success that holds nothing. */
export const EmptyAnswer = Type.Object({});
