import { describe, expect, it } from 'vitest';
import { Drive } from '../drive.fixture.ts';
import type { Trip } from './journey.ts';
import { segmentTrips } from './segment-trips.ts';

const start = 1_760_000_000;
const inSeconds = (microseconds: number) => microseconds / 1e6 - start;

/** The facts most cases check: times, distance to 10 m, and whether the trip was inferred. */
function brief(trips: readonly Trip[]) {
  return trips.map((trip) => ({
    from: inSeconds(trip.startMicroseconds),
    until: inSeconds(trip.endMicroseconds),
    km: Math.round(trip.distanceKm * 100) / 100,
    ...(trip.inferred ? { inferred: true } : {}),
  }));
}
const tripsOf = (drive: Drive) => brief(segmentTrips(drive.readings));

describe('a trip', () => {
  it('lasts from the first moving reading to the first still one', () => {
    const drive = new Drive().stand(200).go(600).park();
    expect(tripsOf(drive)).toEqual([{ from: 210, until: 810, km: 5.9 }]);
  });

  it('starts with the ignition when that came on at most 120 s earlier', () => {
    const parked = () => new Drive().park(300);
    expect(tripsOf(parked().stand(120).go(600).park())).toEqual([{ from: 310, until: 1030, km: 6 }]);
    expect(tripsOf(parked().stand(130).go(600).park())).toEqual([{ from: 440, until: 1040, km: 5.9 }]);
  });

  it('continues after two minutes at a traffic light', () => {
    expect(tripsOf(new Drive().go(300).stand(120).go(300).park())).toEqual([{ from: 10, until: 730, km: 5.9 }]);
  });

  it('ends at a stop of six minutes, after which another begins', () => {
    expect(tripsOf(new Drive().go(300).stand(360).go(300).park())).toEqual([
      { from: 10, until: 310, km: 2.9 },
      { from: 670, until: 970, km: 2.9 },
    ]);
  });

  it('ends after a minute with the ignition off, not earlier', () => {
    const stopFor = (seconds: number) => new Drive().go(300).park(seconds).go(300).park();
    expect(tripsOf(stopFor(50))).toHaveLength(1);
    expect(tripsOf(stopFor(60))).toEqual([
      { from: 10, until: 310, km: 2.9 },
      { from: 370, until: 670, km: 2.9 },
    ]);
  });

  it('that ends by silence ends at its last reading', () => {
    expect(tripsOf(new Drive().go(300))).toEqual([{ from: 10, until: 300, km: 2.9 }]);
    expect(tripsOf(new Drive().go(300).stand(100))).toEqual([{ from: 10, until: 310, km: 2.9 }]);
  });

  it('has at least 200 m', () => {
    expect(tripsOf(new Drive().go(20).park())).toEqual([]);
    expect(tripsOf(new Drive().go(30).park())).toEqual([{ from: 10, until: 40, km: 0.2 }]);
  });

  it('is detected by speed alone, by positions alone, and by movement alone', () => {
    const whole = [{ from: 310, until: 910, km: 5.9 }];
    const drive = (report: Drive['report']) => {
      const one = new Drive();
      one.report = {};
      one.stand(300, { ignition: null, ...report }).go(600, 36, { ignition: null, ...report });
      return one.stand(600, { ignition: null, ...report });
    };
    expect(tripsOf(drive({ movement: null }))).toEqual(whole);
    expect(tripsOf(drive({ speedKmh: null }))).toEqual(whole);
    expect(tripsOf(drive({ movement: null, speedKmh: null }))).toEqual(whole);
  });

  it('is detected by positions one second apart', () => {
    const drive = new Drive(1);
    drive.stand(300).go(600).stand(600);
    for (const reading of drive.readings) Object.assign(reading, { speedKmh: null, movement: null, ignition: null });
    const [trip] = segmentTrips(drive.readings);
    expect(trip && Math.abs(inSeconds(trip.startMicroseconds) - 300)).toBeLessThanOrEqual(6);
    expect(trip && Math.abs(inSeconds(trip.endMicroseconds) - 900)).toBeLessThanOrEqual(6);
    expect(trip?.distanceKm).toBeCloseTo(5.95, 1);
  });
});

