import { commandStates, deviceActions } from '@odograph/contracts/commands';
import { type FailureCode, failures } from '@odograph/contracts/failures';
import { storableUnicodePattern } from '@odograph/contracts/text-patterns';
import type { Timestamp } from '@odograph/contracts/timestamps';
import Type, { type TObject, type TProperties, type TSchema } from 'typebox';
import type { JsonSchema } from './openapi-schema.ts';

const pascalCase = (code: string) =>
  code.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, letter) => letter.toUpperCase());
const maxNamedCodes = 3;

/** The schema of an answer with one of these failures. `message` and what follows it are additions to the interface. */
export function failureSchema(codes: readonly FailureCode[]): JsonSchema {
  const title = codes.map(pascalCase).join('Or');
  return {
    ...(codes.length <= maxNamedCodes && { title }),
    type: 'object',
    required: ['error', 'message'],
    properties: {
      error: { type: 'string', enum: codes, description: 'the code of the failure' },
      message: { type: 'string', description: 'for people', examples: ['a parameter is missing or malformed'] },
      field: { type: 'string', description: 'the parameter at fault', examples: ['vehicleId'] },
      reason: { type: 'string', description: 'which of several causes it was', examples: ['NO_DEVICE'] },
      oldest: { type: 'string', description: 'of the reason EXPIRED: the oldest position or time that is kept' },
    },
  };
}

/**
 * The `response` of a route: its success schema, and each failure that depends on the resource under the status of its code.
 * OpenAPI adds the failures that every route has.
 */
export function answers<Success extends TSchema>(
  success: Success,
  ...codes: FailureCode[]
): { 200: Success } & Record<number, TSchema> {
  const statuses = new Set(codes.map((code) => failures[code][0]));
  const ofStatus = (status: number) => failureSchema(codes.filter((code) => failures[code][0] === status));
  return { ...Object.fromEntries([...statuses].map((status) => [status, ofStatus(status)])), 200: success };
}

/** A successful answer without content. */
export const EmptyAnswer = Type.Object({}, { title: 'Done' });

/** The headers of a list in pages; see sendPage. */
export const pageHeaders = {
  'X-Has-More': { type: 'string', enum: ['true', 'false'], description: 'whether more follows' },
  Link: { type: 'string', description: 'the exact continuation, as `<path>; rel="next"`; absent after the last page' },
} satisfies Record<string, JsonSchema>;

interface TextOptions {
  readonly description?: string;
  readonly examples?: string[];
  /** A secret: never answered, and not accepted in a query by OpenAPI. */
  readonly writeOnly?: boolean;
}

/** Text that PostgreSQL can store: neither NUL nor an unpaired surrogate. */
export function text(minLength: number, maxLength: number, options: TextOptions = {}) {
  return Type.String({
    ...{ minLength, maxLength, pattern: storableUnicodePattern, ...options },
    // JSON in UTF-8 has no unpaired surrogates, and not every engine of regular expressions knows them.
    documentedAs: { pattern: '^[^\\u0000]*$' },
  });
}

/** A password: never stored as it is, so any character is allowed. */
export const Password = Type.String({ minLength: 1, maxLength: 1024, writeOnly: true, examples: ['correct horse'] });

/** One of a few words. */
export function word<const Words extends readonly string[]>(words: Words, options: { description?: string } = {}) {
  return Type.Unsafe<Words[number]>({ type: 'string', enum: [...words], ...options });
}

/**
 * One of a few words, where other text has a failure code of its own: the validator accepts any text, OpenAPI shows the words.
 */
export function checkedWord(words: readonly string[], options: { description?: string } = {}) {
  return Type.String({ maxLength: 64, ...options, documentedAs: { enum: [...words] } });
}

/** An object whose missing members have failure codes of their own: optional to the validator, required in OpenAPI. */
export function checkedObject<Properties extends TProperties>(
  properties: Properties,
  required: readonly (keyof Properties & string)[],
): TObject<Properties> {
  return Type.Object(properties, { documentedAs: { required } });
}

