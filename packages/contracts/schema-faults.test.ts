import Type, { type TSchema } from 'typebox';
import Value from 'typebox/value';
import { expect, it } from 'vitest';
import { describeSchemaFaults, listSchemaFaults } from './schema-faults.ts';
import { listPattern, platePattern } from './text-patterns.ts';
import { deviceIdPattern } from './topics.ts';

const text = (options: Type.TStringOptions) => Type.String(options);

it.each<[string, TSchema, unknown]>([
  ['must not be empty', text({ minLength: 1 }), ''],
  ['must have at least 8 characters', text({ minLength: 8 }), 'x'],
  ['must have at most 1 character', text({ maxLength: 1 }), 'xy'],
  ['must have a letter or digit, and no control characters', text({ pattern: platePattern }), '---'],
  ['must be 1 to 64 of the characters A-Z a-z 0-9 . _ : -', text({ pattern: deviceIdPattern }), 'a/b'],
  ['must be of moving, parked, separated by commas', text({ pattern: listPattern(['moving', 'parked']) }), 'flying'],
  ['must match the pattern ^[0-9]+$', text({ pattern: '^[0-9]+$' }), 'x'],
  ['must not be empty', Type.Array(Type.Null(), { minItems: 1 }), []],
  ['must have at most 2 elements', Type.Array(Type.Null(), { maxItems: 2 }), [null, null, null]],
  ['must not hold an element twice', Type.Array(Type.Null(), { uniqueItems: true }), [null, null]],
  ['must be greater than 0', Type.Number({ exclusiveMinimum: 0 }), 0],
  ['must be on', Type.Literal('on'), 'off'],
  ['must be one of "", on', Type.Union([Type.Literal(''), Type.Literal('on')]), 'off'],
  ['must be a number or a string', Type.Union([Type.Number(), Type.String()]), true],
  ['must be at most 5', Type.Union([Type.Number({ maximum: 5 }), Type.String()]), 6],
])('says "%s"', (rule, schema, value) => {
  expect(describeSchemaFaults(Value.Errors(schema, value))).toEqual({ field: '', rule });
});

it('describes the alternative of a union that the value names, and the names when it has another', () => {
  const shape = (type: string, coordinates: TSchema) => Type.Object({ type: Type.Enum([type]), coordinates });
  const Shape = Type.Object({
    shape: Type.Union([
      shape('Point', Type.Array(Type.Number())),
      shape('Polygon', Type.Array(Type.Array(Type.Number()))),
    ]),
  });
  const faultOf = (value: object) => describeSchemaFaults(Value.Errors(Shape, { shape: value }));
  expect(faultOf({ type: 'Polygon', coordinates: [['x']] })).toEqual({
    field: 'shape.coordinates.0.0',
    rule: 'must be a number',
  });
  expect(faultOf({ type: 'Circle', coordinates: [] })).toEqual({
    field: 'shape.type',
    rule: 'must be one of Point, Polygon',
  });
});

it('names an unknown field', () => {
  const faults = Value.Errors(Type.Object({}, { additionalProperties: false }), { a: 1 });
  expect(describeSchemaFaults(faults)).toEqual({ field: 'a', rule: 'is not a known field' });
});

it('names the first missing field with its path', () => {
  const schema = Type.Object({ 'a/b': Type.Array(Type.Object({ c: Type.Null(), d: Type.Null() })) });
  const faults = Value.Errors(schema, { 'a/b': [{ c: null, d: null }, {}] });
  expect(describeSchemaFaults(faults)).toEqual({ field: 'a/b.1.c', rule: 'is missing' });
});

it('lists every fault of objects and arrays, each with its field', () => {
  const schema = Type.Object({
    name: Type.String(),
    parts: Type.Array(Type.Object({ id: Type.Integer() }, { additionalProperties: false }), { maxItems: 2 }),
  });
  const value = { name: 1, parts: [{ id: 1 }, { id: 'x', more: 1 }, {}] };
  expect(listSchemaFaults(schema, value)).toEqual([
    { field: 'name', rule: 'must be a string' },
    { field: 'parts', rule: 'must have at most 2 elements' },
    { field: 'parts.1.id', rule: 'must be a whole number' },
    { field: 'parts.1.more', rule: 'is not a known field' },
    { field: 'parts.2.id', rule: 'is missing' },
  ]);
  expect(listSchemaFaults(schema, [])).toEqual([{ field: '', rule: 'must be an object' }]);
  expect(listSchemaFaults(schema, { name: '', parts: [] })).toEqual([]);
});