describe('no trip', () => {
  it('results from an ignition that is on for eight hours', () => {
    const drive = new Drive()
      .go(600)
      .stand(8 * 3600)
      .go(600)
      .park();
    expect(tripsOf(drive)).toEqual([
      { from: 10, until: 610, km: 5.9 },
      { from: 29410, until: 30010, km: 5.9 },
    ]);
  });

  it('results from a tow', () => {
    expect(tripsOf(new Drive().park().go(1200, 50, { ignition: false }).park())).toEqual([]);
  });

  it('results from a tow whose readings do not repeat the ignition', () => {
    expect(tripsOf(new Drive().park().go(1200, 50, { ignition: null }).park())).toEqual([]);
  });

  it('results from jitter while parked, even with a fluttering movement flag', () => {
    const jitter = (own: Drive['report']) => {
      const drive = new Drive(5).stand(5);
      for (let step = 0; step < 2000; step += 1) {
        drive.metres = 15 * Math.sin(step * 1.7) + 10 * Math.sin(step * 0.37);
        drive.stand(5, step % 3 === 0 ? own : {});
      }
      drive.metres = 0;
      return drive.go(300).park();
    };
    const only = [{ from: 10010, until: 10310, km: 2.95 }];
    expect(tripsOf(jitter({}))).toEqual(only);
    expect(tripsOf(jitter({ movement: null, speedKmh: null }))).toEqual(only);
    const [trip, ...others] = tripsOf(jitter({ movement: true, speedKmh: 6 }));
    expect(others).toEqual([]);
    expect(trip?.from).toBeGreaterThan(9700);
    expect(trip?.km).toBeLessThan(4);
  });

  it('results from a single jump of the receiver', () => {
    const drive = new Drive().stand(100);
    drive.metres = 40_000;
    drive.stand(10, { movement: null, speedKmh: null });
    drive.metres = 0;
    expect(tripsOf(drive.stand(300, { movement: null, speedKmh: null }))).toEqual([]);
  });
});

describe('a gap', () => {
  it('of 65 minutes in a tunnel of 40 km is a trip of its own, marked as inferred', () => {
    const drive = new Drive().go(600).dark(3900, 40_000).go(600).park();
    expect(tripsOf(drive)).toEqual([
      { from: 10, until: 600, km: 5.9 },
      { from: 600, until: 4500, km: 40.1, inferred: true },
      { from: 4500, until: 5100, km: 5.9 },
    ]);
  });

  it('is no trip without 200 m at more than walking pace', () => {
    expect(tripsOf(new Drive().go(600).park().dark(7200, 150).park())).toHaveLength(1);
    expect(tripsOf(new Drive().go(600).stand(60).dark(36_000, 30_000).park())).toHaveLength(1);
  });

  it('with the ignition off on both sides is no trip', () => {
    expect(tripsOf(new Drive().park().dark(3900, 40_000).park())).toEqual([]);
    expect(tripsOf(new Drive().stand(60).dark(3900, 40_000).park())).toEqual([
      { from: 60, until: 3960, km: 40, inferred: true },
    ]);
  });

  it('of less than an hour does not end a trip', () => {
    expect(tripsOf(new Drive().go(600).dark(1800, 20_000).go(600).park())).toHaveLength(1);
    expect(tripsOf(new Drive().go(600).stand(10).dark(1800, 20_000).go(600).park())).toHaveLength(1);
  });

  it('in which the vehicle stood ends the trip', () => {
    expect(tripsOf(new Drive().go(600).stand(10).dark(1800, 20).go(600).park())).toHaveLength(2);
  });

  it('is judged by the first position after it', () => {
    const drive = new Drive().go(600).dark(3900, 40_000);
    drive.go(10, 36, { latitude: null, longitude: null }).go(600).park();
    expect(tripsOf(drive)[1]).toMatchObject({ from: 600, until: 4500, inferred: true });
  });

  it('is judged by the odometer if another gap follows before a position', () => {
    const drive = new Drive();
    drive.extra = ({ metres }) => ({ mileageKm: 1000 + metres / 1000 });
    const report = { latitude: null, longitude: null, movement: null, speedKmh: null };
    drive.go(600).dark(7200, 40_000).stand(10, report).dark(7200).park();
    expect(tripsOf(drive)[1]).toEqual({ from: 600, until: 7800, km: 40, inferred: true });
  });
});

describe('the distance', () => {
  const withOdometer = (km: (drive: Drive) => number) => {
    const drive = new Drive();
    drive.extra = (one) => ({ mileageKm: km(one) });
    return drive;
  };

  it('is that of the odometer', () => {
    const drive = withOdometer(({ metres }) => 1000 + (metres * 1.1) / 1000)
      .go(600)
      .park();
    expect(tripsOf(drive)[0]?.km).toBe(6.49);
  });

  it('is the sum of great-circle legs when the odometer is reset during the trip', () => {
    const drive = withOdometer(({ metres }) => (metres < 3000 ? 1000 : -3) + metres / 1000)
      .go(600)
      .park();
    expect(tripsOf(drive)[0]?.km).toBe(5.9);
  });

  it('is the same when the odometer jumps, stands still, or is missing at one end', () => {
    const drives = [withOdometer(({ metres }) => (metres < 3000 ? 0 : 50) + metres / 1000), withOdometer(() => 1000)];
    for (const drive of drives) expect(tripsOf(drive.go(600).park())[0]?.km).toBe(5.9);
    const late = new Drive();
    late.extra = ({ metres }) => ({ mileageKm: metres < 3000 ? null : metres });
    expect(tripsOf(late.go(600).park())[0]?.km).toBe(5.9);
  });

  it('excludes the jitter of a stop', () => {
    const drive = new Drive(1).go(300);
    const { metres } = drive;
    for (let step = 0; step < 200; step += 1) {
      drive.metres = metres + 10 * Math.sin(step * 1.7);
      drive.stand(1);
    }
    drive.metres = metres;
    expect(tripsOf(drive.go(300).park())[0]?.km).toBe(5.99);
  });
});