/** Every time zone included, the moments of these years can be stored. */
const yearsPattern = '^(197[1-9]|19[89][0-9]|[2-8][0-9]{3}|9[0-8][0-9]{2})-';
const latestMilliseconds = 99_999_999_999_999;

/**
 * A timestamp of a request. The validator accepts any text, because malformed timestamps have failure codes of their own;
 * see parseTimestamp.
 */
export function timestamp(description: string) {
  return Type.Unsafe<Timestamp>({
    anyOf: [{ type: 'string', maxLength: 64 }, { type: 'number' }],
    description: `${description} (ISO 8601, UNIX seconds, or milliseconds from 1e11 on)`,
    documentedAs: {
      anyOf: [
        { type: 'string', format: 'date-time', pattern: yearsPattern, examples: ['2026-03-02T08:30:00Z'] },
        { type: 'number', minimum: 0, maximum: latestMilliseconds },
      ],
    },
  });
}

/** A moment of an answer, ISO 8601 UTC. */
export function moment(description: string) {
  return Type.String({ format: 'date-time', description, examples: ['2026-03-02T08:30:00.000Z'] });
}

/** A moment of an answer that may be unknown or open-ended, and is an empty string then. */
export function momentOrEmpty(description: string) {
  const date = { type: 'string', format: 'date-time', examples: ['2026-03-02T08:30:00.000Z'] };
  return Type.Unsafe<string>({ anyOf: [date, { type: 'string', enum: [''] }], description });
}

const vehicleId = { description: 'vehicle identifier', examples: ['1000000001'] };
export const DeviceId = text(1, 256, { description: 'device identifier', examples: ['unit-0001'] });
export const VehicleId = Type.String({ minLength: 1, maxLength: 256, ...vehicleId });

/** Filters a list by group; a group that the caller cannot see matches no vehicles. */
export const GroupFilter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 256,
    description: 'only vehicles of this group and its subgroups',
    examples: ['0197a1de-5f0e-7000-8000-000000000007'],
  }),
);

const flagPattern = '^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|1|0)$';

/** A Boolean of a request: as JSON, or as `true`, `false`, `1` or `0` in any case. Null and empty values are refused. */
export const Flag = Type.Unsafe<boolean | number | string>({
  anyOf: [{ enum: [true, false, 1, 0] }, { type: 'string', pattern: flagPattern }],
  description: 'true or false',
  examples: [true],
  // Generators need one type for each alternative.
  documentedAs: {
    anyOf: [{ type: 'boolean' }, { type: 'integer', enum: [0, 1] }, { type: 'string', pattern: flagPattern }],
  },
});

/** Tests whether text is a Boolean of a query. */
export function isFlag(text: string): boolean {
  return new RegExp(flagPattern).test(text);
}

/** Whether a change was made. */
export const Succeeded = Type.Boolean({ examples: [true] });

/** The value of a Flag. */
export function isTrue(flag: boolean | number | string): boolean {
  return ['true', '1'].includes(String(flag).toLowerCase());
}

/** An application, by the id that operators know. */
export const AppId = text(1, 256, { description: 'application', examples: ['app-7f3a'] });

/** Maximum rows of a page; `after`, the last id of a page, asks for the next one. */
export const pageLimit = Type.Integer({ minimum: 1, maximum: 10_000, default: 1000, description: 'rows to return' });

/** A command as lists and live streams show it. */
export const commandFields = {
  id: Type.String({ description: 'command identifier', examples: ['0197a1de-5f0e-7000-8000-000000000003'] }),
  action: word(deviceActions),
  state: word(commandStates),
  createdAt: moment('when it was requested'),
  expiresAt: moment('from when on the device must not execute it'),
  sentAt: Type.Optional(moment('when it was sent')),
  endedAt: Type.Optional(moment('when its outcome was known')),
  reason: Type.Optional(
    Type.String({ description: 'the cause when it was not acknowledged', examples: ['DEVICE_OFFLINE'] }),
  ),
  message: Type.Optional(
    Type.String({ description: 'the message of a device that refused', examples: ['the ignition is on'] }),
  ),
  status: Type.Optional(Type.String({ description: 'the status that the device reported', examples: ['CLOSED'] })),
};
