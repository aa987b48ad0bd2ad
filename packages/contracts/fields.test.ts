import { describe, expect, it } from 'vitest';
import { type FieldFacts, readingFields } from './fields.ts';
import { AlarmsGroup, ElectricGroup, FleetGroup, LocationGroup, StatusGroup } from './telemetry.ts';

const schemas = {
  location: LocationGroup,
  status: StatusGroup,
  electric: ElectricGroup,
  fleet: FleetGroup,
  alarms: AlarmsGroup,
};

describe.each(Object.keys(schemas) as (keyof typeof schemas)[])('the fields of %s', (group) => {
  const facts: Readonly<Record<string, FieldFacts>> = readingFields[group];

  it('are those that devices upload', () => {
    expect(Object.keys(facts).sort()).toEqual(Object.keys(schemas[group].properties).sort());
  });

  it('have bounds of 0 to 100 where their unit is %', () => {
    const percentages = Object.values(facts).filter(({ unit }) => unit === '%');
    for (const { minimum, maximum } of percentages) expect([minimum, maximum]).toEqual([0, 100]);
  });
});