describe('a privacy interval', () => {
  const hidden = { latitude: null, longitude: null };
  const drive = () => {
    const one = new Drive();
    one.extra = ({ metres }) => ({ mileageKm: 1000 + metres / 1000 });
    return one;
  };

  it('within a trip does not split it', () => {
    const [trip] = segmentTrips(drive().go(300).go(600, 36, hidden).go(300).park().readings);
    expect(brief(trip ? [trip] : [])).toEqual([{ from: 10, until: 1210, km: 11.9 }]);
    expect([trip?.firstPosition, trip?.lastPosition]).not.toContain(null);
  });

  it('over a whole trip keeps its distance and times without positions', () => {
    const [trip] = segmentTrips(
      drive()
        .park()
        .go(1200, 36, hidden)
        .stand(600, { ...hidden, ignition: false }).readings,
    );
    expect(brief(trip ? [trip] : [])).toEqual([{ from: 610, until: 1810, km: 11.9 }]);
    expect([trip?.firstPosition, trip?.lastPosition]).toEqual([null, null]);
  });

  it('is bridged by speed without an odometer', () => {
    const [trip] = segmentTrips(new Drive().park().go(1200, 36, hidden).stand(600, hidden).readings);
    expect(trip?.distanceKm).toBeGreaterThan(11);
  });
});

describe('consumption', () => {
  const drive = (extra: Drive['extra'], seconds = 3600) => {
    const one = new Drive();
    one.extra = extra;
    return segmentTrips(one.go(seconds).park().readings)[0];
  };

  it('is the difference of a counter', () => {
    const trip = drive(({ metres }) => ({ fuelUsedLitres: 5000 + metres / 10_000, lifetimePowerKwh: metres / 5000 }));
    expect(trip?.fuelLitres).toBeCloseTo(3.59, 2);
    expect(trip?.electricKwh).toBeCloseTo(7.18, 2);
  });

  it('is the fall of a level; for a battery, times its capacity', () => {
    const trip = drive(({ metres }) => ({
      fuelLitres: 40 - metres / 10_000,
      socPercent: 90 - metres / 1000,
      maxEnergyKwh: 50,
    }));
    expect(trip?.fuelLitres).toBeCloseTo(3.59, 2);
    expect(trip?.electricKwh).toBeCloseTo(17.95, 2);
    expect(drive(({ metres }) => ({ fuelPercent: 80 - metres / 5000 }))?.fuelPercent).toBeCloseTo(7.18, 2);
  });

  it('continues after refuelling during the trip, at once or gradually, and is never negative', () => {
    const filled = (metres: number) => (metres < 18_000 ? 0 : Math.min(35, ((metres - 18_000) / 100) * 7));
    const slowly = drive(({ metres }) => ({ fuelLitres: 10 - metres / 10_000 + filled(metres) }));
    const atOnce = drive(({ metres }) => ({ fuelLitres: 10 - metres / 10_000 + (metres < 18_000 ? 0 : 35) }));
    expect(slowly?.fuelLitres).toBeCloseTo(3.54, 1);
    expect(atOnce?.fuelLitres).toBeCloseTo(3.58, 1);
    expect(drive(({ metres }) => ({ socPercent: 20 + metres / 1000, maxEnergyKwh: 50 }))?.electricKwh).toBe(0);
  });

  it('is unknown without data', () => {
    expect(drive(() => ({}))).toMatchObject({ fuelLitres: null, fuelPercent: null, electricKwh: null });
    expect(drive(({ metres }) => ({ fuelLitres: metres === 100 ? 30 : null }))?.fuelLitres).toBeNull();
    expect(drive(({ metres }) => ({ socPercent: 90 - metres / 1000 }))?.electricKwh).toBeNull();
  });

  it('is known across a gap', () => {
    const one = new Drive();
    one.extra = ({ metres }) => ({ socPercent: 90 - metres / 1000, maxEnergyKwh: 50 });
    const trips = segmentTrips(one.go(600).dark(3900, 40_000).go(600).park().readings);
    expect(trips[1]?.electricKwh).toBeCloseTo(20.05, 2);
  });
});
