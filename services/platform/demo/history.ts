import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { connectDevice, type DeviceCredentials } from '@odograph/simulator/device-connection';
import type { SimulatedVehicle } from '@odograph/simulator/simulated-vehicle';

const daySeconds = 86_400;
/** Two drives a day. */
const driveStartsSeconds = [7.5 * 3600, 17 * 3600];
const driveSeconds = 25 * 60;
const readingIntervalSeconds = 30;
/** A reading of the first drive that is not uploaded, so that the list of gaps has an entry. */
const lostReading = 10;
const readingsPerUpload = 100;

/**
 * Drives a vehicle twice a day, and leaves it parked. The same vehicle gives the same readings.
 * @param untilSeconds end of the last day, UNIX seconds
 */
export function driveDays(vehicle: SimulatedVehicle, untilSeconds: number, days: number): TelemetryReading[] {
  const firstDay = untilSeconds - days * daySeconds;
  const starts = Array.from({ length: days }, (_unused, day) =>
    driveStartsSeconds.map((start) => firstDay + day * daySeconds + start),
  ).flat();
  return starts.flatMap((start) => {
    const drive: TelemetryReading[] = [];
    vehicle.parkUntil(start);
    for (let second = 0; second <= driveSeconds; second += readingIntervalSeconds) {
      drive.push(vehicle.read(start + second));
    }
    vehicle.parkUntil(untilSeconds);
    drive.push(vehicle.read(start + driveSeconds + readingIntervalSeconds));
    return drive;
  });
}

/** Uploads past readings of a device over MQTT. Repeating it is harmless. */
export async function uploadHistory(
  mqttUrl: string,
  device: DeviceCredentials,
  readings: readonly TelemetryReading[],
): Promise<void> {
  const arrived = readings.filter((_reading, index) => index !== lostReading);
  const connection = await connectDevice(mqttUrl, device);
  try {
    for (let start = 0; start < arrived.length; start += readingsPerUpload) {
      await connection.upload(arrived.slice(start, start + readingsPerUpload));
    }
  } finally {
    await connection.close();
  }
}
